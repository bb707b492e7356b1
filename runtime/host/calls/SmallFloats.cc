#include "runtime/host/calls/SmallFloats.h"

#include "runtime/api/SmallFloat.h"

namespace splitcast::runtime {
namespace {

// Each function is compiled once per instruction set. All do the same
// operations, in registers of different width.
#define SPLITCAST_SMALL_FLOATS(NAME, TARGET)                                                                           \
  template <typename Small>                                                                                            \
  __attribute__((TARGET)) void widen##NAME(const uint16_t *__restrict from, float *__restrict to, int64_t count) {     \
    for (int64_t i = 0; i < count; ++i)                                                                                \
      to[i] = Small::widen(from[i]);                                                                                   \
  }                                                                                                                    \
  template <typename Small>                                                                                            \
  __attribute__((TARGET)) void round##NAME(const float *__restrict from, uint16_t *__restrict to, int64_t count) {     \
    for (int64_t i = 0; i < count; ++i)                                                                                \
      to[i] = Small::round(from[i]);                                                                                   \
  }
SPLITCAST_SMALL_FLOATS(Plain, noinline)
SPLITCAST_SMALL_FLOATS(Avx2, target("avx2"))
SPLITCAST_SMALL_FLOATS(Avx512, target("avx512f,avx512vl,avx512dq,avx512bw"))

template <typename Small> SmallFloats forThisCpu() {
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw"))
    return {widenAvx512<Small>, roundAvx512<Small>};
  if (__builtin_cpu_supports("avx2"))
    return {widenAvx2<Small>, roundAvx2<Small>};
  return {widenPlain<Small>, roundPlain<Small>};
}

} // namespace

SmallFloats SmallFloats::of(ElementType type) {
  return type == ElementType::BF16 ? forThisCpu<BFloat16>() : forThisCpu<Float16>();
}

} // namespace splitcast::runtime
