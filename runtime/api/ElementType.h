//===- ElementType.h - The type of a buffer's elements ---------------------===//
#ifndef SPLITCAST_RUNTIME_API_ELEMENTTYPE_H
#define SPLITCAST_RUNTIME_API_ELEMENTTYPE_H

#include <cstdint>

namespace splitcast::runtime {

/// I1 takes a byte, which is 0 or 1. Nobody checks this, neither a reader of files nor a kernel, and what a kernel
/// computes with another byte is unknown.
enum class ElementType { F32, F64, BF16, F16, I32, I64, I8, I1 };

/// Returns the bytes of one element.
constexpr int64_t bytesOf(ElementType type) {
  switch (type) {
  case ElementType::F64:
  case ElementType::I64:
    return 8;
  case ElementType::F32:
  case ElementType::I32:
    return 4;
  case ElementType::BF16:
  case ElementType::F16:
    return 2;
  case ElementType::I8:
  case ElementType::I1:
    return 1;
  }
  return 0;
}

constexpr bool isFloat(ElementType type) {
  return type == ElementType::F32 || type == ElementType::F64 || type == ElementType::BF16 || type == ElementType::F16;
}

/// Returns the name that the IR uses: "f32" and so on.
constexpr const char *nameOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return "f32";
  case ElementType::F64:
    return "f64";
  case ElementType::BF16:
    return "bf16";
  case ElementType::F16:
    return "f16";
  case ElementType::I32:
    return "i32";
  case ElementType::I64:
    return "i64";
  case ElementType::I8:
    return "i8";
  case ElementType::I1:
    return "i1";
  }
  return "";
}

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_ELEMENTTYPE_H
