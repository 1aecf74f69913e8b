// Transforms against the definition (small sizes), against Horner at random points (large sizes), and there and back;
// the quotient against its defining equation. Then times, if asked: ntt_device_test [max_log [time]].
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "../ntt.cuh"

using namespace fg;

namespace {

int failures = 0;

void expect(bool ok, const std::string& what) {
  if (ok) return;
  failures++;
  std::printf("FAIL %s\n", what.c_str());
}

std::mt19937_64 rng(1);

Fr random_fr() {
  Fr r;
  for (auto& w : r.v) w = uint32_t(rng());
  r.v[7] &= 0x3fffffff;  // below p
  return r;
}

std::vector<Fr> random_vec(size_t n) {
  std::vector<Fr> v(n);
  for (auto& x : v) x = random_fr();
  // Edge values at both ends.
  if (n > 3) {
    v[0] = Fr::zero();
    v[1] = Fr::one();
    v[n - 1] = Fr::one().neg();
  }
  return v;
}

Fr pow(Fr b, uint64_t e) { return b.pow(e); }

Fr horner(const std::vector<Fr>& c, const Fr& x) {
  Fr r = Fr::zero();
  for (size_t i = c.size(); i-- > 0;) r = r * x + c[i];
  return r;
}

size_t reverse(size_t i, int n) {
  size_t r = 0;
  for (int b = 0; b < n; b++) r |= (i >> b & 1) << (n - 1 - b);
  return r;
}

struct Dev {
  Buffer<Fr> b;
  explicit Dev(const std::vector<Fr>& v) : b(v.size()) {
    FG_CUDA(cudaMemcpy(b.get(), v.data(), v.size() * sizeof(Fr), cudaMemcpyHostToDevice));
  }
  std::vector<Fr> host() const {
    std::vector<Fr> v(b.size());
    FG_CUDA(cudaMemcpy(v.data(), b.get(), v.size() * sizeof(Fr), cudaMemcpyDeviceToHost));
    return v;
  }
};

std::string label(const char* what, int n, bool coset, NttOrder o) {
  return std::string(what) + " 2^" + std::to_string(n) + (coset ? " coset" : "") +
         (o == NttOrder::Reversed ? " reversed" : "");
}

void test_forward_inverse(int n, bool coset, NttOrder order, cudaStream_t s) {
  const size_t m = size_t(1) << n;
  std::vector<Fr> c = random_vec(m);
  Dev in(c), out(std::vector<Fr>(m, Fr::one()));
  const bool in_place = order == NttOrder::Reversed;
  NttPlan fwd(n, NttDirection::Forward, coset, s), inv(n, NttDirection::Inverse, coset, s);
  Fr* to = in_place ? in.b.get() : out.b.get();
  fwd.run(in.b.get(), to, order, true, s);
  FG_CUDA(cudaStreamSynchronize(s));
  std::vector<Fr> v = in_place ? in.host() : out.host();
  Fr w = root_of_unity(n), g = coset ? coset_shift() : Fr::one();
  size_t checks = m <= 256 ? m : 6;
  for (size_t k = 0; k < checks; k++) {
    size_t i = m <= 256 ? k : (k == 0 ? 0 : k == 1 ? m - 1 : rng() % m);
    Fr want = horner(c, g * pow(w, i));
    expect(v[order == NttOrder::Reversed ? reverse(i, n) : i] == want, label("forward", n, coset, order) + " at " + std::to_string(i));
  }
  Fr* back = in_place ? to : in.b.get();
  inv.run(to, back, order, true, s);
  ntt_scale(back, m, Fr::from_u64(m).inv(), s);
  FG_CUDA(cudaStreamSynchronize(s));
  expect(in.host() == c, label("there and back", n, coset, order));
}

// a*b - c vanishes on the domain, so h*(x^m-1) = a(x)b(x) - c(x) at a random x.
void test_quotient(int n, cudaStream_t s) {
  const size_t m = size_t(1) << n;
  std::vector<Fr> a = random_vec(m), b = random_vec(m), c(m);
  for (size_t i = 0; i < m; i++) c[i] = a[i] * b[i];
  Dev da(a), db(b), dc(c), dd(c);
  Quotient q(n, s);
  Fr* d[4] = {da.b.get(), db.b.get(), dc.b.get(), dd.b.get()};
  Dev* dev[4] = {&da, &db, &dc, &dd};
  int at = q.run(d, s, Cancel());
  FG_CUDA(cudaStreamSynchronize(s));
  std::vector<Fr> h = dev[at]->host();
  expect(h[m - 1].is_zero(), "quotient's last coefficient");
  // Lagrange: f(x) = (x^m-1)/m * sum f_i w^i/(x-w^i)
  Fr x = random_fr(), w = root_of_unity(n), wi = Fr::one();
  Fr A = Fr::zero(), B = A, C = A;
  for (size_t i = 0; i < m; i++, wi = wi * w) {
    Fr l = wi * (x - wi).inv();
    A = A + a[i] * l;
    B = B + b[i] * l;
    C = C + c[i] * l;
  }
  Fr z = pow(x, m) - Fr::one(), k = z * Fr::from_u64(m).inv();
  Fr left = horner(h, x) * z, right = (A * k) * (B * k) - C * k;
  expect(left == right, "quotient 2^" + std::to_string(n));
}

float median(std::vector<float> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

template <class F>
float time_ms(cudaStream_t s, int reps, F f) {
  f();
  std::vector<float> t;
  for (int i = 0; i < reps; i++) {
    Event a(true), b(true);
    a.record(s);
    f();
    b.record(s);
    b.sync();
    t.push_back(b.ms_since(a));
  }
  return median(t);
}

__global__ void fill(Fr* v, size_t n, uint32_t seed) {
  size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint64_t x = i * 0x9E3779B97F4A7C15ull + seed;
  for (int k = 0; k < 8; k++) {
    x ^= x >> 31;
    x *= 0xBF58476D1CE4E5B9ull;
    x ^= x >> 27;
    v[i].v[k] = uint32_t(x);
  }
  v[i].v[7] &= 0x3fffffff;
}

void bench(int n, cudaStream_t s) {
  const size_t m = size_t(1) << n;
  Buffer<Fr> d[4];
  for (int i = 0; i < 4; i++) {
    d[i].alloc(m);
    fill<<<blocks_for(m, 256), 256, 0, s>>>(d[i].get(), m, i);
    FG_LAUNCHED();
  }
  NttPlan fwd(n, NttDirection::Forward, false, s), cf(n, NttDirection::Forward, true, s),
      inv(n, NttDirection::Inverse, false, s), ci(n, NttDirection::Inverse, true, s);
  Fr *x = d[0].get(), *y = d[1].get();
  const NttOrder N = NttOrder::Natural, R = NttOrder::Reversed;
  float t[8];
  t[0] = time_ms(s, 7, [&] { fwd.run(x, y, N, true, s); });
  t[1] = time_ms(s, 7, [&] { fwd.run(x, x, R, true, s); });
  t[2] = time_ms(s, 7, [&] { cf.run(x, y, N, true, s); });
  t[3] = time_ms(s, 7, [&] { cf.run(x, x, R, false, s); });
  t[4] = time_ms(s, 7, [&] { inv.run(x, y, N, false, s); });
  t[5] = time_ms(s, 7, [&] { inv.run(x, x, R, false, s); });
  t[6] = time_ms(s, 7, [&] { ci.run(x, x, R, false, s); });
  for (int i : {1, 0}) {
    NttPlan full(n, i ? NttDirection::Forward : NttDirection::Inverse, !i, s, NTT_MAX_LOG);
    std::printf("ntt 2^%d full tables: %s %.2f ms\n", n, i ? "fwd N" : "coset inv R",
                time_ms(s, 7, [&] { full.run(x, i ? y : x, i ? N : R, true, s); }));
  }
  {
    Quotient full(n, s, NTT_MAX_LOG);
    Fr* v[4] = {d[0].get(), d[1].get(), d[2].get(), d[3].get()};
    std::printf("ntt 2^%d full tables: quotient %.2f ms, twiddles %.1f MB\n", n,
                time_ms(s, 5, [&] { full.run(v, s, Cancel()); }), double(full.bytes()) / 1e6);
  }
  Quotient q(n, s);
  Fr* p[4] = {d[0].get(), d[1].get(), d[2].get(), d[3].get()};
  t[7] = time_ms(s, 5, [&] { q.run(p, s, Cancel()); });
  std::printf("ntt 2^%d ms: fwd N %.2f R %.2f | coset fwd N %.2f R %.2f | inv N %.2f R %.2f | coset inv R %.2f | quotient %.2f | twiddles %.1f MB\n",
              n, t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], double(q.bytes()) / 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    int max_log = argc > 1 ? std::atoi(argv[1]) : 14;
    Stream s;
    for (int n = 0; n <= max_log; n++) {
      for (bool coset : {false, true})
        for (NttOrder o : {NttOrder::Natural, NttOrder::Reversed})
          if (n <= 22 || o == NttOrder::Natural) test_forward_inverse(n, coset, o, s);
      if (n >= 1 && n <= 16) test_quotient(n, s);
    }
    std::printf("ntt checks up to 2^%d: %d failures\n", max_log, failures);
    if (argc > 2)
      for (int n = 20; n <= std::atoi(argv[2]); n++) bench(n, s);
  } catch (const std::exception& e) {
    std::printf("FAIL %s\n", e.what());
    return 2;
  }
  return failures != 0;
}
