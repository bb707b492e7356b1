//===- WideFloats.h - Sums of small floats --------------------------------------------===//
//
// Functions that add up f16 or bf16 compute in f32 until their result: a small float represents neither the sum of many
// elements nor, in f16, the square of 300.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_GRAPH_WIDEFLOATS_H
#define SPLITCAST_COMPILER_GRAPH_WIDEFLOATS_H

#include "compiler/graph/Graph.h"

namespace splitcast {

inline ElementType wideType(ElementType type) { return type == ElementType::F64 ? ElementType::F64 : ElementType::F32; }

/// Returns the tensor in this type; an invalid one as it is.
inline Tensor as(const Tensor &x, ElementType type, Caller at) {
  return !x.isValid() || x.type() == type ? x : cast(x, type, at);
}

/// Returns the tensor, in f32 if it is of small floats.
inline Tensor wide(const Tensor &x, Caller at) {
  const bool isSmall = x.isValid() && (x.type() == ElementType::F16 || x.type() == ElementType::BF16);
  return isSmall ? cast(x, ElementType::F32, at) : x;
}

} // namespace splitcast

#endif // SPLITCAST_COMPILER_GRAPH_WIDEFLOATS_H
