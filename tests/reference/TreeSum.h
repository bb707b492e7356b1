//===- TreeSum.h - Sums over ranks in their fixed order ------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_TREESUM_H
#define SPLITCAST_TESTS_REFERENCE_TREESUM_H

#include "tests/reference/Tensor.h"

namespace splitcast::reference {

/// Returns the sum of one or more tensors of the same shape and floating-point type, in the order of the tree in
/// runtime/api/Communicator.h: a binary counter over the index of the addend, in which partial sums of equal height are
/// added, and the remaining ones are added from the right. Each addition is rounded to the type. bf16 and f16 are added
/// in f32, and only the sum is rounded.
Tensor treeSum(llvm::ArrayRef<Tensor> addends, Precision precision);

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_TREESUM_H
