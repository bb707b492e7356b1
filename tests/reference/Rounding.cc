#include "tests/reference/Rounding.h"

#include <cmath>
#include <limits>

namespace splitcast::reference {

Format formatOf(mlir::Type type, Precision precision) {
  if (precision == Precision::F64 || type.isF64())
    return Format::F64;
  if (type.isF32())
    return Format::F32;
  return type.isBF16() ? Format::BF16 : Format::F16;
}

double roundToHalf(Format format, double value) {
  if (!std::isfinite(value) || value == 0.0)
    return value;
  // Bits of the significand with the leading one; exponents as std::frexp has them, of significands in [1/2, 1).
  int bits = format == Format::BF16 ? 8 : 11;
  int minExponent = format == Format::BF16 ? -125 : -13;
  int maxExponent = format == Format::BF16 ? 128 : 16;
  int exponent;
  std::frexp(value, &exponent);
  double unit = std::ldexp(1.0, std::max(exponent, minExponent) - bits);
  double rounded = std::nearbyint(value / unit) * unit;
  if (std::abs(rounded) >= std::ldexp(1.0, maxExponent))
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  return std::copysign(rounded, value);
}

void roundElements(Tensor &tensor, Precision precision) {
  if (!tensor.isFloat())
    return;
  Format format = formatOf(tensor.elementType, precision);
  for (double &element : tensor.floats)
    element = roundTo(format, element);
}

} // namespace splitcast::reference
