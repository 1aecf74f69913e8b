// Subset sums by packed bits: the numbers of the chosen points are listed once, then one tree of
// batch-affine additions sums them.
#pragma once

#include "batch_add.cuh"
#include "msm.cuh"
#include "workspace.cuh"

namespace fg {

// Numbers of the set bits, in order; total is their count. offsets is scratch for words+1 values.
void bitsum_list(const uint64_t* bits, size_t n, uint32_t* offsets, void* temp, size_t temp_bytes, uint32_t* list,
                 cudaStream_t stream);
size_t bitsum_temp_bytes(size_t words);

// Level 0 sums points[list[2i]] + points[list[2i+1]]; level l > 0 sums neighbours of the level before.
template <class F, bool FIRST>
struct RowPairs {
  struct Ref {
    uint32_t i, p, q;
  };
  const uint32_t* total;  // of points at level 0
  int level;
  const Affine<F>* in;
  const uint32_t* list;
  Affine<F>* out;

  FG_D uint32_t items() const { return uint32_t((uint64_t(*total) + (uint64_t(1) << level) - 1) >> level); }
  FG_D uint32_t count() const { return items() / 2; }
  FG_D uint32_t at(uint32_t k) const { return FIRST ? list[k] : k; }
  FG_D Ref ref(uint32_t i) const { return {i, at(2 * i), at(2 * i + 1)}; }
  FG_D const Affine<F>* first(const Ref& r) const { return in + r.p; }
  FG_D const Affine<F>* second(const Ref& r) const { return in + r.q; }
  FG_D bool negate_first(const Ref&) const { return false; }
  FG_D bool negate_second(const Ref&) const { return false; }
  FG_D Affine<F>* target(const Ref& r) const { return &out[r.i]; }
};

// The odd one out of a level moves on alone.
template <class F, bool FIRST>
__global__ void row_odd_kernel(RowPairs<F, FIRST> l) {
  uint32_t items = l.items();
  if (items & 1) store_vec(&l.out[items / 2], load_vec(&l.in[l.at(items - 1)]));
}

template <class F>
struct BitSumArrays {
  size_t n, words, temp_bytes, scratch_bytes;
  uint32_t *offsets, *list;
  unsigned char *temp, *scratch;
  Affine<F> *points1, *points2;

  BitSumArrays(size_t n_, int sms) : n(n_), words((n_ + 63) / 64) {
    temp_bytes = bitsum_temp_bytes(words);
    scratch_bytes = batch_scratch_bytes<F>(sms, n / 2);
  }
  size_t layout(void* base) {
    Carver c(base);
    offsets = c.take<uint32_t>(words + 1);
    list = c.take<uint32_t>(n);
    temp = c.take<unsigned char>(temp_bytes);
    scratch = c.take<unsigned char>(scratch_bytes);
    points1 = c.take<Affine<F>>((n + 1) / 2);
    points2 = c.take<Affine<F>>((n + 3) / 4);
    return c.bytes();
  }
};

template <class F>
BitSumPlan bitsum_plan(size_t n, size_t budget) {
  const int sms = device_sms();
  for (size_t passes = 1;; passes *= 2) {
    size_t chunk = ((n + passes - 1) / passes + 63) / 64 * 64;
    if (chunk > size_t(1) << 31) continue;
    if (chunk == 0) chunk = 64;
    BitSumPlan p{n, chunk, BitSumArrays<F>(chunk, sms).layout(nullptr)};
    if (budget == 0 || p.bytes <= budget) return p;
    if (chunk <= 1024)
      FG_FAIL(E_MEMORY, "bit sum of %zu points needs %zu bytes of workspace at least, %zu allowed", n, p.bytes, budget);
  }
}

template <class F, bool FIRST>
void bitsum_level(const RowPairs<F, FIRST>& l, void* scratch, int sms, cudaStream_t stream) {
  row_odd_kernel<F, FIRST><<<1, 1, 0, stream>>>(l);
  FG_LAUNCHED();
  batch_add<F>(l, scratch, sms, stream);
}

template <class F>
XYZZ<F> bitsum_chunk(const BitSumPlan& plan, MsmContext& ctx, const Affine<F>* points, const uint64_t* bits, size_t n,
                     void* workspace, cudaStream_t stream) {
  BitSumArrays<F> a(n, ctx.sms);
  const size_t bytes = a.layout(workspace);
  if (bytes > plan.bytes) FG_FAIL(E_INTERNAL, "bit sum of %zu points takes %zu bytes, planned %zu", n, bytes, plan.bytes);
  DrainOnExit drain(stream);
  bitsum_list(bits, n, a.offsets, a.temp, a.temp_bytes, a.list, stream);
  ctx.stage("list", stream);
  const uint32_t* total = a.offsets + a.words;
  Affine<F>*out = a.points1, *last = nullptr;
  int level = 0;
  do {  // at least once, so that one point is copied out
    if (level == 0)
      bitsum_level(RowPairs<F, true>{total, level, points, a.list, out}, a.scratch, ctx.sms, stream);
    else
      bitsum_level(RowPairs<F, false>{total, level, last, nullptr, out}, a.scratch, ctx.sms, stream);
    ctx.stage("additions", stream);
    last = out;
    out = out == a.points1 ? a.points2 : a.points1;
    level++;
  } while ((uint64_t(1) << level) < n);
  Affine<F>* host = reinterpret_cast<Affine<F>*>(ctx.landing.get());
  uint32_t* host_total = reinterpret_cast<uint32_t*>(host + 1);
  download(host, last, 1, stream);
  download(host_total, total, 1, stream);
  FG_CUDA(cudaStreamSynchronize(stream));
  return *host_total ? XYZZ<F>::from(*host) : XYZZ<F>::inf();
}

template <class F>
XYZZ<F> bitsum_run(const BitSumPlan& plan, MsmContext& ctx, const Affine<F>* points, const uint64_t* bits, size_t n,
                   void* workspace, cudaStream_t stream, const Cancel& cancel) {
  if (n > plan.n) FG_FAIL(E_ARGUMENT, "bit sum of %zu points, planned for %zu", n, plan.n);
  XYZZ<F> sum = XYZZ<F>::inf();
  for (size_t at = 0; at < n; at += plan.chunk) {
    cancel.check();
    size_t m = n - at < plan.chunk ? n - at : plan.chunk;
    sum.add(bitsum_chunk(plan, ctx, points + at, bits + at / 64, m, workspace, stream));
  }
  return sum;
}

}  // namespace fg
