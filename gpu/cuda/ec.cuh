// Short Weierstrass points y^2 = x^3 + b (a = 0), over Fp (G1) and Fp2 (G2). Every formula is complete:
// infinity, equal and opposite operands are handled. Points need not lie in the prime-order subgroup.
#pragma once

#include "fp2.cuh"
#include "fr.cuh"

namespace fg {

// Byte-identical with gnark-crypto's G1Affine / G2Affine; infinity is all zero.
template <class F>
struct Affine {
  F x, y;
  static FG_HD Affine inf() { return {F::zero(), F::zero()}; }
  FG_HD bool is_inf() const { return x.is_zero() && y.is_zero(); }
  FG_HD Affine neg() const { return {x, y.neg()}; }
  FG_HD Affine neg_if(bool flag) const { return {x, y.neg_if(flag)}; }
  FG_HD bool operator==(const Affine& o) const { return x == o.x && y == o.y; }
};

// Byte-identical with gnark-crypto's G1Jac / G2Jac: (x/z^2, y/z^3), infinity has z = 0.
template <class F>
struct Jacobian {
  F x, y, z;
};

// x/zz, y/zzz with zz^3 = zzz^2; infinity has zz = 0.
template <class F>
struct XYZZ {
  F x, y, zz, zzz;

  static FG_HD XYZZ inf() { return {F::zero(), F::zero(), F::zero(), F::zero()}; }
  static FG_HD XYZZ from(const Affine<F>& p) {
    if (p.is_inf()) return inf();
    return {p.x, p.y, F::one(), F::one()};
  }
  FG_HD bool is_inf() const { return zz.is_zero(); }
  FG_HD XYZZ neg() const { return {x, y.neg(), zz, zzz}; }

  // dbl-2008-s-1.
  FG_HD XYZZ dbl() const {
    if (is_inf() || y.is_zero()) return inf();
    F u = y.dbl(), v = u.sqr(), w = u * v, s = x * v, m = x.sqr();
    m = m.dbl() + m;
    XYZZ r;
    r.x = m.sqr() - s.dbl();
    r.y = m * (s - r.x) - w * y;
    r.zz = v * zz;
    r.zzz = w * zzz;
    return r;
  }

  // mdbl-2008-s-1.
  static FG_HD XYZZ dbl_affine(const Affine<F>& p) {
    if (p.y.is_zero()) return inf();
    F u = p.y.dbl(), v = u.sqr(), w = u * v, s = p.x * v, m = p.x.sqr();
    m = m.dbl() + m;
    XYZZ r;
    r.x = m.sqr() - s.dbl();
    r.y = m * (s - r.x) - w * p.y;
    r.zz = v;
    r.zzz = w;
    return r;
  }

  // Mixed addition, madd-2008-s.
  FG_HD void add(const Affine<F>& p) {
    if (p.is_inf()) return;
    if (is_inf()) {
      *this = from(p);
      return;
    }
    F h = p.x * zz - x, r = p.y * zzz - y;
    if (h.is_zero()) {
      *this = r.is_zero() ? dbl_affine(p) : inf();
      return;
    }
    F hh = h.sqr(), hhh = hh * h, q = x * hh;
    x = r.sqr() - hhh - q.dbl();
    y = r * (q - x) - y * hhh;
    zz = zz * hh;
    zzz = zzz * hhh;
  }

  // Full addition, add-2008-s.
  FG_HD void add(const XYZZ& p) {
    if (p.is_inf()) return;
    if (is_inf()) {
      *this = p;
      return;
    }
    F u = x * p.zz, s = y * p.zzz;
    F h = p.x * zz - u, r = p.y * zzz - s;
    if (h.is_zero()) {
      *this = r.is_zero() ? p.dbl() : inf();
      return;
    }
    F hh = h.sqr(), hhh = hh * h, q = u * hh;
    x = r.sqr() - hhh - q.dbl();
    y = r * (q - x) - s * hhh;
    zz = zz * p.zz * hh;
    zzz = zzz * p.zzz * hhh;
  }

  // The same point with z = zz, so without an inversion.
  FG_HD Jacobian<F> to_jacobian() const {
    if (is_inf()) return {F::one(), F::one(), F::zero()};
    return {x * zz, y * zzz, zz};
  }
  FG_HD Affine<F> to_affine() const {
    if (is_inf()) return Affine<F>::inf();
    F i = zzz.inv();        // 1/z^3
    F z = i * zz;           // 1/z
    return {x * z.sqr(), y * i};
  }
};

using G1Affine = Affine<Fp>;
using G2Affine = Affine<Fp2>;
using G1XYZZ = XYZZ<Fp>;
using G2XYZZ = XYZZ<Fp2>;
using G1Jacobian = Jacobian<Fp>;
using G2Jacobian = Jacobian<Fp2>;
static_assert(sizeof(G1Affine) == 96 && sizeof(G2Affine) == 192, "layout of affine points");
static_assert(sizeof(G1Jacobian) == 144 && sizeof(G2Jacobian) == 288, "layout of Jacobian points");

}  // namespace fg
