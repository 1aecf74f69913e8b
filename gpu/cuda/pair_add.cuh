// The arithmetic of batch-affine additions P + Q that share an inversion (Montgomery's trick): 5M + 1S and
// a share of one inversion each. It compiles for the host too, where the tests drive it. A Task says where
// operands come from and where sums go:
//
//   uint32_t count() const;                                       // additions, same for all threads
//   void load_x(uint32_t i, F& x1, F& x2) const;
//   void load(uint32_t i, Affine<F>& p, Affine<F>& q) const;
//   void store(uint32_t i, const Affine<F>& sum) const;           // must not alias later loads
//
// Exceptional pairs (an infinity, equal or opposite points) are exact: they take a rare branch.
#pragma once

#include "ec.cuh"

#if defined(__CUDACC__)
#define FG_NOINLINE_D __device__ __noinline__
#else
#define FG_NOINLINE_D inline
#endif

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

// The denominator of pair i, reading the y coordinates only when they matter.
template <class F, class Task>
FG_D F pair_denominator(const Task& task, uint32_t i) {
  F x1, x2;
  task.load_x(i, x1, x2);
  F den = x2 - x1;
  if (den.is_zero() || x1.is_zero() || x2.is_zero()) {
    Affine<F> p, q;
    F num, rare;
    task.load(i, p, q);
    classify_pair_rare(&p, &q, &num, &rare);
    den = rare;
  }
  return den;
}

// Finishes pair i given inv = 1/(product of the denominators up to and including this one) and before =
// the product of those in front of it; inv becomes the inverse of that product.
template <class F, class Task>
FG_D void pair_finish(const Task& task, uint32_t i, F& inv, const F& before) {
  Affine<F> p, q;
  task.load(i, p, q);
  F den = q.x - p.x, num = q.y - p.y;
  PairKind kind = PairKind::Add;
  if (den.is_zero() || p.x.is_zero() || q.x.is_zero()) {
    Affine<F> pc = p, qc = q;  // copies, so that only these go to the stack
    F n, d;
    kind = classify_pair_rare(&pc, &qc, &n, &d);
    num = n;
    den = d;
  }
  F slope = num * (inv * before);
  inv = inv * den;
  Affine<F> r;
  r.x = slope.sqr() - p.x - q.x;
  r.y = slope * (p.x - r.x) - p.y;
  if (kind != PairKind::Add && kind != PairKind::Double) {
    if (kind == PairKind::Infinity) {
      r = Affine<F>::inf();
    } else {  // read again: keeping both operands would cost registers on the common path
      task.load(i, p, q);
      r = kind == PairKind::TakeFirst ? p : q;
    }
  }
  task.store(i, r);
}

}  // namespace fg
