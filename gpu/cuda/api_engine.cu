// Transforms and sums over host memory: the contracts of ntt.Engine and msm.Engine.
#include <algorithm>
#include <cstring>

#include "api.cuh"
#include "keys.cuh"
#include "workspace.cuh"

using namespace fg;

namespace {

size_t domain_size(int log_n) {
  if (log_n < 0 || log_n > NTT_MAX_LOG) FG_FAIL(E_ARGUMENT, "domain of 2^%d: at most 2^%d", log_n, NTT_MAX_LOG);
  return size_t(1) << log_n;
}

template <class F>
__global__ void gather_points(Affine<F>* out, const Affine<F>* points, const uint32_t* at, uint32_t base, uint32_t n) {
  uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = points[at[i] - base];
}

// A sum's scalars on the host: one for each point, or bits with a tail (of which at[j] - base is the point).
struct HostScalars {
  bool dense;
  const Fr* scalars;
  const uint64_t* bits;
  const uint32_t* at;
  size_t tails;

  // Those of the points [lo, hi); lo is a multiple of 64.
  HostScalars slice(size_t lo, size_t hi) const {
    if (dense) return {true, scalars + lo, nullptr, nullptr, 0};
    const uint32_t* a = std::lower_bound(at, at + tails, lo);
    const uint32_t* b = std::lower_bound(a, at + tails, hi);
    return {false, scalars + (a - at), bits + lo / 64, a, size_t(b - a)};
  }
};

// A chunk's arrays and the plans of its sums, in scratch memory.
template <class F>
struct SumChunk {
  MsmPlan msm;
  BitSumPlan bitsum;
  Affine<F>*points, *tail_points;
  Fr* scalars;
  uint64_t* bits;
  uint32_t* at;
  size_t fixed;

  size_t layout(void* base, size_t n, bool dense, size_t tails) {
    Carver c(base);
    points = c.take<Affine<F>>(n);
    scalars = c.take<Fr>(dense ? n : tails);
    bits = c.take<uint64_t>(dense ? 0 : (n + 63) / 64);
    at = c.take<uint32_t>(dense ? 0 : tails);
    tail_points = c.take<Affine<F>>(dense ? 0 : tails);
    return fixed = c.bytes();
  }
  // Bytes of a chunk of n points; throws E_MEMORY if they are over the limit.
  size_t plan(size_t n, bool dense, size_t tails, int window, uint64_t limit) {
    layout(nullptr, n, dense, tails);
    if (fixed >= limit) FG_FAIL(E_MEMORY, "a chunk of %zu points needs %zu bytes, %zu allowed", n, fixed, size_t(limit));
    MsmConfig cfg;
    cfg.window = window;
    cfg.budget = limit - fixed;
    msm = msm_plan<F>(dense ? n : tails, cfg);
    bitsum = dense ? BitSumPlan() : bitsum_plan<F>(n, cfg.budget);
    return fixed + std::max(msm.bytes, bitsum.bytes);
  }
};

// The points [lo, lo+n) of a sum.
template <class F>
XYZZ<F> sum_chunk(fg_device* d, const Affine<F>* points, size_t lo, size_t n, const HostScalars& all, int window,
                  const Cancel& cancel) {
  const HostScalars k = all.slice(lo, lo + n);
  SumChunk<F> c;
  unsigned char* base = static_cast<unsigned char*>(d->scratch(c.plan(n, k.dense, k.tails, window, d->available())));
  c.layout(base, n, k.dense, k.tails);
  void* work = base + c.fixed;
  DrainOnExit drain(d->main);
  upload(c.points, points + lo, n, d->main);
  upload(c.scalars, k.scalars, k.dense ? n : k.tails, d->main);
  if (k.dense) return msm_run<F>(c.msm, d->msm, c.points, c.scalars, n, work, d->main, cancel);
  upload(c.bits, k.bits, (n + 63) / 64, d->main);
  XYZZ<F> sum = bitsum_run<F>(c.bitsum, d->msm, c.points, c.bits, n, work, d->main, cancel);
  if (k.tails == 0) return sum;
  upload(c.at, k.at, k.tails, d->main);
  gather_points<F><<<blocks_for(k.tails, 256), 256, 0, d->main>>>(c.tail_points, c.points, c.at, uint32_t(lo), uint32_t(k.tails));
  FG_LAUNCHED();
  sum.add(msm_run<F>(c.msm, d->msm, c.tail_points, c.scalars, k.tails, work, d->main, cancel));
  return sum;
}

template <class F>
void sum_all(fg_device* d, const void* points, size_t n, const HostScalars& k, int window, void* out, const Cancel& cancel) {
  // The largest chunk that fits, starting from all points.
  size_t chunk = n;
  for (;;) {
    SumChunk<F> c;
    try {
      if (chunk) c.plan(chunk, k.dense, k.dense ? 0 : std::min(k.tails, chunk), window, d->available());
      break;
    } catch (const Error& e) {
      if (e.code != E_MEMORY || chunk <= 1024) throw;
      chunk = (chunk / 2 + 63) / 64 * 64;
    }
  }
  XYZZ<F> sum = XYZZ<F>::inf();
  for (size_t lo = 0; lo < n; lo += chunk) {
    cancel.check();
    sum.add(sum_chunk<F>(d, static_cast<const Affine<F>*>(points), lo, std::min(chunk, n - lo), k, window, cancel));
  }
  Jacobian<F> j = sum.to_jacobian();
  std::memcpy(out, &j, sizeof j);
}

// Chunk by chunk: scalars up, points made and encoded, bytes down.
template <class F>
void multiples(fg_device* d, BaseTable<F>& tables, const void* base, size_t n, const Fr* scalars, unsigned char* out,
               const Cancel& cancel) {
  const FixedBase<F>& table = tables.get(*static_cast<const Affine<F>*>(base), d->main);
  const size_t step = std::min<size_t>(n, size_t(1) << 20), point = sizeof(Affine<F>);
  Fr* k = nullptr;
  Affine<F>* p = nullptr;
  unsigned char *raw = nullptr, *work = nullptr;
  auto layout = [&](void* at) {
    Carver c(at);
    k = c.take<Fr>(step);
    p = c.take<Affine<F>>(step);
    raw = c.take<unsigned char>(step * point);
    work = c.take<unsigned char>(table.scratch_bytes());
    return c.bytes();
  };
  layout(d->scratch(layout(nullptr)));
  DrainOnExit drain(d->main);
  for (size_t at = 0; at < n; at += step) {
    cancel.check();
    const size_t m = std::min(step, n - at);
    upload(k, scalars + at, m, d->main);
    table.mul(p, k, m, work, d->main);
    encode_points<F>(raw, p, m, d->main);
    download(out + at * point, raw, m * point, d->main);
    d->main.sync();
  }
}

}  // namespace

extern "C" {

fg_result fg_ntt(fg_device* d, int32_t log_n, int32_t inverse, int32_t coset, void* v, const int32_t* cancel) {
  return guarded_on(d->ordinal, [&] {
    const size_t m = domain_size(log_n);
    Cancel(cancel).check();
    const NttPlan& plan = d->ntt_plan(log_n, inverse ? NttDirection::Inverse : NttDirection::Forward, coset != 0);
    Fr* in = static_cast<Fr*>(d->scratch(2 * m * sizeof(Fr)));
    Fr* out = in + m;
    DrainOnExit drain(d->main);
    upload(in, static_cast<const Fr*>(v), m, d->main);
    plan.run(in, out, NttOrder::Natural, true, d->main);
    if (inverse) ntt_scale(out, m, Fr::from_u64(m).inv(), d->main);
    d->main.sync();
    Cancel(cancel).check();
    download(static_cast<Fr*>(v), out, m, d->main);
    d->main.sync();
  });
}

fg_result fg_quotient(fg_device* d, int32_t log_n, void* a, const void* b, const void* c, const int32_t* cancel) {
  return guarded_on(d->ordinal, [&] {
    const size_t m = domain_size(log_n);
    Fr* base = static_cast<Fr*>(d->scratch(Quotient::workspace_bytes(log_n)));  // first: it may drop tables
    const Quotient& q = d->quotient(log_n);
    Fr* v[4] = {base, base + m, base + 2 * m, base + 3 * m};
    DrainOnExit drain(d->main);
    const void* in[3] = {a, b, c};
    for (int i = 0; i < 3; i++) {
      Cancel(cancel).check();
      upload(v[i], static_cast<const Fr*>(in[i]), m, d->main);
    }
    int at = q.run(v, d->main, Cancel(cancel));
    d->main.sync();
    Cancel(cancel).check();
    download(static_cast<Fr*>(a), v[at], m, d->main);
    d->main.sync();
  });
}

fg_result fg_msm(fg_device* d, int32_t group, uint64_t n, const void* points, const void* scalars, const uint64_t* bits,
                 uint64_t tails, const uint32_t* tail_at, int32_t window, void* out, const int32_t* cancel) {
  return guarded_on(d->ordinal, [&] {
    if (n > uint64_t(1) << 31) FG_FAIL(E_ARGUMENT, "a sum of %llu points", (unsigned long long)n);
    HostScalars k{bits == nullptr, static_cast<const Fr*>(scalars), bits, tail_at, size_t(bits ? tails : 0)};
    if (group == 1)
      sum_all<Fp>(d, points, n, k, window, out, Cancel(cancel));
    else if (group == 2)
      sum_all<Fp2>(d, points, n, k, window, out, Cancel(cancel));
    else
      FG_FAIL(E_ARGUMENT, "group %d", group);
  });
}

fg_result fg_multiples(fg_device* d, int32_t group, const void* base, uint64_t n, const void* scalars, void* out,
                       const int32_t* cancel) {
  return guarded_on(d->ordinal, [&] {
    if (n == 0) return;
    const Fr* k = static_cast<const Fr*>(scalars);
    unsigned char* raw = static_cast<unsigned char*>(out);
    if (group == 1)
      multiples<Fp>(d, d->g1, base, n, k, raw, Cancel(cancel));
    else if (group == 2)
      multiples<Fp2>(d, d->g2, base, n, k, raw, Cancel(cancel));
    else
      FG_FAIL(E_ARGUMENT, "group %d", group);
  });
}

}  // extern "C"
