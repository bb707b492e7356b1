//===- TreeSum.h - Sums over ranks in their fixed order ------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_TREESUM_H
#define SPLITCAST_TESTS_REFERENCE_TREESUM_H

#include "tests/reference/Tensor.h"

namespace splitcast::reference {

/// The sum of at least one tensor, all of one shape and floating-point type, in the tree of runtime/api/Communicator.h:
/// a binary counter over the index of the addend, in which partial sums of equal height merge and leftovers fold from
/// the right. Each addition is rounded to the type; bf16 and f16 are added in f32, and rounded once.
Tensor treeSum(llvm::ArrayRef<Tensor> addends, Precision precision);

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_TREESUM_H
