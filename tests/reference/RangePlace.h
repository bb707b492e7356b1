//===- RangePlace.h - The place of a member's elements in a range of a bucket ----------===//
//
// The last dimension of a range has its elements. There is a dimension before it for each other axis that splits a
// member, since the ranks along such an axis have ranges of their own (sbp.bucket).
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_RANGEPLACE_H
#define SPLITCAST_TESTS_REFERENCE_RANGEPLACE_H

#include "tests/reference/Tensor.h"

namespace splitcast::reference {

class RangePlace {
public:
  /// The place of a member of this type, from element `offset` of the range on. The ops on ranges must accept the
  /// types.
  RangePlace(mlir::RankedTensorType range, mlir::RankedTensorType member, int64_t offset);

  void copyIn(const Tensor &member, Tensor &range) const;
  void copyOut(const Tensor &range, Tensor &member) const;

private:
  std::vector<sbp::Run> runs; ///< `logical` is a place in the member, and `local` one in the range
};

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_RANGEPLACE_H
