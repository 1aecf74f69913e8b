// The carry-chain instructions of ptx.cuh in C++, so that the device's arithmetic can be followed on the host:
// emu.sh puts this in that header's place when EMU_PTX=1.
#pragma once

#include "config.cuh"

namespace fg {
namespace ptx {

inline bool& carry() {
  static bool c;
  return c;
}
inline uint32_t add3(uint32_t a, uint32_t b, bool in, bool out) {
  uint64_t s = uint64_t(a) + b + in;
  if (out) carry() = s >> 32;
  return uint32_t(s);
}
inline uint32_t sub3(uint32_t a, uint32_t b, bool in, bool out) {
  uint64_t s = uint64_t(a) - b - in;
  if (out) carry() = (s >> 32) & 1;
  return uint32_t(s);
}
inline uint32_t add_cc(uint32_t a, uint32_t b) { return add3(a, b, false, true); }
inline uint32_t addc_cc(uint32_t a, uint32_t b) { return add3(a, b, carry(), true); }
inline uint32_t addc(uint32_t a, uint32_t b) { return add3(a, b, carry(), false); }
inline uint32_t sub_cc(uint32_t a, uint32_t b) { return sub3(a, b, false, true); }
inline uint32_t subc_cc(uint32_t a, uint32_t b) { return sub3(a, b, carry(), true); }
inline uint32_t subc(uint32_t a, uint32_t b) { return sub3(a, b, carry(), false); }
inline void mad(uint32_t& lo, uint32_t& hi, uint32_t a, uint32_t b, uint32_t clo, uint32_t chi, bool in, bool out) {
  uint64_t p = uint64_t(a) * b;
  lo = add3(uint32_t(p), clo, in, true);
  hi = add3(uint32_t(p >> 32), chi, carry(), out);
}
inline void mad_start(uint32_t& lo, uint32_t& hi, uint32_t a, uint32_t b) { mad(lo, hi, a, b, lo, hi, false, true); }
inline void mad_next(uint32_t& lo, uint32_t& hi, uint32_t a, uint32_t b, uint32_t clo, uint32_t chi) {
  mad(lo, hi, a, b, clo, chi, carry(), true);
}
inline void mad_last(uint32_t& lo, uint32_t& hi, uint32_t a, uint32_t b, uint32_t clo, uint32_t chi) {
  mad(lo, hi, a, b, clo, chi, carry(), false);
}
inline void mul_pair(uint32_t& lo, uint32_t& hi, uint32_t a, uint32_t b) {
  uint64_t p = uint64_t(a) * b;
  lo = uint32_t(p);
  hi = uint32_t(p >> 32);
}

}  // namespace ptx
}  // namespace fg
