// The kernel of batch-affine additions (pair_add.cuh): every thread takes a share of the pairs and multiplies
// their denominators up, the block inverts once, and every thread works its way back. Operands come through
// shared memory by asynchronous copies, one pair ahead of the arithmetic, a warp copying the points of its
// 32 pairs together so that its accesses are contiguous.
//
// A Task says where operands come from and where sums go:
//
//   struct Ref;                                            // a few words that locate one pair
//   uint32_t count() const;                                // additions, the same for all threads
//   Ref ref(uint32_t i) const;                             // reads the words of pair i
//   const Affine<F>* first(const Ref&) const;              // operands
//   const Affine<F>* second(const Ref&) const;
//   bool negate_first(const Ref&) const, negate_second(const Ref&) const;
//   Affine<F>* target(const Ref&) const;                   // of the sum, never another pair's operand; or null
#pragma once

#include "device.cuh"
#include "pair_add.cuh"

namespace fg {

#ifndef FG_G1_THREADS
#define FG_G1_THREADS 128
#define FG_G1_BLOCKS 4
#endif
#ifndef FG_G2_THREADS
#define FG_G2_THREADS 64
#define FG_G2_BLOCKS 4
#endif
#ifndef FG_MAX_PAIRS
#define FG_MAX_PAIRS 256
#endif

template <class F>
struct BatchGeometry;
template <>
struct BatchGeometry<Fp> {
  static constexpr int THREADS = FG_G1_THREADS, BLOCKS_PER_SM = FG_G1_BLOCKS, MAX_PAIRS = FG_MAX_PAIRS;
  static constexpr bool BLOCK_INVERSE = true;  // one inversion a block, else one a thread
  static constexpr bool COMPACT = false;       // pair_sum_compact
};
template <>
struct BatchGeometry<Fp2> {
  static constexpr int THREADS = FG_G2_THREADS, BLOCKS_PER_SM = FG_G2_BLOCKS, MAX_PAIRS = FG_MAX_PAIRS;
  // Two warps a scheduler are too few for one of them to wait for the other's inversion.
  static constexpr bool BLOCK_INVERSE = false;
  static constexpr bool COMPACT = true;
};

// Internal linkage: units may be built with different geometries.
template <class F>
static inline uint32_t batch_threads(int sms) {
  return uint32_t(sms) * BatchGeometry<F>::BLOCKS_PER_SM * BatchGeometry<F>::THREADS;
}

// Additions of one thread between two inversions when it has `all` of them: at most `most`, and about the
// same in every round.
FG_HD uint32_t batch_share(uint32_t all, uint32_t most) {
  uint32_t rounds = (all + most - 1) / most;
  return rounds ? (all + rounds - 1) / rounds : 0;
}

// Scratch for at most pairs additions in one launch: the running products of one round.
template <class F>
static inline size_t batch_scratch_bytes(int sms, uint64_t pairs) {
  uint32_t t = batch_threads<F>(sms);
  uint64_t s = (pairs + t - 1) / t;
  if (s > BatchGeometry<F>::MAX_PAIRS) s = BatchGeometry<F>::MAX_PAIRS;
  return size_t(s) * t * sizeof(F);
}

// 16 bytes from global to shared memory, in the background, past L1: a warp asks for whole sectors.
FG_D void copy_async(uint4* to, const uint4* from) {
#if defined(__CUDACC__) && FG_DEVICE_CODE
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(uint32_t(__cvta_generic_to_shared(to))), "l"(from)
               : "memory");
#else
  *to = *from;
#endif
}
FG_D void copy_commit() {
#if defined(__CUDACC__) && FG_DEVICE_CODE
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Lets copies that follow see this thread's earlier stores.
FG_D void copy_after_stores() {
#if defined(__CUDACC__) && FG_DEVICE_CODE
  __threadfence_block();
#endif
}
FG_D void copy_wait() {
#if defined(__CUDACC__) && FG_DEVICE_CODE
  asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
}

// One thread's place in shared memory, in units of 16 bytes: the first operand in one of two places by
// turns (it is needed to the end, and its place then takes the sum), the second operand, and a running
// product. Going forward it holds two x coordinates. The odd number of units keeps a warp's accesses free
// of bank conflicts.
template <class F>
struct BatchSlot {
  static constexpr int POINT = sizeof(Affine<F>) / 16, FIELD = sizeof(F) / 16;
  static constexpr int SECOND = 2 * POINT, PRODUCT = 3 * POINT;
  static constexpr int UNITS = (PRODUCT + FIELD) | 1;
};

template <class T>
FG_D T unpack(const uint4* u) {
  T r;
  uint32_t* d = reinterpret_cast<uint32_t*>(&r);
  FG_UNROLL
  for (int i = 0; i < int(sizeof(T) / 16); i++) {
    uint4 v = u[i];
    d[4 * i] = v.x;
    d[4 * i + 1] = v.y;
    d[4 * i + 2] = v.z;
    d[4 * i + 3] = v.w;
  }
  return r;
}

template <class F>
FG_D void pack(uint4* u, const F& f) {
  const uint32_t* s = reinterpret_cast<const uint32_t*>(&f);
  FG_UNROLL
  for (int i = 0; i < int(sizeof(F) / 16); i++) u[i] = make_uint4(s[4 * i], s[4 * i + 1], s[4 * i + 2], s[4 * i + 3]);
}

// The warp's part of a block: its lanes' slots, and the operands' addresses of the pairs being copied.
template <class F>
struct WarpCopy {
  using Slot = BatchSlot<F>;
  uint4* slots;              // of the warp's 32 lanes
  const uint4** address;     // 2 for each lane; null for lanes without a pair
  uint4** target;            // 1 for each lane; null where there is nothing to store
  int lane;

  FG_D uint4* slot() const { return slots + lane * Slot::UNITS; }

  // Tells the warp where this lane's operands are. Between two calls the warp has met at a barrier.
  FG_D void publish(const void* first, const void* second) const {
    address[2 * lane] = static_cast<const uint4*>(first);
    address[2 * lane + 1] = static_cast<const uint4*>(second);
  }
  // Starts copying the first U units of all the warp's operands to these places of the lanes' slots.
  template <int U>
  FG_D void start(int first, int second) const {
    FG_UNROLL
    for (int k = 0; k < 2 * U; k++) {
      const int unit = k * 32 + lane, point = unit / U, part = unit % U;
      const uint4* from = address[point];
      if (from) copy_async(slots + (point >> 1) * Slot::UNITS + (point & 1 ? second : first) + part, from + part);
    }
  }
  // Writes the sums that lie at this place of the lanes' slots, a point after the other. The place is free
  // again at the next barrier.
  FG_D void store(int place, void* to) const {
    target[lane] = static_cast<uint4*>(to);
    __syncwarp();
    FG_UNROLL
    for (int k = 0; k < Slot::POINT; k++) {
      const int unit = k * 32 + lane, point = unit / Slot::POINT, part = unit % Slot::POINT;
      uint4* t = target[point];
      if (t) t[part] = slots[point * Slot::UNITS + place + part];
    }
  }
};

// Running products live in 16-byte planes, thread by thread, so that a warp's accesses are contiguous.
template <class F>
FG_D void scratch_store(uint4* base, uint32_t slot, uint32_t threads, uint32_t t, const F& f) {
  constexpr int W = sizeof(F) / 16;
  const uint32_t* s = reinterpret_cast<const uint32_t*>(&f);
  FG_UNROLL
  for (int i = 0; i < W; i++)
    base[size_t(slot * W + i) * threads + t] = make_uint4(s[4 * i], s[4 * i + 1], s[4 * i + 2], s[4 * i + 3]);
}
template <class F>
FG_D void scratch_copy(uint4* to, const uint4* base, uint32_t slot, uint32_t threads, uint32_t t) {
  constexpr int W = sizeof(F) / 16;
  FG_UNROLL
  for (int i = 0; i < W; i++) copy_async(to + i, base + size_t(slot * W + i) * threads + t);
}

// The denominator of a rare pair, its operands read straight from memory.
template <class F>
FG_NOINLINE_D void rare_denominator(const Affine<F>* first, const Affine<F>* second, bool opposite, F* den) {
  F num;
  classify_pair(*first, second->neg_if(opposite), num, *den);
}

// One round: the pairs base + j*threads for j < n, of which a thread has those below pairs. All threads of
// a block have the same n.
template <class F, class Task>
struct BatchRound {
  using Ref = typename Task::Ref;
  using Slot = BatchSlot<F>;
  Task task;
  WarpCopy<F> warp;
  uint4* scratch;
  uint32_t threads, t, pairs;
  uint64_t base;

  FG_D bool valid(uint32_t j) const { return base + uint64_t(j) * threads < pairs; }
  FG_D Ref ref(uint32_t j) const { return task.ref(valid(j) ? uint32_t(base + uint64_t(j) * threads) : 0); }
  FG_D void publish(uint32_t j, const Ref& r) const {
    bool v = valid(j);
    warp.publish(v ? task.first(r) : nullptr, v ? task.second(r) : nullptr);
  }

  // The pair is taken as P and +-Q, and its sum negated if P was to be: one sign fewer to carry along.
  FG_D bool opposite(const Ref& r) const { return task.negate_first(r) != task.negate_second(r); }

  FG_D F denominator(uint32_t j, const Ref& r, const F& x1, const F& x2) const {
    F den = x2 - x1;
    if (!valid(j)) return F::one();
    if (pair_is_rare(x1, x2, den)) {
      F d;
      rare_denominator(task.first(r), task.second(r), opposite(r), &d);
      den = d;
    }
    return den;
  }

  // The product of all denominators; those in front of each pair go to the scratch.
  FG_D F forward(uint32_t n) const {
    F acc = F::one();
    Ref cur = ref(0), next = n > 1 ? ref(1) : cur;
    publish(0, cur);
    __syncwarp();
    warp.template start<Slot::FIELD>(0, Slot::FIELD);
    copy_commit();
    for (uint32_t j = 0; j < n; j++) {
      copy_wait();
      __syncwarp();
      const F x1 = unpack<F>(warp.slot()), x2 = unpack<F>(warp.slot() + Slot::FIELD);
      const Ref r = cur;
      if (j + 1 < n) {
        publish(j + 1, next);
        __syncwarp();
        warp.template start<Slot::FIELD>(0, Slot::FIELD);
        copy_commit();
        cur = next;
        if (j + 2 < n) next = ref(j + 2);
      }
      scratch_store(scratch, j, threads, t, acc);
      acc = acc * denominator(j, r, x1, x2);
    }
    return acc;
  }

  static FG_D int first_place(uint32_t j) { return j & 1 ? Slot::POINT : 0; }

  FG_D void start_back(uint32_t j, const Ref& r) const {
    publish(j, r);
    __syncwarp();
    warp.template start<Slot::POINT>(first_place(j), Slot::SECOND);
    scratch_copy<F>(warp.slot() + Slot::PRODUCT, scratch, j, threads, t);
    copy_commit();
  }

  // The sums, from the last pair to the first, given the inverse of the product.
  FG_D void backward(uint32_t n, F inv, Ref cur, Ref next) const {
    for (uint32_t j = n; j-- > 0;) {
      copy_wait();
      __syncwarp();
      uint4* const place = warp.slot() + first_place(j);
      PairTerms<F> terms = terms_of(place, cur);
      const F before = unpack<F>(warp.slot() + Slot::PRODUCT);
      const Ref r = cur;
      if (j > 0) {
        start_back(j - 1, next);
        cur = next;
        if (j > 1) next = ref(j - 2);
      }
      Affine<F>* to = nullptr;
      if (valid(j)) {
        Affine<F> sum;
        if constexpr (BatchGeometry<F>::COMPACT) {
          sum = pair_sum_compact(terms, inv, before, [&] { return unpack<Affine<F>>(place); });
        } else {
          const F slope = pair_slope(terms, inv, before);
          sum = pair_sum(slope, terms.xs, unpack<Affine<F>>(place));
        }
        const Affine<F> p = unpack<Affine<F>>(place);
        if (terms.kind == PairKind::Infinity) sum = Affine<F>::inf();
        if (terms.kind == PairKind::TakeFirst) sum = p;
        pack(place, sum.neg_if(task.negate_first(r)));
        to = task.target(r);
      }
      warp.store(first_place(j), to);
    }
  }

  // Terms of the pair in the slot. Where the sum is the second operand, it is moved to the first's place.
  FG_D PairTerms<F> terms_of(uint4* place, const Ref& r) const {
    const Affine<F> p = unpack<Affine<F>>(place);
    Affine<F> q = unpack<Affine<F>>(warp.slot() + Slot::SECOND);
    q.y = q.y.neg_if(opposite(r));
    PairTerms<F> t = pair_terms(p, q);
    if (t.kind == PairKind::TakeSecond) {
      pack(place, q);
      t.kind = PairKind::TakeFirst;
    }
    return t;
  }
};

// The inverses of one value of each thread of the block, by one warp's inversion: it multiplies the warps'
// values up, lane by lane. slots are the block's. All threads take part.
template <class F, int WARPS>
FG_D F block_inverse(const F& value, uint4* slots, int inverter) {
  using Slot = BatchSlot<F>;
  const int lane = threadIdx.x % 32;
  auto of_warp = [&](int k) { return slots + (k * 32 + lane) * Slot::UNITS; };
  uint4* mine = slots + int(threadIdx.x) * Slot::UNITS;
  pack(mine, value);
  __syncthreads();
  if (int(threadIdx.x) / 32 == inverter) {
    F product = unpack<F>(of_warp(0));
    for (int k = 1; k < WARPS; k++) {
      pack(of_warp(k) + Slot::FIELD, product);  // of the warps in front
      product = product * unpack<F>(of_warp(k));
    }
    product = product.inv();
    for (int k = WARPS - 1; k > 0; k--) {
      const F v = unpack<F>(of_warp(k)), before = unpack<F>(of_warp(k) + Slot::FIELD);
      pack(of_warp(k), product * before);
      product = product * v;
    }
    pack(of_warp(0), product);
  }
  __syncthreads();
  return unpack<F>(mine);
}

template <class F, class Task>
__global__ void __launch_bounds__(BatchGeometry<F>::THREADS, BatchGeometry<F>::BLOCKS_PER_SM)
    batch_add_kernel(Task task, uint4* scratch) {
  using G = BatchGeometry<F>;
  constexpr int T = G::THREADS, WARPS = T / 32;
  __shared__ uint4 slots[T * BatchSlot<F>::UNITS];
  __shared__ const uint4* addresses[2 * T];
  __shared__ uint4* targets[T];
  const uint32_t threads = gridDim.x * T, t = blockIdx.x * T + threadIdx.x;
  const uint32_t pairs = task.count();
  if (blockIdx.x * T >= pairs) return;
  const uint32_t all = (pairs - blockIdx.x * T - 1) / threads + 1;  // rows of pairs of this block
  const uint32_t share = batch_share(all, G::MAX_PAIRS);
  // Blocks b, b + sms, b + 2 sms, ... share a multiprocessor: their inverting warps should not share a
  // scheduler.
  const uint32_t peer = blockIdx.x / (gridDim.x / G::BLOCKS_PER_SM);
  const int lane = threadIdx.x % 32, first = threadIdx.x - lane;
  BatchRound<F, Task> round{task,
                            {slots + first * BatchSlot<F>::UNITS, addresses + 2 * first, targets + first, lane},
                            scratch,
                            threads,
                            t,
                            pairs,
                            0};
  for (uint32_t at = 0; at < all; at += share) {
    const uint32_t n = all - at < share ? all - at : share;
    round.base = uint64_t(at) * threads + t;
    F acc = round.forward(n);
    copy_after_stores();
    __syncwarp();
    typename Task::Ref last = round.ref(n - 1), next = n > 1 ? round.ref(n - 2) : last;
    if (G::BLOCK_INVERSE) {
      acc = block_inverse<F, WARPS>(acc, slots, int(peer % WARPS));
      __syncthreads();
      round.start_back(n - 1, last);
    } else {  // the last pair's operands travel meanwhile
      round.start_back(n - 1, last);
      acc = acc.inv();
    }
    round.backward(n, acc, last, next);
    __syncthreads();
  }
}

template <class F, class Task>
void batch_add(const Task& task, void* scratch, int sms, cudaStream_t stream) {
  batch_add_kernel<F, Task><<<sms * BatchGeometry<F>::BLOCKS_PER_SM, BatchGeometry<F>::THREADS, 0, stream>>>(
      task, static_cast<uint4*>(scratch));
  FG_LAUNCHED();
}

}  // namespace fg
