//===- Rounding.h - Doubles and 64-bit integers as the types of the IR --------===//
//
// One rounding after an operation in double is what the operation in the narrower type gives: +, -, *, / and square
// root of values of p bits, computed with at least 2p + 2 bits, are not rounded twice (Figueroa 1995). Functions such
// as exp are thereby nearly always correctly rounded.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_ROUNDING_H
#define SPLITCAST_TESTS_REFERENCE_ROUNDING_H

#include "tests/reference/Tensor.h"

namespace splitcast::reference {

enum class Format : uint8_t { F64, F32, BF16, F16 };

/// Format in which values of a floating-point type are held.
Format formatOf(mlir::Type type, Precision precision);

/// bf16 and f16: to nearest, ties to even; what is too large becomes infinite, and there are subnormals.
double roundToHalf(Format format, double value);

/// The number of `format` that is nearest to `value`, ties to even.
inline double roundTo(Format format, double value) {
  if (format == Format::F64)
    return value;
  if (format == Format::F32)
    return static_cast<float>(value);
  return roundToHalf(format, value);
}

/// Every floating-point element rounded to its type; integers stay.
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
