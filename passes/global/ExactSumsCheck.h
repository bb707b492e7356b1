//===- ExactSumsCheck.h - Whether a step has the same bits on any number of ranks ---------===//
//
// 'sbp-exact-sums' makes a function's sums over its batch of parts that have no rounding. That its bits do not depend
// on the number of ranks takes two things more, of the signatures that ranks are given along the axis of the batch:
// addends are of the rows of one micro-batch and rank, and ranks add up nothing but parts.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_EXACTSUMSCHECK_H
#define SPLITCAST_PASSES_GLOBAL_EXACTSUMSCHECK_H

#include "passes/global/MicroBatchRows.h"

namespace splitcast {

class ExactSumsCheck {
public:
  /// Of a function as 'sbp-exact-sums' and 'sbp-split-steps' have made it, before values have signatures; nothing for
  /// one that promises no exact sums. Failure, after an error, when it has no such axis or batch.
  static mlir::FailureOr<std::optional<ExactSumsCheck>> of(mlir::func::FuncOp function, sbp::PlacementAttr placement);

  /// Of its ops, which now have signatures, with boxings between them. An error names what would differ.
  mlir::LogicalResult verify(mlir::Block &body) const;

private:
  ExactSumsCheck(std::string name, int64_t axis, bool isOfOneRank, MicroBatchRows rows)
      : name(std::move(name)), axis(axis), isOfOneRank(isOfOneRank), rows(std::move(rows)) {}

  sbp::Sbp entryOf(mlir::Value value) const;
  mlir::LogicalResult verifyRounding(mlir::Operation *op) const;
  mlir::LogicalResult verifyRows(mlir::Operation *op) const;

  std::string name; ///< of the axis that splits the batch
  int64_t axis;
  bool isOfOneRank; ///< along it
  MicroBatchRows rows;
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_EXACTSUMSCHECK_H
