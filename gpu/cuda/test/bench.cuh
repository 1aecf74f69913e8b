// Timings of the arithmetic and of whole sums, each result checked before its time counts.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "checks.cuh"

namespace fg {

__global__ void random_kernel(Fr* v, size_t n, uint64_t seed) {
  size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) v[i] = random_fr(seed, i);
}

__global__ void dot_kernel(const Fr* a, const Fr* b, size_t n, Fr* out) {
  size_t t = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  Fr s = Fr::zero();
  for (size_t i = t; i < n; i += size_t(gridDim.x) * blockDim.x) s = s + a[i] * b[i];
  out[t] = s;
}

__global__ void bits_as_scalars_kernel(const uint64_t* bits, size_t n, Fr* out) {
  size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) out[i] = (bits[i / 64] >> (i % 64)) & 1 ? Fr::one() : Fr::zero();
}

inline Fr device_dot(const Fr* a, const Fr* b, size_t n) {
  Buffer<Fr> part(1 << 16);
  dot_kernel<<<256, 256>>>(a, b, n, part.get());
  FG_LAUNCHED();
  Fr s = Fr::zero();
  for (auto& x : to_host(part.get(), part.size())) s = s + x;
  return s;
}

// Median of reps runs in ms, after one to warm up.
inline double median_ms(int reps, const std::function<void()>& f) {
  f();
  std::vector<double> t;
  for (int i = 0; i < reps; i++) {
    FG_CUDA(cudaDeviceSynchronize());
    Event a(true), b(true);
    Stream s;
    timespec t0, t1;
    clock_gettime(CLOCK_MONOTONIC, &t0);
    f();
    clock_gettime(CLOCK_MONOTONIC, &t1);
    t.push_back((t1.tv_sec - t0.tv_sec) * 1e3 + (t1.tv_nsec - t0.tv_nsec) * 1e-6);
  }
  std::sort(t.begin(), t.end());
  return t[t.size() / 2];
}

enum Op { MUL, SQR, INV };

template <class F, Op OP>
__global__ void __launch_bounds__(256) rate_kernel(F* v, int n) {
  size_t t = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  F a = v[2 * t], b = v[2 * t + 1];
  for (int i = 0; i < n; i++) {
    if (OP == MUL) {
      a = a * b;
      b = b * a;
    } else if (OP == SQR) {
      a = a.sqr();
      b = b.sqr();
    } else {
      F c = a.inv() + b;
      a = b;
      b = c;
    }
  }
  v[2 * t] = a;
  v[2 * t + 1] = b;
}

template <class F, Op OP>
void bench_rate(const char* name, int n) {
  const size_t threads = 132 * 8 * 256;
  Buffer<F> v(2 * threads);
  FG_CUDA(cudaMemset(v.get(), 0x11, v.bytes()));
  double ms = median_ms(5, [&] {
    rate_kernel<F, OP><<<132 * 8, 256>>>(v.get(), n);
    FG_LAUNCHED();
    FG_CUDA(cudaDeviceSynchronize());
  });
  std::printf("rate %-10s %8.3f G/s\n", name, (OP == INV ? 1.0 : 2.0) * n * threads / ms * 1e-6);
}

template <class F>
struct BenchData {
  Stream stream;
  size_t n;
  Buffer<Affine<F>> points;
  Buffer<Fr> logs, scalars;
  explicit BenchData(size_t n_) : n(n_), points(n_), logs(n_), scalars(n_) {
    FixedBase<F> table(generator<F>(), stream);
    Buffer<unsigned char> scratch(table.scratch_bytes());
    random_kernel<<<blocks_for(n, 256), 256, 0, stream>>>(logs.get(), n, 41);
    FG_LAUNCHED();
    random_kernel<<<blocks_for(n, 256), 256, 0, stream>>>(scalars.get(), n, 42);
    FG_LAUNCHED();
    Event a(true), b(true);
    a.record(stream);
    table.mul(points.get(), logs.get(), n, scratch.get(), stream);
    b.record(stream);
    b.sync();
    std::printf("fixed base %zu points of %zu bytes: %.1f ms\n", n, sizeof(Affine<F>), b.ms_since(a));
  }
};

template <class F>
void bench_msm(const char* name, BenchData<F>& d, int lg, MsmConfig cfg, int reps) {
  const size_t n = size_t(1) << lg;
  if (n > d.n) return;
  Runner<F> run;
  auto plan = msm_plan<F>(n, cfg);
  run.work.reserve(plan.bytes);
  XYZZ<F> got;
  double ms = median_ms(reps, [&] { got = run.msm(plan, d.points.get(), d.scalars.get(), n); });
  bool ok = got.to_affine() == times(generator<F>(), device_dot(d.scalars.get(), d.logs.get(), n));
  check(ok, std::string("timed ") + name + " 2^" + std::to_string(lg));
  std::printf("msm %s 2^%d window %d group %d chunk %zu work %.2f GB: %.2f ms %s\n", name, lg, plan.window, plan.group,
              plan.chunk, plan.bytes * 1e-9, ms, ok ? "ok" : "WRONG");
  std::fflush(stdout);
}

template <class F>
void bench_bitsum(const char* name, BenchData<F>& d, int lg, int reps) {
  const size_t n = size_t(1) << lg;
  if (n > d.n) return;
  Runner<F> run;
  auto plan = bitsum_plan<F>(n, 0);
  run.work.reserve(plan.bytes);
  std::vector<uint64_t> bits(n / 64);
  for (size_t i = 0; i < bits.size(); i++) bits[i] = mix64(i + 1000);
  auto db = to_device(bits);
  XYZZ<F> got;
  double ms = median_ms(reps, [&] {
    got = bitsum_run<F>(plan, run.ctx, d.points.get(), db.get(), n, run.work.get(), run.stream, run.cancel);
  });
  Buffer<Fr> s(n);
  bits_as_scalars_kernel<<<blocks_for(n, 256), 256>>>(db.get(), n, s.get());
  FG_LAUNCHED();
  bool ok = got.to_affine() == times(generator<F>(), device_dot(s.get(), d.logs.get(), n));
  check(ok, std::string("timed bits ") + name + " 2^" + std::to_string(lg));
  std::printf("bit sum %s 2^%d work %.2f GB: %.2f ms %s\n", name, lg, plan.bytes * 1e-9, ms, ok ? "ok" : "WRONG");
}

// Times the stages of a sum between marks on their streams, and adds equal names up.
struct StageClock {
  struct Mark {
    std::string name;
    cudaStream_t stream;
    Event event{true};
  };
  std::vector<std::unique_ptr<Mark>> marks;

  void mark(const char* name, cudaStream_t s) {
    marks.emplace_back(new Mark);
    marks.back()->name = name;
    marks.back()->stream = s;
    marks.back()->event.record(s);
  }
  void print() {
    std::map<std::string, std::pair<double, int>> sum;
    std::map<cudaStream_t, Mark*> last;
    for (auto& m : marks) {
      Mark*& l = last[m->stream];
      if (l) {
        auto& p = sum[m->name];
        double ms = m->event.ms_since(l->event);
        p.first += ms;
        p.second++;
        if (ms > 0.5) std::printf("    %-20s %9.3f ms\n", m->name.c_str(), ms);
      }
      l = m.get();
    }
    for (auto& s : sum) std::printf("  %-22s %5d times %9.3f ms\n", s.first.c_str(), s.second.second, s.second.first);
    std::fflush(stdout);
  }
};

// The stages of one MSM. Marks of the sorting stream include its waits for the additions.
template <class F>
void bench_stages(BenchData<F>& d, int lg, int window) {
  const size_t n = size_t(1) << lg;
  if (n > d.n) return;
  Runner<F> run;
  auto plan = msm_plan<F>(n, {window, 0});
  run.work.reserve(plan.bytes);
  for (int rep = 0; rep < 2; rep++) {
    StageClock c;
    if (rep) {
      c.mark("begin", run.stream);
      c.mark("begin", run.ctx.sort);
      run.ctx.on_stage = [&](const char* name, cudaStream_t s) { c.mark(name, s); };
    }
    run.msm(plan, d.points.get(), d.scalars.get(), n);
    if (!rep) continue;
    std::printf("stages of 2^%d, window %d, %d of %d windows in a group\n", lg, plan.window, plan.group, plan.windows);
    c.print();
  }
}

}  // namespace fg
