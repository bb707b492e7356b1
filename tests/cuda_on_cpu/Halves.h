//===- Halves.h - Converts the bits of f16 and bf16 to f32 and back -----------------------------------------===//
//
// For the emulated libraries. It converts like PTX (ptx/PtxFloat.h).
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_CUDA_ON_CPU_HALVES_H
#define SPLITCAST_TESTS_CUDA_ON_CPU_HALVES_H

#include "tests/cuda_on_cpu/ptx/PtxFloat.h"

namespace splitcast::cuda_on_cpu {

inline float fromHalf(uint16_t bits) { return static_cast<float>(widened(Half{bits})); }
inline float fromBrain(uint16_t bits) { return static_cast<float>(widened(Bfloat{bits})); }
inline uint16_t toHalf(float value) { return narrowed<Half>(value, Rounding::Nearest).bits; }
inline uint16_t toBrain(float value) { return narrowed<Bfloat>(value, Rounding::Nearest).bits; }

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_HALVES_H
