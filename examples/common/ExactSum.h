//===- ExactSum.h - Sums that do not depend on the order of addition -----------===//
//
// A fixed-point number that is wide enough for every double: addends are added without rounding, and only the result is
// rounded. So the sum of a model's parameters has the same bits however the parameters are split over the ranks.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_EXAMPLES_COMMON_EXACTSUM_H
#define SPLITCAST_EXAMPLES_COMMON_EXACTSUM_H

#include <array>
#include <cstdint>
#include <string>

namespace splitcast {

class ExactSum {
public:
  /// Adds a number. One that is not finite makes the sum NaN.
  void add(double addend);
  void add(const ExactSum &other);
  /// Returns the sum, rounded to the nearest double, ties to even; infinity if it is too large for a double.
  double value() const;

  /// Returns the sum as text, to be sent to another process.
  std::string encode() const;
  /// Returns the sum that encode() turned into `text`. Any other text gives a sum that is NaN.
  static ExactSum decode(const std::string &text);

private:
  /// The number of digits to base 2^32. Digits are stored lowest first, and the unit of the first is 2^-1074. Between
  /// carries, digits may be negative or exceed 32 bits. 66 digits hold every double and the carries of 2^60 addends.
  static constexpr int kDigits = 68;
  void carry();

  std::array<int64_t, kDigits> digits = {};
  int64_t uncarried = 0; ///< addends since the last carry
  bool isNan = false;
};

} // namespace splitcast

#endif // SPLITCAST_EXAMPLES_COMMON_EXACTSUM_H
