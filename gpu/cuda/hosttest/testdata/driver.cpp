// Runs the field and curve headers on operands from standard input: records of one operation byte and its
// operands, answered by the results in the order written below. All values are raw Montgomery words.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "pair_add.cuh"

using namespace fg;

template <class T>
static T get() {
  T v;
  if (std::fread(&v, sizeof v, 1, stdin) != 1) std::exit(2);
  return v;
}
template <class T>
static void put(const T& v) {
  if (std::fwrite(&v, sizeof v, 1, stdout) != 1) std::exit(3);
}

template <class F>
static void field() {
  F a = get<F>(), b = get<F>();
  put(a + b);
  put(a - b);
  put(a * b);
  put(a.sqr());
  put(a.neg());
  put(a.inv());
}

template <class F>
static void prime_field() {
  F a = get<F>();
  put(a.from_mont());
  put(a.from_mont().to_mont());
  put(a.dbl());
}

// P+Q by three routes, 2P, 2P+Q, 2P+2Q.
template <class F>
static void curve() {
  auto p = get<Affine<F>>(), q = get<Affine<F>>();
  auto r = XYZZ<F>::from(p);
  r.add(q);
  put(r.to_affine());
  auto s = XYZZ<F>::from(p);
  s.add(XYZZ<F>::from(q));
  put(s.to_affine());
  auto d = XYZZ<F>::dbl_affine(p);
  put(XYZZ<F>::from(p).dbl().to_affine());
  auto e = d;
  e.add(q);
  put(e.to_affine());
  d.add(XYZZ<F>::from(q).dbl());
  put(d.to_affine());
}

// 2P with a z that is not one.
template <class F>
static void jacobian() {
  put(XYZZ<F>::dbl_affine(get<Affine<F>>()).to_jacobian());
}

// n pairs of points that share one inversion.
template <class F>
static void batch() {
  uint32_t n = get<uint32_t>();
  std::vector<Affine<F>> v(2 * n), out(n);
  for (auto& p : v) p = get<Affine<F>>();
  std::vector<F> before(n);
  F acc = F::one();
  for (uint32_t i = 0; i < n; i++) {
    const Affine<F>&p = v[2 * i], &q = v[2 * i + 1];
    F num, den = q.x - p.x;
    if (pair_is_rare(p.x, q.x, den)) classify_pair_rare(&p, &q, &num, &den);
    before[i] = acc;
    acc = acc * den;
  }
  acc = acc.inv();
  for (uint32_t i = n; i-- > 0;) {
    const Affine<F>&p = v[2 * i], &q = v[2 * i + 1];
    PairTerms<F> t = pair_terms(p, q);
    F compact_acc = acc;
    const Affine<F> compact = pair_sum_compact(t, compact_acc, before[i], [&] { return p; });
    F slope = pair_slope(t, acc, before[i]);
    switch (t.kind) {
      case PairKind::TakeFirst: out[i] = p; break;
      case PairKind::TakeSecond: out[i] = q; break;
      case PairKind::Infinity: out[i] = Affine<F>::inf(); break;
      default:
        out[i] = pair_sum(slope, t.xs, p);
        if (compact.x != out[i].x || compact.y != out[i].y) std::exit(5);
    }
    if (compact_acc != acc) std::exit(5);
  }
  for (auto& p : out) put(p);
}

int main() {
  for (int op; (op = std::getchar()) != EOF;) {
    switch (op) {
      case 'p': field<Fp>(); break;
      case 'r': field<Fr>(); break;
      case '2': field<Fp2>(); break;
      case 'P': prime_field<Fp>(); break;
      case 'R': prime_field<Fr>(); break;
      case 'c': curve<Fp>(); break;
      case 'C': curve<Fp2>(); break;
      case 'j': jacobian<Fp>(); break;
      case 'J': jacobian<Fp2>(); break;
      case 'b': batch<Fp>(); break;
      case 'B': batch<Fp2>(); break;
      default: return 4;
    }
  }
  return 0;
}
