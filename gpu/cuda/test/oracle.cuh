// Independent answers for the device tests: points are known multiples of the generator, so that a sum of
// scalars times points is one multiple, found by scalar arithmetic and plain double-and-add on the host.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../fixed_base.cuh"
#include "../msm.cuh"

namespace fg {

FG_HD uint64_t mix64(uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

FG_HD Fr random_fr(uint64_t seed, uint64_t i) {
  Fr r;
  for (int k = 0; k < 4; k++) {
    uint64_t x = mix64(mix64(seed) ^ (4 * i + k));
    r.v[2 * k] = uint32_t(x);
    r.v[2 * k + 1] = uint32_t(x >> 32);
  }
  r.v[7] &= 0x3fffffff;
  return r;
}

// Generators, as gnark-crypto prints them, in big-endian hexadecimal.
inline Fp fp_hex(const char* s) {
  Fp r = Fp::zero();
  for (; *s; s++) {
    uint32_t d = *s <= '9' ? *s - '0' : *s - 'a' + 10;
    for (int i = 11; i > 0; i--) r.v[i] = (r.v[i] << 4) | (r.v[i - 1] >> 28);
    r.v[0] = (r.v[0] << 4) | d;
  }
  return r.to_mont();
}

template <class F>
Affine<F> generator();
template <>
inline G1Affine generator<Fp>() {
  return {fp_hex("17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"),
          fp_hex("08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1")};
}
template <>
inline G2Affine generator<Fp2>() {
  return {{fp_hex("024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8"),
           fp_hex("13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e")},
          {fp_hex("0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801"),
           fp_hex("0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be")}};
}

template <class F>
Affine<F> times(const Affine<F>& p, const Fr& k) {
  Fr e = k.from_mont();
  XYZZ<F> r = XYZZ<F>::inf();
  for (int i = 255; i >= 0; i--) {
    r = r.dbl();
    if ((e.v[i / 32] >> (i % 32)) & 1) r.add(p);
  }
  return r.to_affine();
}

inline int failures = 0, checks = 0;

inline void check(bool ok, const std::string& what) {
  checks++;
  if (ok) return;
  failures++;
  if (failures <= 40) std::printf("FAIL %s\n", what.c_str());
}

template <class T>
Buffer<T> to_device(const std::vector<T>& v) {
  Buffer<T> b(v.size());
  if (!v.empty()) FG_CUDA(cudaMemcpy(b.get(), v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
  FG_CUDA(cudaDeviceSynchronize());  // a copy from pageable memory may return before it has landed
  return b;
}
template <class T>
std::vector<T> to_host(const T* p, size_t n) {
  std::vector<T> v(n);
  if (n) FG_CUDA(cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
  return v;
}

inline Fr dot(const std::vector<Fr>& a, const std::vector<Fr>& b, size_t n) {
  Fr s = Fr::zero();
  for (size_t i = 0; i < n; i++) s = s + a[i] * b[i];
  return s;
}

}  // namespace fg
