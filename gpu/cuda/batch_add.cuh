// The kernel of batch-affine additions (pair_add.cuh): every thread takes a share of the pairs, multiplies
// their denominators up, inverts once and works its way back.
#pragma once

#include "device.cuh"
#include "pair_add.cuh"

namespace fg {

template <class F>
struct BatchGeometry;
template <>
struct BatchGeometry<Fp> {
  static constexpr int THREADS = 128, BLOCKS_PER_SM = 4, MAX_PAIRS = 128;
};
template <>
struct BatchGeometry<Fp2> {
  static constexpr int THREADS = 128, BLOCKS_PER_SM = 2, MAX_PAIRS = 128;
};

template <class F>
inline uint32_t batch_threads(int sms) {
  return uint32_t(sms) * BatchGeometry<F>::BLOCKS_PER_SM * BatchGeometry<F>::THREADS;
}

// Additions of one thread between two inversions when there are pairs of them.
FG_HD uint32_t batch_share(uint32_t pairs, uint32_t threads, uint32_t most) {
  uint32_t s = (pairs + threads - 1) / threads;
  return s < most ? s : most;
}

// Scratch for at most pairs additions in one launch: the running products of one round.
template <class F>
inline size_t batch_scratch_bytes(int sms, uint64_t pairs) {
  uint32_t t = batch_threads<F>(sms);
  uint64_t s = (pairs + t - 1) / t;
  if (s > BatchGeometry<F>::MAX_PAIRS) s = BatchGeometry<F>::MAX_PAIRS;
  return size_t(s) * t * sizeof(F);
}

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
FG_D F scratch_load(const uint4* base, uint32_t slot, uint32_t threads, uint32_t t) {
  constexpr int W = sizeof(F) / 16;
  F f;
  uint32_t* d = reinterpret_cast<uint32_t*>(&f);
  FG_UNROLL
  for (int i = 0; i < W; i++) {
    uint4 v = base[size_t(slot * W + i) * threads + t];
    d[4 * i] = v.x;
    d[4 * i + 1] = v.y;
    d[4 * i + 2] = v.z;
    d[4 * i + 3] = v.w;
  }
  return f;
}

template <class F, class Task>
__global__ void __launch_bounds__(BatchGeometry<F>::THREADS, BatchGeometry<F>::BLOCKS_PER_SM)
    batch_add_kernel(Task task, uint4* scratch) {
  const uint32_t threads = gridDim.x * blockDim.x, t = blockIdx.x * blockDim.x + threadIdx.x;
  const uint32_t pairs = task.count();
  const uint32_t share = batch_share(pairs, threads, BatchGeometry<F>::MAX_PAIRS);
  // 64 bits: the last round may run past 2^32.
  for (uint64_t base = t; base < pairs; base += uint64_t(threads) * share) {
    F acc = F::one();
    uint32_t n = 0;
    for (; n < share; n++) {
      uint64_t i = base + uint64_t(n) * threads;
      if (i >= pairs) break;
      scratch_store(scratch, n, threads, t, acc);
      acc = acc * pair_denominator<F>(task, uint32_t(i));
    }
    acc = acc.inv();
    while (n-- > 0) {
      F before = scratch_load<F>(scratch, n, threads, t);
      pair_finish(task, uint32_t(base + uint64_t(n) * threads), acc, before);
    }
  }
}

template <class F, class Task>
void batch_add(const Task& task, void* scratch, int sms, cudaStream_t stream) {
  batch_add_kernel<F, Task><<<sms * BatchGeometry<F>::BLOCKS_PER_SM, BatchGeometry<F>::THREADS, 0, stream>>>(
      task, static_cast<uint4*>(scratch));
  FG_LAUNCHED();
}

}  // namespace fg
