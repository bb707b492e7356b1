//===- BoxingModule.h - Boxings of sums, as modules ------------------------------------===//
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

/// Tensors of one shape on a mesh with axes a0, a1 and so on. What is boxed is the sum of an argument over its first
/// dimension, of which there are so many: so it can have addends.
struct BoxingModule {
  static constexpr int64_t kAddends = 5;

  std::vector<int64_t> mesh;
  sbp::Shape shape;
  bool withCoordinates = false; ///< whether signatures may be at the first or last coordinate of an axis, too

  sbp::Shape argumentShape() const;
  /// From each signature to each other one that has no addends.
  std::vector<BoxingPair> allPairs() const;
  /// A function @f0, @f1 and so on for each pair.
  std::string functions(const std::vector<BoxingPair> &pairs) const;
  /// One function @boxings with an argument and a result for each pair, "arg0", "result0" and so on.
  std::string oneFunction(const std::vector<BoxingPair> &pairs) const;

private:
  std::string placementText() const;
  std::vector<sbp::NdSbp> signatures(bool withPartial) const;
  std::string argumentType(const BoxingPair &pair) const;
  std::string resultType(const BoxingPair &pair) const;
  /// Ops that make %z of %x, each followed by the number.
  std::string ops(const BoxingPair &pair, size_t number) const;
};

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_BOXINGMODULE_H
