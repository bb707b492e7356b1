//===- PtxFloat.h - Floating-point arithmetic as PTX defines it ------------------------------===//
#ifndef SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXFLOAT_H
#define SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXFLOAT_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace splitcast::cuda_on_cpu {

/// Rounding to the nearest (ties to even), towards zero, towards -infinity, and towards +infinity.
enum class Rounding : uint8_t { Nearest, Zero, Down, Up };

struct Half {
  static constexpr int kExponentBits = 5, kFractionBits = 10;
  uint16_t bits;
};
struct Bfloat {
  static constexpr int kExponentBits = 8, kFractionBits = 7;
  uint16_t bits;
};
/// Two numbers in one register.
template <class T> struct Two {
  T low, high;
};
template <class T> constexpr bool isNarrow = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;

template <class To, class From> To bitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

inline double widened(double value) { return value; }
inline double widened(float value) { return value; }
inline double widened(Bfloat value) { return bitsAs<float>(static_cast<uint32_t>(value.bits) << 16); }
inline double widened(Half value) {
  const uint32_t exponent = value.bits >> 10 & 31, fraction = value.bits & 1023;
  const float magnitude = exponent == 0    ? static_cast<float>(fraction) * 0x1p-24F
                          : exponent == 31 ? bitsAs<float>(0x7F800000 | fraction << 13)
                                           : bitsAs<float>((exponent + 112) << 23 | fraction << 13);
  return (value.bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/// Converts to T with a single rounding. A NaN becomes the canonical NaN.
template <class T> T narrowed(double value, Rounding rounding) {
  constexpr int fractionBits = T::kFractionBits, least = 2 - (1 << (T::kExponentBits - 1));
  constexpr uint64_t infinity = uint64_t{(1 << T::kExponentBits) - 1} << fractionBits;
  const auto bits = bitsAs<uint64_t>(value);
  const bool negative = bits >> 63 != 0;
  const auto sign = static_cast<uint16_t>(negative ? 0x8000 : 0);
  if (std::isnan(value))
    return {0x7FFF};
  if (std::isinf(value))
    return {static_cast<uint16_t>(sign | infinity)};
  // value = mantissa * 2^(exponent - 52)
  const int field = static_cast<int>(bits >> 52 & 2047), exponent = (field == 0 ? 1 : field) - 1023;
  const uint64_t mantissa = (bits & ((uint64_t{1} << 52) - 1)) | (field == 0 ? 0 : uint64_t{1} << 52);
  const int normal = exponent < least ? least : exponent;
  int shift = normal - fractionBits - (exponent - 52);
  shift = shift > 63 ? 63 : shift; // the value is far below the smallest number: only the rounding's direction matters
  const uint64_t lost = mantissa & ((uint64_t{1} << shift) - 1), half = uint64_t{1} << (shift - 1);
  uint64_t kept = mantissa >> shift;
  const bool up = rounding == Rounding::Nearest ? lost > half || (lost == half && (kept & 1) != 0)
                  : rounding == Rounding::Zero  ? false
                                                : lost != 0 && negative == (rounding == Rounding::Down);
  kept += static_cast<uint64_t>(up);
  uint64_t code = (static_cast<uint64_t>(normal - least) << fractionBits) + kept;
  if (code >= infinity) {
    const bool away =
        rounding == Rounding::Nearest || (rounding != Rounding::Zero && negative == (rounding == Rounding::Down));
    code = away ? infinity : infinity - 1;
  }
  return {static_cast<uint16_t>(sign | code)};
}

/// Rounds `exact` to T. It is exact: a value, sum or product that long double, with 64 bits of precision, can
/// represent.
template <class T> T roundedFrom(long double exact, Rounding rounding) {
  T value = static_cast<T>(exact);
  const auto back = static_cast<long double>(value);
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (rounding == Rounding::Nearest || std::isnan(value) || back == exact)
    return value;
  const bool isAbove = back > exact, towardsZero = rounding == Rounding::Zero;
  if (isAbove && (rounding == Rounding::Down || (towardsZero && exact > 0)))
    return std::nextafter(value, -infinity);
  if (!isAbove && (rounding == Rounding::Up || (towardsZero && exact < 0)))
    return std::nextafter(value, infinity);
  return value;
}

/// Makes a NaN canonical: a GPU's 32-bit arithmetic has only one NaN.
inline float canonical(float value) { return value != value ? bitsAs<float>(0x7FFFFFFFU) : value; }
inline double canonical(double value) { return value; }

/// Returns a * b + c, rounded to odd. Rounding this result to fewer bits is like a single rounding of the exact value.
inline double fusedToOdd(double a, double b, double c) {
  const double product = a * b; // exact, since a and b come from Half or Bfloat
  const double sum = product + c;
  if (!std::isfinite(sum))
    return sum;
  const double back = sum - product, error = (product - (sum - back)) + (c - back);
  auto bits = bitsAs<uint64_t>(sum);
  if (error != 0 && sum != 0) {
    bits -= static_cast<uint64_t>((error > 0) != (sum > 0));
    bits |= 1;
  }
  return bitsAs<double>(bits);
}

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_PTX_PTXFLOAT_H
