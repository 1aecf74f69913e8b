// Sum of (j+1) * bucket[j] over each window: running sums in segments, the segments' sums put together
// inside a block by a suffix scan, the blocks' by a second launch of one block a window.
#pragma once

#include "batch_add.cuh"

namespace fg {

// What a block hands on: the weighted sum of its part with weights that start at its own first element,
// and the plain sum.
template <class F>
struct PartSum {
  XYZZ<F> weighted, plain;
};

// Points of shared memory take 24 KiB.
template <class F>
struct ReduceGeometry;
template <>
struct ReduceGeometry<Fp> {
  static constexpr int THREADS = 128;
};
template <>
struct ReduceGeometry<Fp2> {
  static constexpr int THREADS = 64;
};

// Out of line: a call costs little beside an addition, and the compiler gets through much sooner.
template <class F>
__device__ __noinline__ void xyzz_add(XYZZ<F>* a, const XYZZ<F>* b) {
  a->add(*b);
}
template <class F>
__device__ __noinline__ void xyzz_add_affine(XYZZ<F>* a, const Affine<F>* b) {
  a->add(*b);
}
template <class F>
__device__ __noinline__ void xyzz_times_pow2(XYZZ<F>* p, int k) {
  for (int i = 0; i < k; i++) *p = p->dbl();
}

// Sum of v over the block, valid in thread 0. All threads take part.
template <class F>
__device__ __noinline__ void block_sum(XYZZ<F>& v, XYZZ<F>* shared) {
  const int t = threadIdx.x;
  for (int d = blockDim.x / 2; d; d >>= 1) {
    __syncthreads();
    if (t >= d && t < 2 * d) shared[t] = v;
    __syncthreads();
    if (t < d) xyzz_add(&v, &shared[t + d]);
  }
  __syncthreads();
}

// v becomes the sum of v over this and all later threads of the block.
template <class F>
__device__ __noinline__ void block_suffix(XYZZ<F>& v, XYZZ<F>* shared) {
  const int t = threadIdx.x, n = blockDim.x;
  for (int d = 1; d < n; d <<= 1) {
    __syncthreads();
    shared[t] = v;
    __syncthreads();
    if (t + d < n) xyzz_add(&v, &shared[t + d]);
  }
  __syncthreads();
}

// Thread t knows run = the plain sum of its segment of 2^log elements. Returns 2^log * sum of t*run_t in
// the sense that summing the result over threads gives it; plain becomes the block's plain sum (thread 0).
template <class F>
FG_D XYZZ<F> segments_weight(XYZZ<F>& plain, const XYZZ<F>& run, int log, XYZZ<F>* shared) {
  XYZZ<F> s = run;
  block_suffix(s, shared);
  plain = s;
  if (threadIdx.x == 0) s = XYZZ<F>::inf();
  xyzz_times_pow2(&s, log);
  return s;
}

// grid (parts, windows): buckets[w][j], segments of 2^log buckets a thread.
template <class F>
__global__ void __launch_bounds__(ReduceGeometry<F>::THREADS)
    reduce_buckets_kernel(const Affine<F>* buckets, uint32_t per_window, int log, PartSum<F>* parts) {
  __shared__ uint4 raw[ReduceGeometry<F>::THREADS * sizeof(XYZZ<F>) / 16];
  XYZZ<F>* shared = reinterpret_cast<XYZZ<F>*>(raw);
  const Affine<F>* b = buckets + size_t(blockIdx.y) * per_window;
  uint32_t first = (blockIdx.x * blockDim.x + threadIdx.x) << log;
  uint32_t last = first + (1u << log);
  if (last > per_window) last = per_window;
  XYZZ<F> run = XYZZ<F>::inf(), acc = XYZZ<F>::inf();
  for (uint32_t j = last; j > first; j--) {
    Affine<F> p = load_vec(&b[j - 1]);
    xyzz_add_affine(&run, &p);
    xyzz_add(&acc, &run);
  }
  PartSum<F> out;
  XYZZ<F> rest = segments_weight(out.plain, run, log, shared);
  xyzz_add(&acc, &rest);
  block_sum(acc, shared);
  out.weighted = acc;
  if (threadIdx.x == 0) parts[size_t(blockIdx.y) * gridDim.x + blockIdx.x] = out;
}

// grid (windows): parts[w][k] covers 2^part_log buckets; one result a window.
template <class F>
__global__ void __launch_bounds__(ReduceGeometry<F>::THREADS)
    reduce_parts_kernel(const PartSum<F>* parts, uint32_t per_window, int part_log, int log, XYZZ<F>* out) {
  __shared__ uint4 raw[ReduceGeometry<F>::THREADS * sizeof(XYZZ<F>) / 16];
  XYZZ<F>* shared = reinterpret_cast<XYZZ<F>*>(raw);
  const PartSum<F>* p = parts + size_t(blockIdx.x) * per_window;
  uint32_t first = threadIdx.x << log, last = first + (1u << log);
  if (first > per_window) first = per_window;
  if (last > per_window) last = per_window;
  XYZZ<F> run = XYZZ<F>::inf(), acc = XYZZ<F>::inf(), sum = XYZZ<F>::inf(), plain;
  for (uint32_t k = last; k > first; k--) {
    xyzz_add(&acc, &run);
    xyzz_add(&run, &p[k - 1].plain);
    xyzz_add(&sum, &p[k - 1].weighted);
  }
  XYZZ<F> rest = segments_weight(plain, run, log, shared);
  xyzz_add(&acc, &rest);
  xyzz_times_pow2(&acc, part_log);
  xyzz_add(&sum, &acc);
  block_sum(sum, shared);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

struct ReduceShape {
  uint32_t buckets;  // of a window
  int windows;
  int log;           // segment of a thread
  uint32_t parts;    // blocks of a window
};

template <class F>
ReduceShape reduce_shape(uint32_t buckets, int windows, int sms) {
  constexpr uint32_t T = ReduceGeometry<F>::THREADS;
  ReduceShape s{buckets, windows, 0, 0};
  // Long segments save additions, but every multiprocessor wants some 512 threads.
  uint64_t want = uint64_t(sms) * 512;
  while (s.log < 6 && (uint64_t(buckets) * uint64_t(windows) >> (s.log + 1)) >= want) s.log++;
  s.parts = (((buckets + (1u << s.log) - 1) >> s.log) + T - 1) / T;
  return s;
}

template <class F>
void reduce_windows(const ReduceShape& s, const Affine<F>* buckets, PartSum<F>* parts, XYZZ<F>* out, cudaStream_t stream) {
  constexpr int T = ReduceGeometry<F>::THREADS;
  int part_log = s.log, log = 0;
  for (int t = T; t > 1; t >>= 1) part_log++;
  while ((uint32_t(T) << log) < s.parts) log++;
  reduce_buckets_kernel<F><<<dim3(s.parts, s.windows), T, 0, stream>>>(buckets, s.buckets, s.log, parts);
  FG_LAUNCHED();
  reduce_parts_kernel<F><<<s.windows, T, 0, stream>>>(parts, s.parts, part_log, log, out);
  FG_LAUNCHED();
}

}  // namespace fg
