// Fr, the scalar field of BLS12-381 (255 bits).
#pragma once

#include "mont.cuh"

namespace fg {

struct FrParams {
  static constexpr int N = 8;
  static constexpr int BITS = 255;
  static constexpr uint32_t M0 = 0xffffffff;  // -p^-1 mod 2^32
  static FG_HD constexpr uint32_t mod(int i) {
    constexpr uint32_t t[N] = {
        0x00000001, 0xffffffff, 0xfffe5bfe, 0x53bda402, 0x09a1d805, 0x3339d808,
        0x299d7d48, 0x73eda753};
    return t[i];
  }
  // R mod p: one.
  static FG_HD constexpr uint32_t r1(int i) {
    constexpr uint32_t t[N] = {
        0xfffffffe, 0x00000001, 0x00034802, 0x5884b7fa, 0xecbc4ff5, 0x998c4fef,
        0xacc5056f, 0x1824b159};
    return t[i];
  }
  // R^2 mod p: takes integers into Montgomery form.
  static FG_HD constexpr uint32_t r2(int i) {
    constexpr uint32_t t[N] = {
        0xf3f29c6d, 0xc999e990, 0x87925c23, 0x2b6cedcb, 0x7254398f, 0x05d31496,
        0x9f59ff11, 0x0748d9d9};
    return t[i];
  }
  // R^3 mod p: repairs the inverse of a value in Montgomery form.
  static FG_HD constexpr uint32_t r3(int i) {
    constexpr uint32_t t[N] = {
        0x439b73af, 0xc62c1807, 0x8cf06990, 0x1b3e0d18, 0xc7b5f418, 0x73d13c71,
        0xc8db33e9, 0x6e2a5bb9};
    return t[i];
  }
};

// 32 bytes, byte-identical with gnark-crypto's fr.Element.
using Fr = Mont<FrParams>;
static_assert(sizeof(Fr) == 32, "layout of fr.Element");

}  // namespace fg
