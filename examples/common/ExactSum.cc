#include "examples/common/ExactSum.h"

#include <cmath>
#include <limits>
#include <sstream>

namespace splitcast {
namespace {

constexpr int64_t kBase = int64_t{1} << 32;
constexpr int kLowestExponent = -1074;
/// Each addend changes a digit by less than 2^32, so int64_t does not overflow.
constexpr int64_t kAddendsBetweenCarries = int64_t{1} << 30;

} // namespace

void ExactSum::add(double addend) {
  if (!std::isfinite(addend)) {
    isNan = true;
    return;
  }
  int exponent = 0;
  // |addend| = mantissa * 2^(exponent - 53), where the mantissa is an integer
  // below 2^53.
  const double fraction = std::frexp(std::fabs(addend), &exponent);
  auto mantissa = static_cast<uint64_t>(std::ldexp(fraction, 53));
  int position = exponent - 53 - kLowestExponent;
  if (position < 0) {
    // The number is subnormal, and the bits that are shifted out are zero.
    mantissa >>= -position;
    position = 0;
  }
  const int shift = position % 32;
  const int64_t sign = addend < 0 ? -1 : 1;
  auto wide = static_cast<unsigned __int128>(mantissa) << shift;
  for (int digit = position / 32; wide != 0; ++digit, wide >>= 32)
    digits[digit] += sign * static_cast<int64_t>(static_cast<uint64_t>(wide) & (kBase - 1));
  if (++uncarried == kAddendsBetweenCarries)
    carry();
}

void ExactSum::add(const ExactSum &other) {
  ExactSum carried = other;
  carried.carry();
  carry();
  for (int digit = 0; digit < kDigits; ++digit)
    digits[digit] += carried.digits[digit];
  carry();
  isNan |= other.isNan;
}

/// Brings all digits but the last into [0, 2^32). The last one keeps the sign.
void ExactSum::carry() {
  for (int digit = 0; digit + 1 < kDigits; ++digit) {
    int64_t low = ((digits[digit] % kBase) + kBase) % kBase;
    digits[digit + 1] += (digits[digit] - low) / kBase;
    digits[digit] = low;
  }
  uncarried = 0;
}

double ExactSum::value() const {
  if (isNan)
    return std::numeric_limits<double>::quiet_NaN();
  ExactSum magnitude = *this;
  magnitude.carry();
  const bool isNegative = magnitude.digits[kDigits - 1] < 0;
  if (isNegative) {
    for (int64_t &digit : magnitude.digits)
      digit = -digit;
    magnitude.carry();
  }
  int top = kDigits - 1;
  while (top > 0 && magnitude.digits[top] == 0)
    --top;
  // The top three digits have at least 65 bits. One sticky bit for all digits
  // below them suffices to round correctly.
  unsigned __int128 bits = 0;
  for (int digit = top; digit > top - 3; --digit)
    bits = (bits << 32) | static_cast<uint64_t>(digit >= 0 ? magnitude.digits[digit] : 0);
  bool isInexact = false;
  for (int digit = 0; digit <= top - 3; ++digit)
    isInexact |= magnitude.digits[digit] != 0;
  int exponent = kLowestExponent + 32 * (top - 2);
  // Shorten to 64 bits and the sticky bit, then round once: to 53 bits, or to
  // fewer if the result is subnormal.
  while (bits >> 64) {
    isInexact |= bits & 1;
    bits >>= 1;
    ++exponent;
  }
  auto rest = static_cast<uint64_t>(bits);
  int drop = rest == 0 ? 0 : std::max(0, 64 - __builtin_clzll(rest) - 53);
  drop = std::max(drop, kLowestExponent - exponent);
  if (drop > 0 && drop < 64) {
    const uint64_t half = uint64_t{1} << (drop - 1), tail = rest & ((half << 1) - 1);
    rest >>= drop;
    if (tail > half || (tail == half && (isInexact || (rest & 1))))
      ++rest;
    exponent += drop;
  }
  const double value = std::ldexp(static_cast<double>(rest), exponent);
  return isNegative ? -value : value;
}

std::string ExactSum::encode() const {
  ExactSum carried = *this;
  carried.carry();
  std::ostringstream text;
  text << (isNan ? 1 : 0);
  for (int64_t digit : carried.digits)
    text << " " << digit;
  return text.str();
}

ExactSum ExactSum::decode(const std::string &text) {
  std::istringstream words(text);
  ExactSum sum;
  int nan = 1;
  words >> nan;
  for (int64_t &digit : sum.digits)
    words >> digit;
  sum.isNan = nan != 0 || words.fail();
  return sum;
}

} // namespace splitcast
