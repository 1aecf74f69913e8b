// Checks and times the arithmetic of the CUDA backend on a device:
//   msm_device_test check | sanitize | bench LG | stages LG WINDOW | rate
// Exit status 1 if anything differs from the independent answer.
#include "bench.cuh"

using namespace fg;

static void check_all(bool small) {
  check_field<Fp>("Fp");
  check_field<Fr>("Fr");
  check_field<Fp2>("Fp2");
  check_mont<Fp>("Fp");
  check_mont<Fr>("Fr");
  std::printf("fields: %d checks, %d failures\n", checks, failures);
  std::fflush(stdout);
  Stream s;
  Bases<Fp> g1(s);
  Bases<Fp2> g2(s);
  check_fixed_base("G1", g1, s);
  check_fixed_base("G2", g2, s);
  std::printf("fixed base: %d checks, %d failures\n", checks, failures);
  std::fflush(stdout);
  std::vector<size_t> sizes{0, 1, 2, 3, 31, 32, 33, 255, 256, 257, 1000, 4096};
  if (small) sizes = {0, 1, 3, 33, 4096};
  auto big = sizes;
  if (!small) big.push_back(65537);
  check_msm("G1", g1, big, !small);
  std::printf("G1: %d checks, %d failures\n", checks, failures);
  std::fflush(stdout);
  check_msm("G2", g2, sizes, !small);
  std::printf("G2: %d checks, %d failures\n", checks, failures);
  std::fflush(stdout);
  sizes.push_back(64);
  sizes.push_back(65);
  check_bitsum("G1", g1, sizes);
  check_bitsum("G2", g2, sizes);
  check_cancel(g1);
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
    if (mode == "check" || mode == "sanitize") {
      check_all(mode == "sanitize");
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
    } else if (mode == "bench2") {
      bench<Fp2>("G2", lg);
    } else if (mode == "windows1") {  // one size, every window from WINDOW up to 24
      BenchData<Fp> d(size_t(1) << lg);
      for (int c = window; c <= 24; c++) bench_msm("G1", d, lg, {c, 0}, 3);
    } else if (mode == "stages1") {
      BenchData<Fp> d(size_t(1) << lg);
      bench_stages(d, lg, window);
    } else if (mode == "stages2") {
      BenchData<Fp2> d(size_t(1) << lg);
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
