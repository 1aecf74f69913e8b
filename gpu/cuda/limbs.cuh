// Limb arithmetic on N (even) 32-bit words, little endian. The device path keeps two accumulators, one
// of products that start at even words and one of those that start at odd words, so that every product
// pairs up as one 32x32+64 multiply-add (IMAD.WIDE) and carries never break a chain.
#pragma once

#include "ptx.cuh"

namespace fg {

#if !FG_DEVICE_CODE
// 64-bit views for the host path (little-endian hosts only, as CUDA requires anyway).
inline uint64_t limb64(const uint32_t* v, int i) { return (uint64_t)v[2 * i] | ((uint64_t)v[2 * i + 1] << 32); }
inline void set_limb64(uint32_t* v, int i, uint64_t x) {
  v[2 * i] = (uint32_t)x;
  v[2 * i + 1] = (uint32_t)(x >> 32);
}
#endif

// r = a + b, returns the carry.
template <int N>
FG_HD uint32_t limbs_add(uint32_t* r, const uint32_t* a, const uint32_t* b) {
#if FG_DEVICE_CODE
  r[0] = ptx::add_cc(a[0], b[0]);
  FG_UNROLL
  for (int i = 1; i < N; i++) r[i] = ptx::addc_cc(a[i], b[i]);
  return ptx::addc(0, 0);
#else
  uint64_t c = 0;
  for (int i = 0; i < N; i++) {
    c += (uint64_t)a[i] + b[i];
    r[i] = (uint32_t)c;
    c >>= 32;
  }
  return (uint32_t)c;
#endif
}

// r = a - b, returns an all-ones mask if it borrowed.
template <int N>
FG_HD uint32_t limbs_sub(uint32_t* r, const uint32_t* a, const uint32_t* b) {
#if FG_DEVICE_CODE
  r[0] = ptx::sub_cc(a[0], b[0]);
  FG_UNROLL
  for (int i = 1; i < N; i++) r[i] = ptx::subc_cc(a[i], b[i]);
  return ptx::subc(0, 0);
#else
  int64_t c = 0;
  for (int i = 0; i < N; i++) {
    c += (int64_t)a[i] - (int64_t)b[i];
    r[i] = (uint32_t)c;
    c >>= 32;
  }
  return (uint32_t)c;
#endif
}

// The words of a modulus, as an array that vanishes into immediates once loops are unrolled.
template <class P>
struct Modulus {
  uint32_t w[P::N];
  FG_HD Modulus() {
    FG_UNROLL
    for (int i = 0; i < P::N; i++) w[i] = P::mod(i);
  }
};

// r = a mod p for a < 2p.
template <class P>
FG_HD void reduce_once(uint32_t* r, const uint32_t* a) {
  const Modulus<P> p;
  uint32_t t[P::N];
  uint32_t borrow = limbs_sub<P::N>(t, a, p.w);
  FG_UNROLL
  for (int i = 0; i < P::N; i++) r[i] = borrow ? a[i] : t[i];
}

#if FG_DEVICE_CODE
// acc += a[0]*b, a[2]*b, ... over N words; the carry stays in the flag.
template <int N>
FG_D void row_add(uint32_t* acc, const uint32_t* a, uint32_t b) {
  ptx::mad_start(acc[0], acc[1], a[0], b);
  FG_UNROLL
  for (int j = 2; j < N; j += 2) ptx::mad_next(acc[j], acc[j + 1], a[j], b, acc[j], acc[j + 1]);
}

// One reduction step: adds m*p so that even[0] becomes zero.
template <class P>
FG_D void row_redc(uint32_t* even, uint32_t* odd, const uint32_t* p) {
  uint32_t m = even[0] * P::M0;
  row_add<P::N>(odd, p + 1, m);
  row_add<P::N>(even, p, m);
  odd[P::N - 1] = ptx::addc(odd[P::N - 1], 0);
}

// Moves the accumulators one word down (the old odd words become the even ones) while adding a*b.
// On entry (even, odd) are already swapped: odd[0] is the dead word and odd[1] belongs to even[0].
template <int N>
FG_D void row_shift_mul(uint32_t* even, uint32_t* odd, const uint32_t* a, uint32_t b) {
  even[0] = ptx::add_cc(even[0], odd[1]);
  FG_UNROLL
  for (int j = 0; j < N - 2; j += 2) ptx::mad_next(odd[j], odd[j + 1], a[j + 1], b, odd[j + 2], odd[j + 3]);
  ptx::mad_last(odd[N - 2], odd[N - 1], a[N - 1], b, 0, 0);
  row_add<N>(even, a, b);
  odd[N - 1] = ptx::addc(odd[N - 1], 0);
}

// r = even + odd*2^32 over N words (nothing overflows them).
template <int N>
FG_D void merge(uint32_t* even, const uint32_t* odd) {
  even[0] = ptx::add_cc(even[0], odd[1]);
  FG_UNROLL
  for (int i = 1; i < N - 1; i++) even[i] = ptx::addc_cc(even[i], odd[i + 1]);
  even[N - 1] = ptx::addc(even[N - 1], 0);
}

// Montgomery product, not finally reduced: result < a*b/R + p.
template <class P>
FG_D void mont_mul_raw(uint32_t* r, const uint32_t* a, const uint32_t* b) {
  constexpr int N = P::N;
  const Modulus<P> p;
  uint32_t even[N], odd[N];
  FG_UNROLL
  for (int j = 0; j < N; j += 2) ptx::mul_pair(odd[j], odd[j + 1], a[j + 1], b[0]);
  FG_UNROLL
  for (int j = 0; j < N; j += 2) ptx::mul_pair(even[j], even[j + 1], a[j], b[0]);
  row_redc<P>(even, odd, p.w);
  row_shift_mul<N>(odd, even, a, b[1]);
  row_redc<P>(odd, even, p.w);
  FG_UNROLL
  for (int i = 2; i < N; i += 2) {
    row_shift_mul<N>(even, odd, a, b[i]);
    row_redc<P>(even, odd, p.w);
    row_shift_mul<N>(odd, even, a, b[i + 1]);
    row_redc<P>(odd, even, p.w);
  }
  merge<N>(even, odd);
  FG_UNROLL
  for (int i = 0; i < N; i++) r[i] = even[i];
}

// Reduction of the low half of a double-width value: adds multiples of p and drops N words.
template <class P>
FG_D void redc_low(uint32_t* r, const uint32_t* t) {
  constexpr int N = P::N;
  const Modulus<P> p;
  uint32_t even[N], odd[N];
  FG_UNROLL
  for (int i = 0; i < N; i++) {
    even[i] = t[i];
    odd[i] = 0;
  }
  row_redc<P>(even, odd, p.w);
  FG_UNROLL
  for (int i = 1; i < N; i++) {
    uint32_t* e = (i & 1) ? odd : even;
    uint32_t* o = (i & 1) ? even : odd;
    // The carry of this addition runs on into the odd chain, past the product that finds m.
    e[0] = ptx::add_cc(e[0], o[1]);
    uint32_t m = e[0] * P::M0;
    FG_UNROLL
    for (int j = 0; j < N - 2; j += 2) ptx::mad_next(o[j], o[j + 1], p.w[j + 1], m, o[j + 2], o[j + 3]);
    ptx::mad_last(o[N - 2], o[N - 1], p.w[N - 1], m, 0, 0);
    row_add<N>(e, p.w, m);
    o[N - 1] = ptx::addc(o[N - 1], 0);
  }
  merge<N>(even, odd);
  FG_UNROLL
  for (int i = 0; i < N; i++) r[i] = even[i];
}

// t (2N words) = a*b.
template <int N>
FG_D void wide_mul(uint32_t* t, const uint32_t* a, const uint32_t* b) {
  uint32_t odd[2 * N];
  FG_UNROLL
  for (int i = 0; i < 2 * N; i++) t[i] = odd[i] = 0;
  FG_UNROLL
  for (int i = 0; i < N; i++) {
    // Products that start at word i+j: even j into one accumulator, odd j into the other.
    uint32_t* s = (i & 1) ? odd + i - 1 : t + i;
    uint32_t* u = (i & 1) ? t + i + 1 : odd + i;
    row_add<N>(s, a, b[i]);
    s[N] = ptx::addc(s[N], 0);
    ptx::mad_start(u[0], u[1], a[1], b[i]);
    FG_UNROLL
    for (int j = 2; j < N - 2; j += 2) ptx::mad_next(u[j], u[j + 1], a[j + 1], b[i], u[j], u[j + 1]);
    ptx::mad_last(u[N - 2], u[N - 1], a[N - 1], b[i], u[N - 2], u[N - 1]);
  }
  t[1] = ptx::add_cc(t[1], odd[0]);
  FG_UNROLL
  for (int i = 2; i < 2 * N - 1; i++) t[i] = ptx::addc_cc(t[i], odd[i - 1]);
  t[2 * N - 1] = ptx::addc(t[2 * N - 1], odd[2 * N - 2]);
}

// t (2N words) = a*a, each cross product once.
template <int N>
FG_D void wide_sqr(uint32_t* t, const uint32_t* a) {
  uint32_t odd[2 * N];
  FG_UNROLL
  for (int i = 0; i < 2 * N; i++) t[i] = odd[i] = 0;
  FG_UNROLL
  for (int i = 0; i < N - 1; i++) {
    ptx::mad_start(odd[2 * i], odd[2 * i + 1], a[i + 1], a[i]);
    int last = i + 1;
    FG_UNROLL
    for (int j = i + 3; j < N; j += 2) {
      ptx::mad_next(odd[i + j - 1], odd[i + j], a[j], a[i], odd[i + j - 1], odd[i + j]);
      last = j;
    }
    odd[i + last + 1] = ptx::addc(odd[i + last + 1], 0);
    if (i + 2 < N) {
      ptx::mad_start(t[2 * i + 2], t[2 * i + 3], a[i + 2], a[i]);
      last = i + 2;
      FG_UNROLL
      for (int j = i + 4; j < N; j += 2) {
        ptx::mad_next(t[i + j], t[i + j + 1], a[j], a[i], t[i + j], t[i + j + 1]);
        last = j;
      }
      t[i + last + 2] = ptx::addc(t[i + last + 2], 0);
    }
  }
  t[1] = ptx::add_cc(t[1], odd[0]);
  FG_UNROLL
  for (int i = 2; i < 2 * N - 1; i++) t[i] = ptx::addc_cc(t[i], odd[i - 1]);
  t[2 * N - 1] = ptx::addc(t[2 * N - 1], odd[2 * N - 2]);
  t[0] = ptx::add_cc(t[0], t[0]);
  FG_UNROLL
  for (int i = 1; i < 2 * N - 1; i++) t[i] = ptx::addc_cc(t[i], t[i]);
  t[2 * N - 1] = ptx::addc(t[2 * N - 1], t[2 * N - 1]);
  ptx::mad_start(t[0], t[1], a[0], a[0]);
  FG_UNROLL
  for (int i = 1; i < N; i++) ptx::mad_next(t[2 * i], t[2 * i + 1], a[i], a[i], t[2 * i], t[2 * i + 1]);
}

#else  // host

template <int N>
inline void wide_mul(uint32_t* t, const uint32_t* a, const uint32_t* b) {
  constexpr int L = N / 2;
  uint64_t r[2 * L] = {};
  for (int i = 0; i < L; i++) {
    unsigned __int128 c = 0;
    for (int j = 0; j < L; j++) {
      c += (unsigned __int128)limb64(a, j) * limb64(b, i) + r[i + j];
      r[i + j] = (uint64_t)c;
      c >>= 64;
    }
    r[i + L] = (uint64_t)c;
  }
  for (int i = 0; i < 2 * L; i++) set_limb64(t, i, r[i]);
}

template <int N>
inline void wide_sqr(uint32_t* t, const uint32_t* a) { wide_mul<N>(t, a, a); }

// Low half of a Montgomery reduction: (t_low + k*p) / R for the k that makes it exact, at most p.
template <class P>
inline void redc_low(uint32_t* r, const uint32_t* t) {
  constexpr int L = P::N / 2;
  const Modulus<P> p;
  // -p^-1 mod 2^64 from its value mod 2^32, one Newton step: x <- x*(2 + p*x).
  uint64_t m0 = P::M0;
  m0 = m0 * (2 + limb64(p.w, 0) * m0);
  uint64_t v[2 * L] = {};
  for (int i = 0; i < L; i++) v[i] = limb64(t, i);
  for (int i = 0; i < L; i++) {
    uint64_t m = v[i] * m0;
    unsigned __int128 c = 0;
    for (int j = 0; j < L; j++) {
      c += (unsigned __int128)m * limb64(p.w, j) + v[i + j];
      v[i + j] = (uint64_t)c;
      c >>= 64;
    }
    for (int j = i + L; j < 2 * L && c; j++) {
      c += v[j];
      v[j] = (uint64_t)c;
      c >>= 64;
    }
  }
  for (int i = 0; i < L; i++) set_limb64(r, i, v[i + L]);
}

template <class P>
inline void mont_mul_raw(uint32_t* r, const uint32_t* a, const uint32_t* b) {
  uint32_t t[2 * P::N], lo[P::N];
  wide_mul<P::N>(t, a, b);
  redc_low<P>(lo, t);
  limbs_add<P::N>(r, lo, t + P::N);
}
#endif

// r = t / R mod p for t < p*R (2N words), fully reduced.
template <class P>
FG_HD void wide_redc(uint32_t* r, const uint32_t* t) {
  uint32_t lo[P::N];
  redc_low<P>(lo, t);
  limbs_add<P::N>(lo, lo, t + P::N);
  reduce_once<P>(r, lo);
}

}  // namespace fg
