//===- SmallFloat.h - bf16 and f16 as bits --------------------------------------------------------------===//
//
// `widen` to f32 is exact. `round` from f32 goes to the nearest value, ties to even; NaN stays NaN. The functions have
// no branches, so that compilers vectorize loops over them on any CPU. (f16 is IEEE 754's binary16; bf16 is the upper
// half of its binary32.)
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_API_SMALLFLOAT_H
#define SPLITCAST_RUNTIME_API_SMALLFLOAT_H

#include <cstdint>
#include <cstring>

namespace splitcast::runtime {

inline float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
inline uint32_t bitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

struct BFloat16 {
  static float widen(uint16_t bits) { return floatOf(uint32_t{bits} << 16); }
  static uint16_t round(float value) {
    const uint32_t bits = bitsOf(value), rounded = bits + 0x7fff + (bits >> 16 & 1);
    return static_cast<uint16_t>((value == value ? rounded : bits | 0x400000) >> 16);
  }
};

struct Float16 {
  static constexpr uint32_t kExponentShift = 127 - 15; ///< the difference of the exponent biases of f32 and f16

  static float widen(uint16_t bits) {
    // The multiplication adjusts the exponent, also that of subnormal f16 numbers. Infinity and NaN are made apart.
    const uint32_t magnitude = bits & 0x7fff;
    const float finite = floatOf(magnitude << 13) * floatOf((127 + kExponentShift) << 23);
    const uint32_t special = magnitude << 13 | 0x7f800000, sign = uint32_t{bits & 0x8000U} << 16;
    return floatOf((magnitude < 0x7c00 ? bitsOf(finite) : special) | sign);
  }
  static uint16_t round(float value) {
    const uint32_t bits = bitsOf(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    const uint32_t normal = (magnitude - (kExponentShift << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    // Below 2^-14 the addition rounds: the last bit of 0.5 in f32 has the weight of the last bit of a subnormal f16.
    const uint32_t subnormal = bitsOf(floatOf(magnitude) + 0.5F) - bitsOf(0.5F);
    uint32_t result = magnitude < (kExponentShift + 1) << 23 ? subnormal : normal;
    result = result < 0x7c00 ? result : 0x7c00; // infinity: from 2^16 on, or rounded up to it
    result = magnitude <= 0x7f800000 ? result : 0x7e00;
    return static_cast<uint16_t>(result | sign);
  }
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_SMALLFLOAT_H
