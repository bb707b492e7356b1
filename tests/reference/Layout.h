//===- Layout.h - Cuts global tensors into pieces, and assembles them ----------===//
//
// Pieces are in the order of the placement's positions. Position p is that of rank ranks[p], or p (Signature.h).
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_LAYOUT_H
#define SPLITCAST_TESTS_REFERENCE_LAYOUT_H

#include "tests/reference/Tensor.h"

namespace splitcast::reference {

/// The rank at a position.
int64_t rankAt(const sbp::Placement &placement, int64_t position);

/// Returns InvalidArgument unless the signature has one entry per axis, splits only dimensions that the shape has, and
/// flat splits fit into their bucket.
absl::Status checkSignature(const sbp::Shape &shape, const sbp::NdSbp &sbp, const sbp::Placement &placement);

/// Returns what each position holds of a global tensor. Along an axis with P, coordinate 0 holds the value and the
/// others hold zeros.
///   Errors  those of checkSignature.
absl::StatusOr<std::vector<Tensor>> cut(const Tensor &global, const sbp::NdSbp &sbp, const sbp::Placement &placement);

/// Returns the global tensor of `shape` from what each position holds. Addends of P are summed in the tree (TreeSum.h),
/// along the last axis first.
///   Errors  those of checkSignature. InvalidArgument: a piece has another shape or type, or integers have P. DataLoss:
///           two positions hold different bits for one element; the message names the element and the ranks.
absl::StatusOr<Tensor> assemble(std::vector<Tensor> pieces, const sbp::Shape &shape, const sbp::NdSbp &sbp,
                                const sbp::Placement &placement, Precision precision);

/// Collects the elements of one global tensor from many ranks, and checks that copies agree.
class Gather {
public:
  /// `name` is the name of the tensor in messages.
  Gather(std::string name, const sbp::Shape &shape, mlir::Type elementType);

  /// Adds the elements of a rank's piece, which starts at element `offset` of `holder`.
  ///   Errors  DataLoss: another rank has added other bits for an element.
  absl::Status add(int64_t rank, const Tensor &holder, int64_t offset, llvm::ArrayRef<sbp::Run> runs);

  /// Returns the whole tensor.
  ///   Errors  DataLoss: no rank has added an element.
  absl::StatusOr<Tensor> finish() &&;

private:
  std::string name;
  Tensor tensor;
  std::vector<int64_t> heldBy; ///< the first rank that added each element, or -1
};

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_LAYOUT_H
