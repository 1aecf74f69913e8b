// Plan and run of msm.cuh, instantiated for one group in msm_g1.cu and msm_g2.cu.
#pragma once

#include "msm.cuh"
#include "msm_reduce.cuh"
#include "msm_sort.cuh"
#include "msm_tree.cuh"
#include "workspace.cuh"

namespace fg {

constexpr int MSM_MAX_WINDOW = 24;
// Digits sorted and added at once, if memory allows. Two groups may be under way when a run is cancelled,
// about 100 ms on an H200.
template <class F>
constexpr size_t MSM_GROUP_TERMS = size_t(1) << (sizeof(F) == sizeof(Fp) ? 27 : 26);
constexpr size_t MSM_MAX_CHUNK = size_t(1) << 28;

inline int msm_windows(int window) { return (FrParams::BITS + window - 1) / window; }

// Window with the least work: an addition to a bucket with its gather and sort costs about 9.5
// multiplications, a bucket's part of the reduction 22.
inline int msm_choose_window(size_t n) {
  int best = 1;
  double least = 0;
  for (int c = 3; c <= MSM_MAX_WINDOW; c++) {
    double cost = msm_windows(c) * (9.5 * double(n) + 22.0 * double(size_t(1) << (c - 1)));
    if (best == 1 || cost < least) {
      best = c;
      least = cost;
    }
  }
  return best;
}

// Everything a run keeps in its workspace.
template <class F>
struct MsmArrays {
  SortShape shape;
  ReduceShape reduce;
  size_t count, pairs, level1, level2;  // most digits of a group, pairs, points of the first and later levels
  size_t sort_bytes, scan_bytes, scratch_bytes;
  uint32_t *digits, *iota, *sorted, *values, *most, *bucket1, *bucket2, *where;
  uint64_t *start, *next1, *next2;
  uint2* pair;
  unsigned char *sort_temp, *scan_temp, *scratch;
  Affine<F> *points1, *points2, *finished;
  XYZZ<F>* out;

  MsmArrays(size_t n, int window, int group, int sms) {
    shape = {n, window, msm_windows(window), group, 1u << (window - 1)};
    reduce = reduce_shape(shape.buckets, shape.windows);
    count = n * size_t(group);
    pairs = count / 2;
    // A bucket of k > 1 leaves ceil(k/2) <= 2k/3 points, and one more than k/2 at most.
    size_t keys = shape.keys();
    auto halve = [&](size_t m) { return m - m / 3 < (m + keys) / 2 ? m - m / 3 : (m + keys) / 2; };
    level1 = halve(count);
    level2 = halve(level1);
    sort_bytes = msm_sort_temp_bytes(count, shape.key_bits());
    scan_bytes = msm_scan_temp_bytes(uint32_t(keys));
    scratch_bytes = batch_scratch_bytes<F>(sms, pairs > reduce.all() ? pairs : reduce.all());
  }

  size_t layout(void* base) {
    Carver c(base);
    const size_t keys = shape.keys();
    digits = c.take<uint32_t>(shape.n * size_t(shape.windows));
    iota = c.take<uint32_t>(count);
    sorted = c.take<uint32_t>(count);
    values = c.take<uint32_t>(count);
    most = c.take<uint32_t>(1);
    bucket1 = c.take<uint32_t>(level1);
    bucket2 = c.take<uint32_t>(level2);
    where = c.take<uint32_t>(pairs);
    pair = c.take<uint2>(pairs);
    start = c.take<uint64_t>(keys + 1);
    next1 = c.take<uint64_t>(keys + 1);
    next2 = c.take<uint64_t>(keys + 1);
    sort_temp = c.take<unsigned char>(sort_bytes);
    scan_temp = c.take<unsigned char>(scan_bytes);
    scratch = c.take<unsigned char>(scratch_bytes);
    points1 = c.take<Affine<F>>(level1 > reduce_points1(reduce) ? level1 : reduce_points1(reduce));
    points2 = c.take<Affine<F>>(level2 > reduce_points2(reduce) ? level2 : reduce_points2(reduce));
    finished = c.take<Affine<F>>(size_t(shape.windows) * shape.buckets);
    out = c.take<XYZZ<F>>(2 * size_t(shape.windows));
    return c.bytes();
  }
};

template <class F>
MsmPlan msm_plan(size_t n, const MsmConfig& cfg) {
  if (cfg.window < 0 || cfg.window > MSM_MAX_WINDOW) FG_FAIL(E_ARGUMENT, "MSM window of %d bits", cfg.window);
  const int sms = device_sms();
  MsmPlan best;
  for (size_t passes = 1;; passes *= 2) {
    size_t chunk = (n + passes - 1) / passes;
    if (chunk > MSM_MAX_CHUNK) continue;
    if (chunk == 0) chunk = 1;
    MsmPlan p;
    p.n = n;
    p.chunk = chunk;
    p.window = cfg.window ? cfg.window : msm_choose_window(chunk);
    p.windows = msm_windows(p.window);
    size_t most = MSM_GROUP_TERMS<F> / chunk;
    if (most > size_t(p.windows)) most = p.windows;
    if (most < 1) most = 1;
    for (size_t groups = (p.windows + most - 1) / most;; groups++) {
      p.group = int((p.windows + groups - 1) / groups);
      MsmArrays<F> a(chunk, p.window, p.group, sms);
      p.bytes = a.layout(nullptr);
      if (cfg.budget == 0 || p.bytes <= cfg.budget) return p;
      if (best.bytes == 0 || p.bytes < best.bytes) best = p;
      if (p.group == 1) break;
    }
    if (chunk <= 1024) break;
  }
  FG_FAIL(E_MEMORY, "MSM of %zu terms needs %zu bytes of workspace at least, %zu allowed", n, best.bytes, cfg.budget);
}

// Adds the terms of one sorted group up to its buckets.
template <class F>
void msm_accumulate_group(const MsmArrays<F>& a, const Affine<F>* points, Affine<F>* finished, uint32_t most, MsmContext& ctx,
                          cudaStream_t stream) {
  const uint32_t keys = a.shape.keys();
  TreeLevel<F> l;
  l.keys = keys;
  l.finished = finished;
  l.pair = a.pair;
  l.where = a.where;
  const unsigned blocks = unsigned(ctx.sms) * 8;
  bool first = true;
  uint64_t *start = a.start, *next = a.next1;
  for (uint32_t k = most; k; k = k > 1 ? k / 2 + (k & 1) : 0) {
    msm_next_level(keys, start, next, a.scan_temp, a.scan_bytes, stream);
    l.start = start;
    l.next = next;
    ctx.stage("level scan", stream);
    l.bucket = first ? a.sorted : (next == a.next2 ? a.bucket1 : a.bucket2);
    l.next_bucket = next == a.next1 ? a.bucket1 : a.bucket2;
    l.in = first ? points : (next == a.next2 ? a.points1 : a.points2);
    l.point_of = a.values;
    l.out = next == a.next1 ? a.points1 : a.points2;
    const uint32_t* total = reinterpret_cast<const uint32_t*>(next + keys) + 1;  // high word
    if (first) {
      tree_layout_kernel<F, true><<<blocks, 256, 0, stream>>>(l);
      FG_LAUNCHED();
      ctx.stage("level layout", stream);
      ctx.consumed.record(stream);  // the sorted arrays are free for the next group
      if (k > 1) batch_add<F>(GatherPairs<F>{total, points, a.pair, a.where, l.out}, a.scratch, ctx.sms, stream);
    } else {
      tree_layout_kernel<F, false><<<blocks, 256, 0, stream>>>(l);
      FG_LAUNCHED();
      ctx.stage("level layout", stream);
      if (k > 1) batch_add<F>(NeighbourPairs<F>{total, l.in, a.pair, l.out}, a.scratch, ctx.sms, stream);
    }
    if (k > 1) ctx.stage(first ? "gathered additions" : "additions", stream);
    start = next;
    next = next == a.next1 ? a.next2 : a.next1;
    first = false;
  }
}

// Horner over the windows' row and column sums, on the host.
template <class F>
XYZZ<F> msm_combine(const XYZZ<F>* sums, const ReduceShape& s, int window) {
  XYZZ<F> r = XYZZ<F>::inf();
  for (int i = s.windows - 1; i >= 0; i--) {
    for (int k = s.col_log; k < window; k++) r = r.dbl();
    r.add(sums[i]);
    for (int k = 0; k < s.col_log; k++) r = r.dbl();
    r.add(sums[s.windows + i]);
  }
  return r;
}

template <class F>
XYZZ<F> msm_chunk(const MsmPlan& plan, MsmContext& ctx, const Affine<F>* points, const Fr* scalars, size_t n, void* workspace,
                  cudaStream_t stream, const Cancel& cancel) {
  MsmArrays<F> a(n, plan.window, plan.group, ctx.sms);
  const size_t bytes = a.layout(workspace);
  if (bytes > plan.bytes) FG_FAIL(E_INTERNAL, "MSM of %zu terms takes %zu bytes, planned %zu", n, bytes, plan.bytes);
  const SortShape& s = a.shape;
  uint32_t* most = reinterpret_cast<uint32_t*>(ctx.landing.get());
  DrainOnExit drain_main(stream), drain_sort(ctx.sort);

  msm_digits(s, scalars, a.digits, stream);
  ctx.stage("digits", stream);
  msm_iota(a.iota, n, a.count, stream);
  clear(a.finished, size_t(s.windows) * s.buckets, stream);
  ctx.stage("iota, clear", stream);
  ctx.consumed.record(stream);
  auto sort_group = [&](int w) {
    int g = s.windows - w < s.group ? s.windows - w : s.group;
    ctx.consumed.gate(ctx.sort);
    msm_sort_group(s, n * size_t(g), a.sort_temp, a.sort_bytes, a.digits + size_t(w) * n, a.sorted, a.iota, a.values, a.start,
                   a.most, ctx.sort);
    download(most, a.most, 1, ctx.sort);
    ctx.sorted.record(ctx.sort);
    ctx.stage("sort", ctx.sort);
  };
  sort_group(0);
  for (int w = 0; w < s.windows; w += s.group) {
    cancel.check();
    ctx.sorted.sync();
    ctx.sorted.gate(stream);
    const uint32_t k = *most;
    msm_accumulate_group(a, points, a.finished + size_t(w) * s.buckets, k, ctx, stream);
    if (w + s.group < s.windows) sort_group(w + s.group);
  }
  reduce_windows(a.reduce, a.finished, a.points1, a.points2, a.scratch, a.out, ctx.sms, stream);
  ctx.stage("reduce", stream);
  XYZZ<F>* host = reinterpret_cast<XYZZ<F>*>(ctx.landing.get());
  ctx.sorted.gate(stream);
  download(host, a.out, 2 * size_t(s.windows), stream);
  FG_CUDA(cudaStreamSynchronize(stream));
  return msm_combine(host, a.reduce, s.window);
}

template <class F>
XYZZ<F> msm_run(const MsmPlan& plan, MsmContext& ctx, const Affine<F>* points, const Fr* scalars, size_t n, void* workspace,
                cudaStream_t stream, const Cancel& cancel) {
  if (n > plan.n) FG_FAIL(E_ARGUMENT, "MSM of %zu terms, planned for %zu", n, plan.n);
  XYZZ<F> sum = XYZZ<F>::inf();
  for (size_t at = 0; at < n; at += plan.chunk) {
    size_t m = n - at < plan.chunk ? n - at : plan.chunk;
    sum.add(msm_chunk(plan, ctx, points + at, scalars + at, m, workspace, stream, cancel));
  }
  return sum;
}

}  // namespace fg
