//===- SmallFloats.h - Converts rows of bf16 and f16 to f32 and back -----------------===//
#ifndef SPLITCAST_RUNTIME_HOST_CALLS_SMALLFLOATS_H
#define SPLITCAST_RUNTIME_HOST_CALLS_SMALLFLOATS_H

#include "runtime/api/ElementType.h"

#include <cstdint>

namespace splitcast::runtime {

struct SmallFloats {
  /// Converts `count` elements to f32, exactly.
  void (*widen)(const uint16_t *from, float *to, int64_t count);
  /// Rounds `count` elements to the nearest value, ties to even.
  void (*round)(const float *from, uint16_t *to, int64_t count);

  /// Returns the fastest implementation for BF16 or F16 that this CPU runs. All give the same bits.
  static SmallFloats of(ElementType type);
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_CALLS_SMALLFLOATS_H
