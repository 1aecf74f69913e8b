// Fp2 = Fp[u]/(u^2+1), 96 bytes, byte-identical with gnark-crypto's E2 (A0, A1).
#pragma once

#include "fp.cuh"

namespace fg {

struct Fp2 {
  Fp c0, c1;

  static FG_HD Fp2 zero() { return {Fp::zero(), Fp::zero()}; }
  static FG_HD Fp2 one() { return {Fp::one(), Fp::zero()}; }

  FG_HD bool is_zero() const { return c0.is_zero() && c1.is_zero(); }
  FG_HD bool is_one() const { return c0.is_one() && c1.is_zero(); }
  FG_HD bool operator==(const Fp2& o) const { return c0 == o.c0 && c1 == o.c1; }
  FG_HD bool operator!=(const Fp2& o) const { return !(*this == o); }

  FG_HD Fp2 operator+(const Fp2& o) const { return {c0 + o.c0, c1 + o.c1}; }
  FG_HD Fp2 operator-(const Fp2& o) const { return {c0 - o.c0, c1 - o.c1}; }
  FG_HD Fp2 dbl() const { return {c0.dbl(), c1.dbl()}; }
  FG_HD Fp2 neg() const { return {c0.neg(), c1.neg()}; }
  FG_HD Fp2 neg_if(bool flag) const { return {c0.neg_if(flag), c1.neg_if(flag)}; }

  // Karatsuba on double-width products: three multiplications, two reductions.
  FG_HD Fp2 operator*(const Fp2& o) const {
    constexpr int N = Fp::N;
    uint32_t m[2 * N], t0[2 * N], t1[2 * N], sa[N], sb[N];
    limbs_add<N>(sa, c0.v, c1.v);
    limbs_add<N>(sb, o.c0.v, o.c1.v);
    wide_mul<N>(m, sa, sb);
    wide_mul<N>(t0, c0.v, o.c0.v);
    limbs_sub<2 * N>(m, m, t0);
    wide_mul<N>(t1, c1.v, o.c1.v);
    limbs_sub<2 * N>(m, m, t1);  // a0 b1 + a1 b0 < 2 p^2
    uint32_t borrow = limbs_sub<2 * N>(t0, t0, t1);
    const Modulus<FpParams> p;
    uint32_t pad[N];
    FG_UNROLL
    for (int i = 0; i < N; i++) pad[i] = p.w[i] & borrow;
    limbs_add<N>(t0 + N, t0 + N, pad);  // a0 b0 - a1 b1 + (p R if negative) < p R
    Fp2 r;
    wide_redc<FpParams>(r.c0.v, t0);
    wide_redc<FpParams>(r.c1.v, m);
    return r;
  }
  FG_HD Fp2 sqr() const {
    Fp2 r;
    r.c1 = (c0 * c1).dbl();
    r.c0 = (c0 + c1) * (c0 - c1);
    return r;
  }
  FG_HD Fp2 inv() const {
    Fp n = (c0.sqr() + c1.sqr()).inv();
    return {c0 * n, c1.neg() * n};
  }
};
static_assert(sizeof(Fp2) == 96, "layout of E2");

}  // namespace fg
