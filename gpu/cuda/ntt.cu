#include "ntt_kernels.cuh"

namespace fg {
namespace {

using namespace nttk;

ZetaArgs zeta_args(int n, bool inverse, bool coset) {
  ZetaArgs a;
  for (int i = 0; i < NTT_MAX_LOG; i++) {
    a.root[i] = root_of_unity(i + 2);
    if (inverse) a.root[i] = a.root[i].inv();
  }
  Fr g = coset ? coset_shift() : Fr::one();
  if (inverse) g = g.inv();
  // Level l has the factor g^(2^(n-1-l)); levels past the last (virtual ones of a short round) are never used.
  for (int l = NTT_MAX_LOG + 2; l >= n; l--) a.coset[l] = Fr::one();
  for (int l = n - 1; l >= 0; l--) {
    a.coset[l] = g;
    g = g * g;
  }
  return a;
}

void run_pass(int q, bool inverse, bool last, bool trivial, const Fr* src, Fr* dst, const PassArgs& a, cudaStream_t s) {
  switch (q) {
    case 6: return nttk::launch_pass<6>(inverse, last, trivial, src, dst, a, s);
    case 7: return nttk::launch_pass<7>(inverse, last, trivial, src, dst, a, s);
    case 8: return nttk::launch_pass<8>(inverse, last, trivial, src, dst, a, s);
    case 9: return nttk::launch_pass<9>(inverse, last, trivial, src, dst, a, s);
  }
  FG_FAIL(E_INTERNAL, "a pass of %d levels", q);
}

int rounds_of(int q) { return (q + 2) / 3; }
int field_of(int q, int r) { return q - 3 * (r + 1) > 0 ? q - 3 * (r + 1) : 0; }

}  // namespace

std::vector<NttPlan::Pass> NttPlan::passes_for(int log_n) {
  std::vector<Pass> r;
  int passes = (log_n + 8) / 9, left = log_n;
  for (int i = 0; i < passes; i++) {
    int q = (left + passes - i - 1) / (passes - i);
    left -= q;
    r.push_back({q, left});
  }
  return r;
}

uint64_t NttPlan::table_bytes(int log_n, int table_levels) {
  uint64_t n = 0;
  if (log_n <= TILE_LOG) return 0;
  for (const Pass& p : passes_for(log_n))
    for (int r = 0; r < rounds_of(p.q); r++) {
      int level = log_n - p.lo - 3 - field_of(p.q, r);
      if (level < table_levels) n += uint64_t(7) << level;
    }
  return n * sizeof(Fr);
}

NttPlan::NttPlan(int log_n, NttDirection dir, bool coset, cudaStream_t s, int table_levels)
    : n_(log_n), inverse_(dir == NttDirection::Inverse), coset_(coset), table_levels_(table_levels) {
  if (log_n < 0 || log_n > NTT_MAX_LOG) FG_FAIL(E_ARGUMENT, "transform of 2^%d points: at most 2^%d", log_n, NTT_MAX_LOG);
  if (n_ <= TILE_LOG) return;
  passes_ = passes_for(n_);
  build(s);
}

void NttPlan::build(cudaStream_t s) {
  table_at_.assign(n_, -1);
  hi_at_.assign(n_, -1);
  size_t table = 0, hi = 0;
  for (const Pass& p : passes_)
    for (int r = 0; r < rounds_of(p.q); r++) {
      int level = n_ - p.lo - 3 - field_of(p.q, r);
      if (level >= table_levels_ || table_at_[level] >= 0) continue;
      table_at_[level] = int64_t(table);
      table += size_t(7) << level;
    }
  for (int level = table_levels_; level < n_; level++) {
    hi_at_[level] = int64_t(hi);
    hi += size_t(1) << (level - LO_LOG);
  }
  table_.alloc(table);
  lo_.alloc(hi ? size_t(1) << LO_LOG : 0);
  hi_.alloc(hi);
  ZetaArgs a = zeta_args(n_, inverse_, coset_);
  for (int level = 0; level < n_; level++) {
    if (table_at_[level] >= 0) {
      fill_table<<<blocks_for(size_t(7) << level, 256), 256, 0, s>>>(table_.get() + table_at_[level], level, a);
      FG_LAUNCHED();
    }
    if (hi_at_[level] >= 0) {
      uint32_t n = 1u << (level - LO_LOG);
      fill_zeta<<<blocks_for(n, 256), 256, 0, s>>>(hi_.get() + hi_at_[level], n, LO_LOG, level, a);
      FG_LAUNCHED();
    }
  }
  if (hi) {
    fill_zeta<<<(1 << LO_LOG) / 256, 256, 0, s>>>(lo_.get(), 1 << LO_LOG, 0, -1, a);
    FG_LAUNCHED();
  }
  FG_CUDA(cudaStreamSynchronize(s));
}

void NttPlan::run(const Fr* src, Fr* dst, NttOrder values, bool reduce, cudaStream_t s) const {
  const bool natural = values == NttOrder::Natural;
  if (n_ <= TILE_LOG) {
    const size_t shared = sizeof(Fr) << n_;
    if (shared > 48 << 10)
      FG_CUDA(cudaFuncSetAttribute(ntt_small, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)));
    ntt_small<<<1, 256, shared, s>>>(src, dst, n_, inverse_, natural, zeta_args(n_, inverse_, coset_));
    FG_LAUNCHED();
    return;
  }
  if (natural && src == dst) FG_FAIL(E_INTERNAL, "a permuting transform cannot work in place");
  const int count = int(passes_.size());
  for (int i = 0; i < count; i++) {
    const int at = inverse_ ? count - 1 - i : i;
    const Pass& p = passes_[at];
    const bool last = at == count - 1;  // the pass over the lowest bits
    PassArgs a{};
    a.n = n_;
    a.lo = p.lo;
    a.level0 = n_ - p.lo - p.q;
    for (int r = 0; r < rounds_of(p.q); r++) {
      int64_t t = table_at_[n_ - p.lo - 3 - field_of(p.q, r)];
      a.table[r] = t < 0 ? nullptr : table_.get() + t;
    }
    a.zlo = lo_.get();
    for (int l = 0; l < p.q; l++) {
      int64_t h = hi_at_[a.level0 + l];
      a.zhi[l] = h < 0 ? nullptr : hi_.get() + h;
    }
    Fr w = root_of_unity(3);
    if (inverse_) w = w.inv();
    a.eighth[0] = w * w;
    a.eighth[1] = w;
    a.eighth[2] = a.eighth[0] * w;
    a.natural = natural;
    a.reduce = reduce && i == count - 1;
    // A permuting forward transform must leave src alone only in its last pass; the passes before it work in dst's
    // place where that is allowed, else in src.
    const bool permute_last = natural && last && !inverse_;
    const Fr* from = i == 0 ? src : (natural && !inverse_ ? src : dst);
    Fr* to = (natural && !inverse_ && !permute_last) ? const_cast<Fr*>(src) : dst;
    run_pass(p.q, inverse_, last, at == 0 && !coset_, from, to, a, s);
  }
}

void ntt_scale(Fr* v, size_t n, const Fr& k, cudaStream_t s) {
  if (n == 0) return;
  scale<<<blocks_for(n, 256), 256, 0, s>>>(v, n, k);
  FG_LAUNCHED();
}

Quotient::Quotient(int log_n, cudaStream_t s, int table_levels)
    : n_(log_n),
      inv_(log_n, NttDirection::Inverse, false, s, table_levels),
      coset_fwd_(log_n, NttDirection::Forward, true, s, table_levels),
      coset_inv_(log_n, NttDirection::Inverse, true, s, table_levels) {
  Fr m = Fr::from_u64(uint64_t(1) << n_), g = coset_shift();
  for (int i = 0; i < n_; i++) g = g * g;
  Fr inv = m.inv();
  k_product_ = inv * inv;
  k_final_ = inv * (g - Fr::one()).inv();
}

// The inverse transforms leave m times the coefficients, so with m*a, m*b, m*c:
//   product = (m*A)(m*B)/m^2, its coefficients times m, less m*c, all divided by m*(7^m - 1).
int Quotient::run(Fr* const d[4], cudaStream_t s, const Cancel& cancel) const {
  const size_t m = size_t(1) << n_;
  // Each inverse transform permutes, so it goes from its buffer to the free one.
  inv_.run(d[0], d[3], NttOrder::Natural, false, s);
  coset_fwd_.run(d[3], d[3], NttOrder::Reversed, false, s);
  cancel.check();
  inv_.run(d[1], d[0], NttOrder::Natural, false, s);
  coset_fwd_.run(d[0], d[0], NttOrder::Reversed, false, s);
  cancel.check();
  multiply<<<blocks_for(m, 256), 256, 0, s>>>(d[0], d[3], m, k_product_);
  FG_LAUNCHED();
  coset_inv_.run(d[0], d[0], NttOrder::Reversed, false, s);
  cancel.check();
  inv_.run(d[2], d[1], NttOrder::Natural, false, s);
  subtract_scale<<<blocks_for(m, 256), 256, 0, s>>>(d[0], d[1], m, k_final_);
  FG_LAUNCHED();
  return 0;
}

void Quotient::step(int step, Fr* h, Fr* scratch, cudaStream_t s, const Cancel& cancel) const {
  const size_t m = size_t(1) << n_;
  Fr* v = step == 0 ? h : scratch;
  inv_.run(v, v, NttOrder::Reversed, false, s);
  cancel.check();
  if (step == 2) {
    subtract_scale<<<blocks_for(m, 256), 256, 0, s>>>(h, v, m, k_final_);
    FG_LAUNCHED();
    return;
  }
  coset_fwd_.run(v, v, NttOrder::Reversed, false, s);
  if (step == 0) return;
  cancel.check();
  multiply<<<blocks_for(m, 256), 256, 0, s>>>(h, v, m, k_product_);
  FG_LAUNCHED();
  coset_inv_.run(h, h, NttOrder::Reversed, false, s);
}

}  // namespace fg
