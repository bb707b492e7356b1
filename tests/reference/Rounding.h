//===- Rounding.h - Rounds doubles and 64-bit integers to the types of the IR -===//
//
// An operation is computed in double and rounded once to its type. For +, -, *, / and square root of values with p
// bits, computed with at least 2p + 2 bits, this gives the same result as the operation in that type (Figueroa 1995).
// For functions such as exp it gives the correctly rounded result nearly always.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_ROUNDING_H
#define SPLITCAST_TESTS_REFERENCE_ROUNDING_H

#include "tests/reference/Tensor.h"

namespace splitcast::reference {

enum class Format : uint8_t { F64, F32, BF16, F16 };

/// The format to which values of a floating-point type are rounded.
Format formatOf(mlir::Type type, Precision precision);

/// Rounds to bf16 or f16, to the nearest number, ties to even. Numbers that are too large become infinite, and there
/// are subnormals.
double roundToHalf(Format format, double value);

/// Rounds to the nearest number of `format`, ties to even.
inline double roundTo(Format format, double value) {
  if (format == Format::F64)
    return value;
  if (format == Format::F32)
    return static_cast<float>(value);
  return roundToHalf(format, value);
}

/// Rounds all floating-point elements to their type. Integers do not change.
void roundElements(Tensor &tensor, Precision precision);

/// The lowest `bits` bits, sign-extended.
inline int64_t signExtend(int64_t value, unsigned bits) {
  if (bits >= 64)
    return value;
  uint64_t shifted = static_cast<uint64_t>(value) << (64 - bits);
  return static_cast<int64_t>(shifted) >> (64 - bits);
}

/// The lowest `bits` bits as an unsigned number.
inline uint64_t zeroExtend(int64_t value, unsigned bits) {
  uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  return static_cast<uint64_t>(value) & mask;
}

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_ROUNDING_H
