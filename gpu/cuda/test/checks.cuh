// Correctness of fields, fixed-base multiples, MSMs and bit sums on the device.
#pragma once

#include "oracle.cuh"

namespace fg {

template <class F>
__global__ void field_kernel(const F* a, const F* b, size_t n, F* out) {
  size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  F x = a[i], y = b[i];
  F r[6] = {x + y, x - y, x * y, x.sqr(), x.neg(), x.inv()};
  for (int k = 0; k < 6; k++) out[6 * i + k] = r[k];
}

template <class F>
__global__ void mont_kernel(const F* a, size_t n, F* out) {
  size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[2 * i] = a[i].from_mont();
  out[2 * i + 1] = a[i].from_mont().to_mont();
}

template <class F>
std::vector<F> field_values(uint64_t seed) {
  std::vector<F> v;
  F minus = F::zero() - F::one(), half = F::from_u64(2).inv();
  for (F x : {F::zero(), F::one(), minus, minus - F::one(), half, half - F::one()}) v.push_back(x);
  for (int bit = 0; bit < F::BITS - 1; bit += 15)  // sparse words, as integers and as Montgomery words
    for (int less = 0; less < 2; less++) {
      F w = F::zero();
      w.v[bit / 32] = 1u << (bit % 32);
      if (less) {
        for (int k = 0; k < bit / 32; k++) w.v[k] = 0xffffffffu;
        w.v[bit / 32] -= 1;
      }
      v.push_back(w);
      v.push_back(w.to_mont());
    }
  for (int i = 0; i < 64; i++) {
    F w = F::zero();
    for (int k = 0; k < F::N; k++) w.v[k] = uint32_t(mix64(seed + 64 * i + k));
    w.v[F::N - 1] &= F::Params::mod(F::N - 1) >> 1;
    v.push_back(w);
  }
  return v;
}
template <>
inline std::vector<Fp2> field_values<Fp2>(uint64_t seed) {
  auto a = field_values<Fp>(seed);
  std::vector<Fp2> v;
  for (size_t i = 0; i < a.size(); i++) v.push_back({a[i], a[(i * 7 + 3) % a.size()]});
  for (size_t i = 0; i < 8; i++) v.push_back({a[i], Fp::zero()}), v.push_back({Fp::zero(), a[i]});
  return v;
}

template <class F>
void check_field(const char* name) {
  auto v = field_values<F>(7);
  std::vector<F> a, b;
  for (auto& x : v)
    for (auto& y : v) a.push_back(x), b.push_back(y);
  const size_t n = a.size();
  auto da = to_device(a), db = to_device(b);
  Buffer<F> out(6 * n);
  field_kernel<F><<<blocks_for(n, 128), 128>>>(da.get(), db.get(), n, out.get());
  FG_LAUNCHED();
  auto got = to_host(out.get(), 6 * n);
  const char* op[] = {"+", "-", "*", "sqr", "neg", "inv"};
  for (size_t i = 0; i < n; i++) {
    F want[6] = {a[i] + b[i], a[i] - b[i], a[i] * b[i], a[i].sqr(), a[i].neg(), a[i].inv()};
    for (int k = 0; k < 6; k++) check(got[6 * i + k] == want[k], std::string(name) + " " + op[k] + " " + std::to_string(i));
  }
}

template <class F>
void check_mont(const char* name) {
  auto v = field_values<F>(8);
  auto d = to_device(v);
  Buffer<F> out(2 * v.size());
  mont_kernel<F><<<blocks_for(v.size(), 128), 128>>>(d.get(), v.size(), out.get());
  FG_LAUNCHED();
  auto got = to_host(out.get(), 2 * v.size());
  for (size_t i = 0; i < v.size(); i++) {
    check(got[2 * i] == v[i].from_mont(), std::string(name) + " from_mont");
    check(got[2 * i + 1] == v[i], std::string(name) + " to_mont");
  }
}

// Points of one group made from known scalars.
template <class F>
struct Bases {
  FixedBase<F> table;
  Buffer<unsigned char> scratch;
  explicit Bases(cudaStream_t s) : table(generator<F>(), s), scratch(table.scratch_bytes()) {}
  Buffer<Affine<F>> points(const std::vector<Fr>& k, cudaStream_t s) {
    Buffer<Affine<F>> out(k.size());
    auto dk = to_device(k);
    table.mul(out.get(), dk.get(), k.size(), scratch.get(), s);
    FG_CUDA(cudaStreamSynchronize(s));
    return out;
  }
};

template <class F>
void check_fixed_base(const char* name, Bases<F>& bases, cudaStream_t s) {
  std::vector<Fr> k;
  for (int i = 0; i < 40; i++) k.push_back(Fr::from_u64(i));
  for (int i = 0; i < 255; i += 5) {
    Fr p = Fr::from_u64(2).pow(i);
    k.push_back(p);
    k.push_back(p - Fr::one());
    k.push_back(p.neg());
  }
  for (int i = 0; i < 60; i++) k.push_back(random_fr(11, i));
  auto got = to_host(bases.points(k, s).get(), k.size());
  for (size_t i = 0; i < k.size(); i++)
    check(got[i] == times(generator<F>(), k[i]), std::string(name) + " fixed base " + std::to_string(i));
}

// How the logarithms of the points are chosen.
enum BaseKind { RANDOM, SAME, ALTERNATING, CONSECUTIVE, SPARSE, BASE_KINDS };

inline std::vector<Fr> make_logs(int kind, size_t n) {
  std::vector<Fr> k(n);
  Fr one = Fr::one(), run = one;
  for (size_t i = 0; i < n; i++) {
    switch (kind) {
      case RANDOM: k[i] = random_fr(21, i); break;
      case SAME: k[i] = one; break;
      case ALTERNATING: k[i] = i & 1 ? one.neg() : one; break;
      case CONSECUTIVE: k[i] = run; break;
      default: k[i] = mix64(i) % 3 ? random_fr(22, i % 5) : Fr::zero(); break;  // infinities, few values
    }
    run = run + one;
  }
  return k;
}

enum ScalarKind { UNIFORM, ZEROS, ONES, MINUS_ONES, BITS99, EQUAL, POWERS, HEAVY, HALVES, SCALAR_KINDS };

inline std::vector<Fr> make_scalars(int kind, size_t n) {
  std::vector<Fr> s(n);
  Fr one = Fr::one(), two = Fr::from_u64(2), half = two.inv();
  for (size_t i = 0; i < n; i++) {
    switch (kind) {
      case UNIFORM: s[i] = random_fr(31, i); break;
      case ZEROS: s[i] = Fr::zero(); break;
      case ONES: s[i] = one; break;
      case MINUS_ONES: s[i] = one.neg(); break;
      case BITS99: s[i] = mix64(i) % 100 ? (mix64(i + 1) & 1 ? one : Fr::zero()) : random_fr(32, i); break;
      case EQUAL: s[i] = random_fr(33, 0); break;
      case POWERS: s[i] = two.pow(i % 255); break;
      case HEAVY: s[i] = mix64(i) % 10 ? Fr::from_u64(12345) : random_fr(34, i); break;
      default: s[i] = i % 3 ? (i % 3 == 1 ? half : half - one) : half + one; break;  // about r/2
    }
  }
  return s;
}

template <class F>
struct Runner {
  MsmContext ctx;
  Stream stream;
  Buffer<unsigned char> work;
  Cancel cancel;

  XYZZ<F> msm(const MsmPlan& p, const Affine<F>* points, const Fr* scalars, size_t n) {
    work.reserve(p.bytes);
    return msm_run<F>(p, ctx, points, scalars, n, work.get(), stream, cancel);
  }
};

template <class F>
void check_msm(const char* name, Bases<F>& bases, const std::vector<size_t>& sizes, bool small) {
  Runner<F> run;
  size_t most = 0;
  for (size_t n : sizes) most = n > most ? n : most;
  for (int bk = 0; bk < BASE_KINDS; bk++) {
    if (small && bk != RANDOM && bk != SPARSE) continue;
    auto logs = make_logs(bk, most);
    auto points = bases.points(logs, run.stream);
    for (int sk = 0; sk < SCALAR_KINDS; sk++) {
      if (small && sk != UNIFORM && sk != BITS99) continue;
      auto scalars = make_scalars(sk, most);
      auto ds = to_device(scalars);
      auto one = [&](size_t n, MsmConfig cfg) {
        auto plan = msm_plan<F>(n, cfg);
        auto got = run.msm(plan, points.get(), ds.get(), n).to_affine();
        check(got == times(generator<F>(), dot(scalars, logs, n)),
              std::string(name) + " n=" + std::to_string(n) + " bases " + std::to_string(bk) + " scalars " +
                  std::to_string(sk) + " window " + std::to_string(plan.window) + " group " + std::to_string(plan.group) +
                  " chunk " + std::to_string(plan.chunk));
      };
      for (size_t n : sizes) one(n, {});
      if (small && bk == RANDOM && sk == UNIFORM)
        for (int w = 1; w <= 16; w++) one(257, {w, 0});
      if (small || (bk != RANDOM && bk != SPARSE)) continue;
      if (sk == UNIFORM || sk == HALVES || sk == MINUS_ONES)
        for (int c = 1; c <= (sk == UNIFORM && bk == RANDOM ? 24 : 16); c++) one(257, {c, 0});
      MsmConfig tight{8, 0};
      for (size_t n : {size_t(1023), size_t(1024), size_t(1025), size_t(2049)}) {
        if (n > most) continue;
        tight.budget = msm_plan<F>(1024, {8, 0}).bytes;  // chunks at 1024
        one(n, tight);
        tight.budget -= 1;
        one(n, tight);
      }
    }
  }
}

template <class F>
void check_bitsum(const char* name, Bases<F>& bases, const std::vector<size_t>& sizes, bool small) {
  Runner<F> run;
  size_t most = 0;
  for (size_t n : sizes) most = n > most ? n : most;
  for (int bk = 0; bk < (small ? 1 : int(BASE_KINDS)); bk++) {
    auto logs = make_logs(bk, most);
    auto points = bases.points(logs, run.stream);
    for (int pattern = 0; pattern < 5; pattern++) {
      std::vector<uint64_t> bits(most / 64 + 1);
      for (size_t w = 0; w < bits.size(); w++) {
        uint64_t m = mix64(w + 77);
        uint64_t p[] = {0, ~uint64_t(0), m, m & mix64(w) & mix64(w + 5) & mix64(w + 9), w % 7 ? 0 : uint64_t(1) << 63};
        bits[w] = p[pattern];
      }
      auto db = to_device(bits);
      for (size_t n : sizes)
        for (int tight = 0; tight < 2; tight++) {
          auto plan = bitsum_plan<F>(n, tight ? bitsum_plan<F>(1024, 0).bytes : 0);
          run.work.reserve(plan.bytes);
          Fr want = Fr::zero();
          for (size_t i = 0; i < n; i++)
            if ((bits[i / 64] >> (i % 64)) & 1) want = want + logs[i];
          auto got = bitsum_run<F>(plan, run.ctx, points.get(), db.get(), n, run.work.get(), run.stream, run.cancel).to_affine();
          check(got == times(generator<F>(), want), std::string(name) + " bits n=" + std::to_string(n) + " bases " +
                                                        std::to_string(bk) + " pattern " + std::to_string(pattern) +
                                                        " chunk " + std::to_string(plan.chunk));
        }
    }
  }
}

template <class F>
void check_cancel(Bases<F>& bases) {
  Runner<F> run;
  auto logs = make_logs(RANDOM, 100);
  auto points = bases.points(logs, run.stream);
  auto ds = to_device(make_scalars(UNIFORM, 100));
  volatile int32_t flag = 1;
  run.cancel = Cancel(&flag);
  int code = OK;
  try {
    run.msm(msm_plan<F>(100, {}), points.get(), ds.get(), 100);
  } catch (const Error& e) {
    code = e.code;
  }
  check(code == E_CANCELLED, "cancelled MSM");
  code = OK;
  try {
    msm_plan<F>(1 << 20, {0, 1000});
  } catch (const Error& e) {
    code = e.code;
  }
  check(code == E_MEMORY, "plan over budget");
}

}  // namespace fg
