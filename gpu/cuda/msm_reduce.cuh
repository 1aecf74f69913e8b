// Sum of (j+1) * bucket[j] over each window. The 2^(c-1) buckets are seen as a matrix of rows and columns,
// j = r * cols + k: then the sum is cols * sum r * row[r] + sum (k+1) * column[k], where rows and columns
// are plain sums. Those are batch-affine trees over all windows at once, about 14 multiplications a bucket;
// only the few rows and columns go through weighted running sums.
#pragma once

#include "batch_add.cuh"

namespace fg {

struct ReduceShape {
  uint32_t buckets;  // of a window, a power of two
  int windows;
  int row_log;       // rows = 2^row_log
  int col_log;       // columns = 2^col_log
  size_t all() const { return size_t(windows) * buckets; }
};

inline ReduceShape reduce_shape(uint32_t buckets, int windows) {
  int lg = 0;
  while ((1u << lg) < buckets) lg++;
  return {buckets, windows, lg / 2, lg - lg / 2};
}

// One level of both trees: halves every row (neighbours) and every column (the lower half of the rows on
// the upper half).
template <class F>
struct MatrixHalves {
  struct Ref {
    uint32_t p, q, to;
    bool column;
  };
  uint32_t row_pairs, column_pairs;  // in all windows
  uint32_t half;                     // elements of half a window of the column tree
  const Affine<F>*row_in, *column_in;
  Affine<F>*row_out, *column_out;

  FG_D uint32_t count() const { return row_pairs + column_pairs; }
  FG_D Ref ref(uint32_t i) const {
    if (i < row_pairs) return {2 * i, 2 * i + 1, i, false};
    i -= row_pairs;
    uint32_t p = i / half * (2 * half) + i % half;
    return {p, p + half, i, true};
  }
  FG_D const Affine<F>* first(const Ref& r) const { return (r.column ? column_in : row_in) + r.p; }
  FG_D const Affine<F>* second(const Ref& r) const { return (r.column ? column_in : row_in) + r.q; }
  FG_D bool negate_first(const Ref&) const { return false; }
  FG_D bool negate_second(const Ref&) const { return false; }
  FG_D Affine<F>* target(const Ref& r) const { return &(r.column ? column_out : row_out)[r.to]; }
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

// One block: *out = sum of (k + first_weight) * in[k] for k < n. A thread takes 2^log elements.
template <class F>
__device__ void weighted_sum(const Affine<F>* in, uint32_t n, int log, int first_weight, XYZZ<F>* shared, XYZZ<F>* out) {
  uint32_t first = threadIdx.x << log, last = first + (1u << log);
  if (last > n) last = n;
  XYZZ<F> run = XYZZ<F>::inf(), acc = XYZZ<F>::inf();
  for (uint32_t k = last; k > first; k--) {
    Affine<F> p = load_vec(&in[k - 1]);
    if (!first_weight) xyzz_add(&acc, &run);
    xyzz_add_affine(&run, &p);
    if (first_weight) xyzz_add(&acc, &run);
  }
  // The segments' starts: sum of 2^log * t * run_t = 2^log * sum over t > 0 of the suffix sums.
  block_suffix(run, shared);
  if (threadIdx.x == 0) run = XYZZ<F>::inf();
  xyzz_times_pow2(&run, log);
  xyzz_add(&acc, &run);
  block_sum(acc, shared);
  if (threadIdx.x == 0) *out = acc;
}

// Blocks 0..windows-1 take the rows, the others the columns; out holds the rows' sums, then the columns'.
template <class F>
__global__ void __launch_bounds__(ReduceGeometry<F>::THREADS)
    weighted_sums_kernel(const Affine<F>* rows, int row_log, const Affine<F>* columns, int col_log, XYZZ<F>* out) {
  constexpr int T = ReduceGeometry<F>::THREADS;
  __shared__ uint4 raw[T * sizeof(XYZZ<F>) / 16];
  XYZZ<F>* shared = reinterpret_cast<XYZZ<F>*>(raw);
  const int windows = gridDim.x / 2;
  const bool column = int(blockIdx.x) >= windows;
  const int lg = column ? col_log : row_log;
  const size_t w = column ? blockIdx.x - windows : blockIdx.x;
  int log = 0;
  while ((T << log) < (1 << lg)) log++;
  weighted_sum((column ? columns : rows) + (w << lg), 1u << lg, log, column ? 1 : 0, shared, out + blockIdx.x);
}

// Scratch points that reduce_windows needs: the first level's sums and the second's.
inline size_t reduce_points1(const ReduceShape& s) { return s.all(); }
inline size_t reduce_points2(const ReduceShape& s) { return (s.all() + 1) / 2; }

// out: 2 * windows sums; window w is 2^col_log * out[w] + out[windows + w].
template <class F>
void reduce_windows(const ReduceShape& s, const Affine<F>* buckets, Affine<F>* points1, Affine<F>* points2, void* scratch,
                    XYZZ<F>* out, int sms, cudaStream_t stream) {
  const Affine<F>*rows = buckets, *columns = buckets;
  size_t row_size = s.all(), column_size = s.all();
  for (int level = 0; level < s.row_log || level < s.col_log; level++) {
    Affine<F>* to = level & 1 ? points2 : points1;
    MatrixHalves<F> m{0, 0, 1, rows, columns, to, to + row_size / 2};
    if (level < s.col_log) m.row_pairs = uint32_t(row_size /= 2);
    if (level < s.row_log) {
      m.column_pairs = uint32_t(column_size /= 2);
      m.half = m.column_pairs / uint32_t(s.windows);
    }
    // The column tree is at most one level shorter, so its result is not overwritten by the rows' last one.
    batch_add<F>(m, scratch, sms, stream);
    if (m.row_pairs) rows = m.row_out;
    if (m.column_pairs) columns = m.column_out;
  }
  weighted_sums_kernel<F><<<2 * s.windows, ReduceGeometry<F>::THREADS, 0, stream>>>(rows, s.row_log, columns, s.col_log, out);
  FG_LAUNCHED();
}

}  // namespace fg
