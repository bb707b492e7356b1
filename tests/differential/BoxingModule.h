//===- BoxingModule.h - Modules that box sums ------------------------------------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_BOXINGMODULE_H
#define SPLITCAST_TESTS_DIFFERENTIAL_BOXINGMODULE_H

#include "dialects/sbp/algebra/Signature.h"

#include <string>
#include <vector>

namespace splitcast::differential {

struct BoxingPair {
  sbp::NdSbp from, to;

  std::string text() const; ///< "[P, S(0)] to [S(0), S(0)]"
};

/// Modules with tensors of one shape on a mesh with axes a0, a1 and so on. What is boxed is the sum of an argument over
/// its first dimension, whose extent is kAddends, so that it can be P.
struct BoxingModule {
  static constexpr int64_t kAddends = 5;

  std::vector<int64_t> mesh;
  sbp::Shape shape;
  bool withCoordinates = false; ///< whether signatures may also have the first or last coordinate of an axis

  sbp::Shape argumentShape() const;
  /// Boxings from each signature to each other one without P.
  std::vector<BoxingPair> allPairs() const;
  /// A module with a function for each pair: @f0, @f1 and so on.
  std::string functions(const std::vector<BoxingPair> &pairs) const;
  /// A module with one function @boxings, which has an argument and a result for each pair: "arg0", "result0" and so
  /// on.
  std::string oneFunction(const std::vector<BoxingPair> &pairs) const;

private:
  std::string placementText() const;
  std::vector<sbp::NdSbp> signatures(bool withPartial) const;
  std::string argumentType(const BoxingPair &pair) const;
  std::string resultType(const BoxingPair &pair) const;
  /// The ops that compute %z from %x; `number` is appended to both names.
  std::string ops(const BoxingPair &pair, size_t number) const;
};

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_BOXINGMODULE_H
