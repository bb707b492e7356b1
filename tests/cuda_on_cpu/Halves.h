//===- Halves.h - bf16 and f16, widened and rounded -------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_CUDA_ON_CPU_HALVES_H
#define SPLITCAST_TESTS_CUDA_ON_CPU_HALVES_H

#include <cstdint>
#include <cstring>

namespace splitcast::cuda_on_cpu {

inline float fromHalf(uint16_t bits) {
  _Float16 value;
  std::memcpy(&value, &bits, sizeof(value));
  return static_cast<float>(value);
}
inline uint16_t toHalf(float value) {
  const auto rounded = static_cast<_Float16>(value);
  uint16_t bits;
  std::memcpy(&bits, &rounded, sizeof(bits));
  return bits;
}
inline float fromBrain(uint16_t bits) {
  const uint32_t wide = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}
inline uint16_t toBrain(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if (value != value)
    return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_HALVES_H
