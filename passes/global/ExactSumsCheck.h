//===- ExactSumsCheck.h - Checks that a step has the same bits on any number of ranks ---------===//
//
// 'sbp-exact-sums' makes a function's sums over its batch of parts whose sums are exact. Its bits are independent of
// the number of ranks only if two more conditions hold for the signatures along the axis of the batch: each addend is
// computed from the rows of one micro-batch and rank, equally many of all, and ranks add up only parts.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_EXACTSUMSCHECK_H
#define SPLITCAST_PASSES_GLOBAL_EXACTSUMSCHECK_H

#include "dialects/sbp/algebra/Solver.h"
#include "passes/global/MicroBatchRows.h"

namespace splitcast {

class ExactSumsCheck {
public:
  /// Creates the check for a function after 'sbp-exact-sums' and 'sbp-split-steps', before values have signatures;
  /// nothing if the function does not promise exact sums. Fails, after an error, if it has no such axis or batch.
  static mlir::FailureOr<std::optional<ExactSumsCheck>> of(mlir::func::FuncOp function, sbp::PlacementAttr placement);

  /// Returns the row along the axis with which each rank computes its own rows of the batch; nothing for an op that
  /// does not depend on them, or computes a sum over them.
  std::optional<sbp::AxisRow> rowOf(mlir::Operation *op) const;

  /// Verifies the ops of the function, which now have signatures, with boxings between them. The error names the op
  /// whose bits would differ.
  mlir::LogicalResult verify(mlir::Block &body) const;

private:
  ExactSumsCheck(std::string name, int64_t axis, bool isOfOneRank, MicroBatchRows rows)
      : name(std::move(name)), axis(axis), isOfOneRank(isOfOneRank), rows(std::move(rows)) {}

  sbp::Sbp entryOf(mlir::Value value) const;
  bool isEven(mlir::Value value) const;
  mlir::LogicalResult verifyRounding(mlir::Operation *op) const;
  mlir::LogicalResult verifyRows(mlir::Operation *op) const;

  std::string name; ///< the name of the axis that splits the batch
  int64_t axis;
  bool isOfOneRank; ///< whether the axis has one rank
  MicroBatchRows rows;
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_EXACTSUMSCHECK_H
