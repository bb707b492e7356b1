//===- SmallFloats.h - Rows of bf16 and f16 for calls that work in f32 ---------------===//
#ifndef SPLITCAST_RUNTIME_HOST_CALLS_SMALLFLOATS_H
#define SPLITCAST_RUNTIME_HOST_CALLS_SMALLFLOATS_H

#include "runtime/api/ElementType.h"

#include <cstdint>

namespace splitcast::runtime {

struct SmallFloats {
  /// Exactly.
  void (*widen)(const uint16_t *from, float *to, int64_t count);
  /// To the nearest, ties to even.
  void (*round)(const float *from, uint16_t *to, int64_t count);

  /// Requires BF16 or F16. The fastest that this CPU runs; all give the same bits.
  static SmallFloats of(ElementType type);
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_CALLS_SMALLFLOATS_H
