// Scalar-field arithmetic of the transforms. Between butterflies values lie in [0, 2p): 2p < 2^256, so a product of a
// value below 2p and a constant below p needs no final subtraction (it is below p + 2p*p/2^256 < 2p).
#pragma once

#include "fr.cuh"

namespace fg {
namespace lazy {

#if FG_DEVICE_CODE
// One Montgomery step for p = 1 - 2^32 + 2^64 p'. With t = even[0] and m = -t, the products of m with the two lowest
// words of p need no multiplier: m*1 = m, and m*(2^32-1) has the words (t, m-1), or zeros if m = 0. That leaves 112 of
// 128 wide multiply-adds a product, and multiply-adds are what bounds a transform.
FG_D void step(uint32_t* even, uint32_t* odd) {
  uint32_t t = even[0];
  uint32_t m = ptx::sub_cc(0, t);
  uint32_t hi = ptx::subc(m, 0);
  odd[0] = ptx::add_cc(odd[0], t);
  odd[1] = ptx::addc_cc(odd[1], hi);
  FG_UNROLL
  for (int j = 2; j < 8; j += 2)
    ptx::mad_next(odd[j], odd[j + 1], FrParams::mod(j + 1), m, odd[j], odd[j + 1]);
  even[0] = ptx::add_cc(even[0], m);
  even[1] = ptx::addc_cc(even[1], 0);
  FG_UNROLL
  for (int j = 2; j < 8; j += 2)
    ptx::mad_next(even[j], even[j + 1], FrParams::mod(j), m, even[j], even[j + 1]);
  odd[7] = ptx::addc(odd[7], 0);
}

FG_D void mul_words(uint32_t* r, const uint32_t* a, const uint32_t* b) {
  uint32_t even[8], odd[8];
  FG_UNROLL
  for (int j = 0; j < 8; j += 2) ptx::mul_pair(odd[j], odd[j + 1], a[j + 1], b[0]);
  FG_UNROLL
  for (int j = 0; j < 8; j += 2) ptx::mul_pair(even[j], even[j + 1], a[j], b[0]);
  step(even, odd);
  FG_UNROLL
  for (int i = 1; i < 8; i += 2) {
    row_shift_mul<8>(odd, even, a, b[i]);
    step(odd, even);
    if (i == 7) break;
    row_shift_mul<8>(even, odd, a, b[i + 1]);
    step(even, odd);
  }
  merge<8>(even, odd);
  FG_UNROLL
  for (int i = 0; i < 8; i++) r[i] = even[i];
}
#else
inline void mul_words(uint32_t* r, const uint32_t* a, const uint32_t* b) { mont_mul_raw<FrParams>(r, a, b); }
#endif

// 2p, word i.
FG_HD constexpr uint32_t mod2(int i) {
  return (FrParams::mod(i) << 1) | (i ? FrParams::mod(i - 1) >> 31 : 0);
}

// a*b/R for a < 2p and b < p, in this order; the result is below 2p. The operand that is taken word by word may be any
// 256-bit number, but running sums reach the other one plus p, which has to stay below 2^256.
FG_HD Fr mul(const Fr& a, const Fr& b) {
  Fr r;
  mul_words(r.v, b.v, a.v);
  return r;
}

// a - b, plus 2p if that is negative, for a, b < 2p.
FG_HD Fr sub(const Fr& a, const Fr& b) {
  Fr r;
  uint32_t t[8];
  uint32_t borrow = limbs_sub<8>(r.v, a.v, b.v);
  FG_UNROLL
  for (int i = 0; i < 8; i++) t[i] = mod2(i) & borrow;
  limbs_add<8>(r.v, r.v, t);
  return r;
}

// a + b, less 2p if it reaches 2p, for a, b < 2p. (a + b itself may need 257 bits.)
FG_HD Fr add(const Fr& a, const Fr& b) {
  Fr c;
  uint32_t m[8];
  FG_UNROLL
  for (int i = 0; i < 8; i++) m[i] = mod2(i);
  limbs_sub<8>(c.v, m, b.v);
  return sub(a, c);
}

// a mod p for a < 2p.
FG_HD Fr reduce(const Fr& a) {
  Fr r;
  reduce_once<FrParams>(r.v, a.v);
  return r;
}

// The product in canonical form.
FG_HD Fr mul_exact(const Fr& a, const Fr& b) { return reduce(mul(a, b)); }

}  // namespace lazy

// Roots of unity and the coset shift of the deployed stack: the primitive 2^k-th root is root(32)^(2^(32-k)), where
// root(32) = 7^((r-1)/2^32); the shift is 7.
inline Fr root_of_unity(int k) {
  Fr w = {{0x439f0d2b, 0x3829971f, 0x8c2280b9, 0xb6368350, 0x22c813b4, 0xd09b6819, 0xdfe81f20, 0x16a2a19e}};
  w = w.to_mont();
  for (int i = 32; i > k; i--) w = w * w;
  return w;
}

inline Fr coset_shift() { return Fr::from_u64(7); }

}  // namespace fg
