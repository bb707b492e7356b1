//===- RangePlace.h - Where a member's elements lie in a range of a bucket -------------===//
//
// A range has its elements in the last dimension, and before it one dimension for each other axis that splits a member:
// the ranks along such an axis have ranges of their own (sbp.bucket).
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_RANGEPLACE_H
#define SPLITCAST_TESTS_REFERENCE_RANGEPLACE_H

#include "tests/reference/Tensor.h"

namespace splitcast::reference {

class RangePlace {
public:
  /// Of a member with this type, from element `offset` of the range on. Requires types that the ops on ranges accept.
  RangePlace(mlir::RankedTensorType range, mlir::RankedTensorType member, int64_t offset);

  void copyIn(const Tensor &member, Tensor &range) const;
  void copyOut(const Tensor &range, Tensor &member) const;

private:
  std::vector<sbp::Run> runs; ///< logical: in the member; local: in the range
};

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_RANGEPLACE_H
