// Prime fields in Montgomery form. Values in memory are always fully reduced, so equality is equality
// of words and the layout is that of gnark-crypto (R = 2^(32N), little-endian words).
#pragma once

#include "limbs.cuh"
#include "modinv.cuh"

namespace fg {

template <class P>
struct alignas(16) Mont {
  using Params = P;
  static constexpr int N = P::N;
  static constexpr int BITS = P::BITS;

  uint32_t v[N];

  static FG_HD Mont zero() {
    Mont r;
    FG_UNROLL
    for (int i = 0; i < N; i++) r.v[i] = 0;
    return r;
  }
  static FG_HD Mont one() {
    Mont r;
    FG_UNROLL
    for (int i = 0; i < N; i++) r.v[i] = P::r1(i);
    return r;
  }
  // The field element of a small integer.
  static FG_HD Mont from_u64(uint64_t x) {
    Mont r = zero();
    r.v[0] = (uint32_t)x;
    r.v[1] = (uint32_t)(x >> 32);
    return r.to_mont();
  }

  FG_HD bool is_zero() const {
    uint32_t t = 0;
    FG_UNROLL
    for (int i = 0; i < N; i++) t |= v[i];
    return t == 0;
  }
  FG_HD bool is_one() const { return *this == one(); }
  FG_HD bool operator==(const Mont& o) const {
    uint32_t t = 0;
    FG_UNROLL
    for (int i = 0; i < N; i++) t |= v[i] ^ o.v[i];
    return t == 0;
  }
  FG_HD bool operator!=(const Mont& o) const { return !(*this == o); }

  FG_HD Mont operator+(const Mont& o) const {
    Mont r;
    uint32_t t[N];
    limbs_add<N>(t, v, o.v);  // both moduli leave spare bits at the top
    reduce_once<P>(r.v, t);
    return r;
  }
  FG_HD Mont operator-(const Mont& o) const {
    const Modulus<P> p;
    Mont r;
    uint32_t borrow = limbs_sub<N>(r.v, v, o.v);
    uint32_t t[N];
    FG_UNROLL
    for (int i = 0; i < N; i++) t[i] = p.w[i] & borrow;
    limbs_add<N>(r.v, r.v, t);
    return r;
  }
  FG_HD Mont operator*(const Mont& o) const {
    Mont r;
    uint32_t t[N];
    mont_mul_raw<P>(t, v, o.v);
    reduce_once<P>(r.v, t);
    return r;
  }
  FG_HD Mont sqr() const {
    Mont r;
    uint32_t t[2 * N];
    wide_sqr<N>(t, v);
    wide_redc<P>(r.v, t);
    return r;
  }
  FG_HD Mont dbl() const { return *this + *this; }
  FG_HD Mont neg() const {
    const Modulus<P> p;
    Mont r;
    limbs_sub<N>(r.v, p.w, v);
    return is_zero() ? *this : r;
  }
  // -x if flag, else x.
  FG_HD Mont neg_if(bool flag) const {
    Mont n = neg(), r;
    FG_UNROLL
    for (int i = 0; i < N; i++) r.v[i] = flag ? n.v[i] : v[i];
    return r;
  }

  // From an integer < p to Montgomery form. Any 32N-bit integer works too and is reduced.
  FG_HD Mont to_mont() const {
    Mont r2;
    FG_UNROLL
    for (int i = 0; i < N; i++) r2.v[i] = P::r2(i);
    return *this * r2;
  }
  // To the canonical integer, which is returned in the same words.
  FG_HD Mont from_mont() const {
    Mont r;
    uint32_t t[N];
    redc_low<P>(t, v);
    reduce_once<P>(r.v, t);
    return r;
  }

  // Inverse; zero gives zero. Same instructions for every input.
  FG_HD Mont inv() const {
    Mont t, r3;
    mod_inverse<P>(t.v, v);
    FG_UNROLL
    for (int i = 0; i < N; i++) r3.v[i] = P::r3(i);
    return t * r3;
  }

  // x^e for a 64-bit exponent.
  FG_HD Mont pow(uint64_t e) const {
    Mont r = one(), b = *this;
    for (; e; e >>= 1) {
      if (e & 1) r = r * b;
      b = b.sqr();
    }
    return r;
  }
};

}  // namespace fg
