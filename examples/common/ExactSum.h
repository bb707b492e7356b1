//===- ExactSum.h - Sums that no order of addition changes ---------------------===//
//
// A fixed-point number wide enough for every double: addends are added without rounding, and the sum is rounded once.
// So the sum of a model's parameters is the same in every digit, however they are divided over ranks.
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
  /// An addend that is not finite makes the sum NaN.
  void add(double addend);
  void add(const ExactSum &other);
  /// The sum, rounded to nearest even; infinite where it is too large.
  double value() const;

  /// As text, for another process.
  std::string encode() const;
  /// Of what encode() gave; anything else gives a sum that is NaN.
  static ExactSum decode(const std::string &text);

private:
  /// Digits of 32 bits, lowest first, of which the first counts in 2^-1074. Digits may be negative or larger than 32
  /// bits until they are carried; 66 hold every double and the carries of 2^60 addends.
  static constexpr int kDigits = 68;
  void carry();

  std::array<int64_t, kDigits> digits = {};
  int64_t uncarried = 0; ///< addends since the last carry
  bool isNan = false;
};

} // namespace splitcast

#endif // SPLITCAST_EXAMPLES_COMMON_EXACTSUM_H
