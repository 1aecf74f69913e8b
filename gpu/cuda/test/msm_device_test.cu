// Checks and times the arithmetic of the CUDA backend on a device:
//   msm_device_test check1 | check2 | sanitize1 | sanitize2 | rate | bench1 LG | bench2 LG | stages1 LG WINDOW | stages2 LG WINDOW |
//                   quick1 LG | windows1 LG WINDOW
// Exit status 1 if anything differs from the independent answer.
#include "bench.cuh"

using namespace fg;

static void report(const char* what) {
  std::printf("%s: %d checks, %d failures\n", what, checks, failures);
  std::fflush(stdout);
}

static void check_fields() {
  check_field<Fp>("Fp");
  check_field<Fr>("Fr");
  check_field<Fp2>("Fp2");
  check_mont<Fp>("Fp");
  check_mont<Fr>("Fr");
  report("fields");
}

template <class F>
static void check_group(const char* name, bool small) {
  Stream s;
  Bases<F> bases(s);
  check_fixed_base(name, bases, s);
  report("fixed base");
  std::vector<size_t> sizes{0, 1, 2, 3, 31, 32, 33, 255, 256, 257, 1000, 4096};
  if (small) sizes = {1, 33, 4097};
  auto big = sizes;
  if (!small && sizeof(F) == sizeof(Fp)) big.push_back(65537);
  check_msm(name, bases, big, small);
  report("msm");
  sizes.push_back(64);
  sizes.push_back(65);
  check_bitsum(name, bases, sizes, small);
  check_cancel(bases);
  report("bit sums");
}

template <class F>
static void bench(const char* name, int lg) {
  BenchData<F> d(size_t(1) << lg);
  for (int k : {16, 18, 20, 22, 24, 26, 27})
    if (k <= lg) bench_msm(name, d, k, {}, 5);
  for (int k : {20, 24, 27})
    if (k <= lg) bench_bitsum(name, d, k, 5);
}

int main(int argc, char** argv) {
  std::string mode = argc > 1 ? argv[1] : "check";
  int lg = argc > 2 ? std::atoi(argv[2]) : 20, window = argc > 3 ? std::atoi(argv[3]) : 0;
  try {
    if (mode == "check1" || mode == "sanitize1") {
      check_fields();
      check_group<Fp>("G1", mode == "sanitize1");
    } else if (mode == "rate") {
      bench_rate<Fp, MUL>("Fp mul", 2000);
      bench_rate<Fp, SQR>("Fp sqr", 2000);
      bench_rate<Fp, INV>("Fp inv", 50);
      bench_rate<Fr, MUL>("Fr mul", 2000);
      bench_rate<Fr, SQR>("Fr sqr", 2000);
      bench_rate<Fp2, MUL>("Fp2 mul", 1000);
      bench_rate<Fp2, SQR>("Fp2 sqr", 1000);
    } else if (mode == "bench1") {
      bench<Fp>("G1", lg);
#ifndef FG_TEST_G1_ONLY
    } else if (mode == "check2" || mode == "sanitize2") {
      check_group<Fp2>("G2", mode == "sanitize2");
    } else if (mode == "bench2") {
      bench<Fp2>("G2", lg);
    } else if (mode == "stages2") {
      BenchData<Fp2> d(size_t(1) << lg);
      bench_stages(d, lg, window);
#endif
    } else if (mode == "quick1") {  // the three sizes that have targets
      BenchData<Fp> d(size_t(1) << lg);
      for (int k : {20, 24, 27}) bench_msm("G1", d, k, {}, 3);
    } else if (mode == "windows1") {  // one size, every window from WINDOW up to 24
      BenchData<Fp> d(size_t(1) << lg);
      for (int c = window; c <= 24; c++) bench_msm("G1", d, lg, {c, 0}, 3);
    } else if (mode == "stages1") {
      BenchData<Fp> d(size_t(1) << lg);
      bench_stages(d, lg, window);
    } else {
      std::fprintf(stderr, "unknown mode %s\n", mode.c_str());
      return 2;
    }
  } catch (const Error& e) {
    std::printf("error %d: %s\n", e.code, e.what());
    return 1;
  }
  std::printf("%s: %d checks, %d failures\n", mode.c_str(), checks, failures);
  return failures ? 1 : 0;
}
