// Fp, the base field of BLS12-381 (381 bits).
#pragma once

#include "mont.cuh"

namespace fg {

struct FpParams {
  static constexpr int N = 12;
  static constexpr int BITS = 381;
  static constexpr uint32_t M0 = 0xfffcfffd;  // -p^-1 mod 2^32
  static FG_HD constexpr uint32_t mod(int i) {
    constexpr uint32_t t[N] = {
        0xffffaaab, 0xb9feffff, 0xb153ffff, 0x1eabfffe, 0xf6b0f624, 0x6730d2a0,
        0xf38512bf, 0x64774b84, 0x434bacd7, 0x4b1ba7b6, 0x397fe69a, 0x1a0111ea};
    return t[i];
  }
  // R mod p: one.
  static FG_HD constexpr uint32_t r1(int i) {
    constexpr uint32_t t[N] = {
        0x0002fffd, 0x76090000, 0xc40c0002, 0xebf4000b, 0x53c758ba, 0x5f489857,
        0x70525745, 0x77ce5853, 0xa256ec6d, 0x5c071a97, 0xfa80e493, 0x15f65ec3};
    return t[i];
  }
  // R^2 mod p: takes integers into Montgomery form.
  static FG_HD constexpr uint32_t r2(int i) {
    constexpr uint32_t t[N] = {
        0x1c341746, 0xf4df1f34, 0x09d104f1, 0x0a76e6a6, 0x4c95b6d5, 0x8de5476c,
        0x939d83c0, 0x67eb88a9, 0xb519952d, 0x9a793e85, 0x92cae3aa, 0x11988fe5};
    return t[i];
  }
  // R^3 mod p: repairs the inverse of a value in Montgomery form.
  static FG_HD constexpr uint32_t r3(int i) {
    constexpr uint32_t t[N] = {
        0xd94ca1e0, 0xed48ac6b, 0x03a7adf8, 0x315f831e, 0x615e29dd, 0x9a53352a,
        0x921e1761, 0x34c04e5e, 0x65724728, 0x2512d435, 0x91755d4d, 0x0aa63460};
    return t[i];
  }
};

// 48 bytes, byte-identical with gnark-crypto's fp.Element.
using Fp = Mont<FpParams>;
static_assert(sizeof(Fp) == 48, "layout of fp.Element");

}  // namespace fg
