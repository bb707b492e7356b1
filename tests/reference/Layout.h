//===- Layout.h - Global tensors to pieces and back ----------------------------===//
//
// Pieces are in the order of the placement's positions; position p is held by rank ranks[p], or p (Signature.h).
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_LAYOUT_H
#define SPLITCAST_TESTS_REFERENCE_LAYOUT_H

#include "tests/reference/Tensor.h"

namespace splitcast::reference {

/// The rank that holds a position.
int64_t rankAt(const sbp::Placement &placement, int64_t position);

/// InvalidArgument unless the signature has one entry per axis and splits only dimensions that the shape has, and flat
/// splits have room in their bucket.
absl::Status checkSignature(const sbp::Shape &shape, const sbp::NdSbp &sbp, const sbp::Placement &placement);

/// What each position holds of a global tensor. Along an axis of P, coordinate 0 holds the value and the others zeros.
///   Errors  those of checkSignature.
absl::StatusOr<std::vector<Tensor>> cut(const Tensor &global, const sbp::NdSbp &sbp, const sbp::Placement &placement);

/// The global tensor of `shape` from what each position holds. Addends of P are summed in the tree, the last axis
/// first.
///   Errors  those of checkSignature. InvalidArgument: pieces of other shapes or types, or P of integers. DataLoss: two
///   positions hold different bits for one element; names element and ranks.
absl::StatusOr<Tensor> assemble(std::vector<Tensor> pieces, const sbp::Shape &shape, const sbp::NdSbp &sbp,
                                const sbp::Placement &placement, Precision precision);

/// Collects the elements of one global tensor from many ranks, and checks that copies agree.
class Gather {
public:
  /// `name` says in messages which tensor it is.
  Gather(std::string name, const sbp::Shape &shape, mlir::Type elementType);

  /// Elements of a rank's piece, which starts at element `offset` of `holder`. DataLoss where another rank gave other
  /// bits.
  absl::Status add(int64_t rank, const Tensor &holder, int64_t offset, llvm::ArrayRef<sbp::Run> runs);

  /// The whole. DataLoss when an element is held by no rank.
  absl::StatusOr<Tensor> finish() &&;

private:
  std::string name;
  Tensor tensor;
  std::vector<int64_t> heldBy; ///< per element: the first rank that gave it, or -1
};

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_LAYOUT_H
