// The arithmetic of batch-affine additions P + Q that share an inversion (Montgomery's trick): 5M + 1S and
// a share of one inversion each. It compiles for the host too, where the tests drive it. Exceptional pairs
// (an infinity, equal or opposite points) are exact: they take a rare branch.
#pragma once

#include "ec.cuh"

namespace fg {

// Copies a 16-byte aligned value through 16-byte read-only loads.
template <class T>
FG_D T load_vec(const T* p) {
#if FG_DEVICE_CODE
  static_assert(sizeof(T) % 16 == 0 && alignof(T) >= 16, "16-byte words");
  T r;
  const uint4* s = reinterpret_cast<const uint4*>(p);
  uint32_t* d = reinterpret_cast<uint32_t*>(&r);
  FG_UNROLL
  for (int i = 0; i < int(sizeof(T) / 16); i++) {
    uint4 v = __ldg(s + i);
    d[4 * i] = v.x;
    d[4 * i + 1] = v.y;
    d[4 * i + 2] = v.z;
    d[4 * i + 3] = v.w;
  }
  return r;
#else
  return *p;
#endif
}

template <class T>
FG_D void store_vec(T* p, const T& v) {
#if FG_DEVICE_CODE
  static_assert(sizeof(T) % 16 == 0 && alignof(T) >= 16, "16-byte words");
  uint4* d = reinterpret_cast<uint4*>(p);
  const uint32_t* s = reinterpret_cast<const uint32_t*>(&v);
  FG_UNROLL
  for (int i = 0; i < int(sizeof(T) / 16); i++) d[i] = make_uint4(s[4 * i], s[4 * i + 1], s[4 * i + 2], s[4 * i + 3]);
#else
  *p = v;
#endif
}

enum class PairKind { Add, Double, TakeFirst, TakeSecond, Infinity };

// The rare cases. For Add and Double, den is the denominator of the slope and num its numerator; for the
// others den is one, so that it leaves the shared product alone.
template <class F>
FG_HD PairKind classify_pair(const Affine<F>& p, const Affine<F>& q, F& num, F& den) {
  den = F::one();
  num = F::zero();
  if (p.is_inf()) return PairKind::TakeSecond;
  if (q.is_inf()) return PairKind::TakeFirst;
  if (p.x == q.x) {
    if (p.y != q.y || p.y.is_zero()) return PairKind::Infinity;
    F s = p.x.sqr();
    num = s.dbl() + s;
    den = p.y.dbl();
    return PairKind::Double;
  }
  num = q.y - p.y;
  den = q.x - p.x;
  return PairKind::Add;
}

// classify_pair out of line: it is rare, and inlined it would cost the common path code and registers.
template <class F>
FG_NOINLINE_D PairKind classify_pair_rare(const Affine<F>* p, const Affine<F>* q, F* num, F* den) {
  return classify_pair(*p, *q, *num, *den);
}

// Whether a pair may be exceptional, told by the x coordinates alone; den = x2 - x1.
template <class F>
FG_D bool pair_is_rare(const F& x1, const F& x2, const F& den) {
  return den.is_zero() || x1.is_zero() || x2.is_zero();
}

// What a pair needs before the inverses are known. The sum of the x coordinates stands in for both, so
// that the second operand is not needed any more.
template <class F>
struct PairTerms {
  F num, den, xs;
  PairKind kind;
};

template <class F>
FG_D PairTerms<F> pair_terms(const Affine<F>& p, const Affine<F>& q) {
  PairTerms<F> t;
  t.den = q.x - p.x;
  t.num = q.y - p.y;
  t.xs = p.x + q.x;
  t.kind = PairKind::Add;
  if (pair_is_rare(p.x, q.x, t.den)) {
    Affine<F> pc = p, qc = q;  // copies, so that only these go to the stack
    F n, d;
    t.kind = classify_pair_rare(&pc, &qc, &n, &d);
    t.num = n;
    t.den = d;
  }
  return t;
}

// The slope of the pair's line, given inv = 1/(product of the denominators up to and including this
// pair's) and before = the product of those in front of it; inv becomes the inverse of that product.
template <class F>
FG_D F pair_slope(const PairTerms<F>& t, F& inv, const F& before) {
  F slope = t.num * (inv * before);
  inv = inv * t.den;
  return slope;
}

// The sum from the slope, for kinds Add and Double.
template <class F>
FG_D Affine<F> pair_sum(const F& slope, const F& xs, const Affine<F>& p) {
  Affine<F> r;
  r.x = slope.sqr() - xs;
  r.y = slope * (p.x - r.x) - p.y;
  return r;
}

// pair_slope and pair_sum in a loop around one multiplication: a quarter of the code, where multiplications are long (G2: 112 KB of
// it, which no instruction cache holds). A squaring becomes a product, and the sum of the x coordinates is found from the denominator
// again. point() is the first operand, asked for as late as possible.
template <class F, class Point>
FG_D Affine<F> pair_sum_compact(const PairTerms<F>& t, F& inv, const F& before, const Point& point) {
  F a = inv, b = before, num = t.num;
  Affine<F> r;
  FG_NO_UNROLL
  for (int k = 0;; k++) {
    const F m = a * b;
    if (k == 0) {
      a = num;
      b = m;
    } else if (k == 1) {
      num = m;  // the slope
      a = inv;
      b = t.den;
    } else if (k == 2) {
      inv = m;
      a = num;
      b = num;
    } else if (k == 3) {
      const F x = point().x;
      r.x = m - x - x;
      if (t.kind != PairKind::Double) r.x = r.x - t.den;
      a = num;
      b = x - r.x;
    } else {
      r.y = m - point().y;
      return r;
    }
  }
}

}  // namespace fg
