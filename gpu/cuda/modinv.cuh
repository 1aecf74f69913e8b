// Modular inversion by division steps (Bernstein and Yang, "Fast constant-time gcd computation and
// modular inversion", 2019; half-delta variant). All lanes of a warp run the same instructions, and the
// cost is that of about 40 multiplications, a tenth of an exponentiation by p-2.
#pragma once

#include "limbs.cuh"

namespace fg {

// Signed numbers of L limbs of 30 bits; all but the top limb are in [0, 2^30).
template <class P>
struct DivSteps {
  static constexpr int L = (P::BITS + 2 + 29) / 30;  // two spare bits: values reach +-2p
  static constexpr uint32_t MASK = 0x3fffffffu;
  // Enough steps for any odd modulus of BITS bits starting from delta = 1/2.
  static constexpr int STEPS = (45907 * P::BITS + 26313) / 19929;
  static constexpr int ROUNDS = (STEPS + 29) / 30;
  static constexpr uint32_t INV30 = (0u - P::M0) & MASK;  // p^-1 mod 2^30

  struct Num {
    int32_t v[L];
  };
  // 2^30 times the transition matrix of 30 steps.
  struct Mat {
    int32_t u, v, q, r;
  };

  static FG_HD int32_t limb(const uint32_t* w, int i) {
    int bit = 30 * i, k = bit / 32, s = bit % 32;
    uint32_t x = k < P::N ? w[k] >> s : 0;
    if (s > 2 && k + 1 < P::N) x |= w[k + 1] << (32 - s);
    return (int32_t)(x & MASK);
  }
  static FG_HD int32_t mod_limb(int i) {
    int bit = 30 * i, k = bit / 32, s = bit % 32;
    uint32_t x = k < P::N ? P::mod(k) >> s : 0;
    if (s > 2 && k + 1 < P::N) x |= P::mod(k + 1) << (32 - s);
    return (int32_t)(x & MASK);
  }

  // Thirty division steps on the low words; zeta = -(delta + 1/2).
  static FG_HD int32_t steps(int32_t zeta, uint32_t f, uint32_t g, Mat& m) {
    uint32_t u = 1, v = 0, q = 0, r = 1;
    FG_UNROLL
    for (int i = 0; i < 30; i++) {
      uint32_t neg = (uint32_t)(zeta >> 31);    // all ones if delta > 0
      uint32_t odd = 0u - (g & 1);
      g += ((f ^ neg) - neg) & odd;
      q += ((u ^ neg) - neg) & odd;
      r += ((v ^ neg) - neg) & odd;
      neg &= odd;                               // swap f and g
      zeta = (int32_t)((uint32_t)zeta ^ neg) - 1;
      f += g & neg;
      u += q & neg;
      v += r & neg;
      g >>= 1;
      u <<= 1;
      v <<= 1;
    }
    m.u = (int32_t)u;
    m.v = (int32_t)v;
    m.q = (int32_t)q;
    m.r = (int32_t)r;
    return zeta;
  }

  // (f, g) <- m (f, g) / 2^30, exact.
  static FG_HD void apply_fg(Num& f, Num& g, const Mat& m) {
    int64_t cf = (int64_t)m.u * f.v[0] + (int64_t)m.v * g.v[0];
    int64_t cg = (int64_t)m.q * f.v[0] + (int64_t)m.r * g.v[0];
    cf >>= 30;
    cg >>= 30;
    FG_UNROLL
    for (int i = 1; i < L; i++) {
      cf += (int64_t)m.u * f.v[i] + (int64_t)m.v * g.v[i];
      cg += (int64_t)m.q * f.v[i] + (int64_t)m.r * g.v[i];
      f.v[i - 1] = (int32_t)((uint32_t)cf & MASK);
      g.v[i - 1] = (int32_t)((uint32_t)cg & MASK);
      cf >>= 30;
      cg >>= 30;
    }
    f.v[L - 1] = (int32_t)cf;
    g.v[L - 1] = (int32_t)cg;
  }

  // (d, e) <- m (d, e) / 2^30 mod p, in (-2p, p).
  static FG_HD void apply_de(Num& d, Num& e, const Mat& m) {
    int32_t sd = d.v[L - 1] >> 31, se = e.v[L - 1] >> 31;
    int32_t md = (m.u & sd) + (m.v & se);
    int32_t me = (m.q & sd) + (m.r & se);
    int64_t cd = (int64_t)m.u * d.v[0] + (int64_t)m.v * e.v[0];
    int64_t ce = (int64_t)m.q * d.v[0] + (int64_t)m.r * e.v[0];
    // Multiples of p that clear the low 30 bits.
    md -= (int32_t)((INV30 * (uint32_t)cd + (uint32_t)md) & MASK);
    me -= (int32_t)((INV30 * (uint32_t)ce + (uint32_t)me) & MASK);
    cd += (int64_t)mod_limb(0) * md;
    ce += (int64_t)mod_limb(0) * me;
    cd >>= 30;
    ce >>= 30;
    FG_UNROLL
    for (int i = 1; i < L; i++) {
      cd += (int64_t)m.u * d.v[i] + (int64_t)m.v * e.v[i] + (int64_t)mod_limb(i) * md;
      ce += (int64_t)m.q * d.v[i] + (int64_t)m.r * e.v[i] + (int64_t)mod_limb(i) * me;
      d.v[i - 1] = (int32_t)((uint32_t)cd & MASK);
      e.v[i - 1] = (int32_t)((uint32_t)ce & MASK);
      cd >>= 30;
      ce >>= 30;
    }
    d.v[L - 1] = (int32_t)cd;
    e.v[L - 1] = (int32_t)ce;
  }

  static FG_HD void add_mod_if_negative(Num& d) {
    int32_t s = d.v[L - 1] >> 31;
    FG_UNROLL
    for (int i = 0; i < L; i++) d.v[i] += mod_limb(i) & s;
  }
  static FG_HD void carry(Num& d) {
    FG_UNROLL
    for (int i = 0; i + 1 < L; i++) {
      d.v[i + 1] += d.v[i] >> 30;
      d.v[i] &= (int32_t)MASK;
    }
  }
};

// r = a^-1 mod p as plain integers (no Montgomery factor); zero gives zero.
template <class P>
FG_HD void mod_inverse(uint32_t* out, const uint32_t* a) {
  using S = DivSteps<P>;
  typename S::Num f, g, d, e;
  FG_UNROLL
  for (int i = 0; i < S::L; i++) {
    f.v[i] = S::mod_limb(i);
    g.v[i] = S::limb(a, i);
    d.v[i] = 0;
    e.v[i] = i == 0;
  }
  int32_t zeta = -1;
#if FG_DEVICE_CODE
#pragma unroll 1
#endif
  for (int k = 0; k < S::ROUNDS; k++) {
    typename S::Mat m;
    zeta = S::steps(zeta, (uint32_t)f.v[0], (uint32_t)g.v[0], m);
    S::apply_de(d, e, m);
    S::apply_fg(f, g, m);
  }
  // Now f = +-1 and d = +-a^-1 in (-2p, p).
  int32_t sign = f.v[S::L - 1] >> 31;
  S::add_mod_if_negative(d);
  FG_UNROLL
  for (int i = 0; i < S::L; i++) d.v[i] = (d.v[i] ^ sign) - sign;
  S::carry(d);
  S::add_mod_if_negative(d);
  S::carry(d);
  FG_UNROLL
  for (int i = 0; i < P::N; i++) {
    int bit = 32 * i, k = bit / 30, s = bit % 30;
    uint32_t x = (uint32_t)d.v[k] >> s;
    if (k + 1 < S::L) x |= (uint32_t)d.v[k + 1] << (30 - s);
    if (s > 28 && k + 2 < S::L) x |= (uint32_t)d.v[k + 2] << (60 - s);
    out[i] = x;
  }
}

}  // namespace fg
