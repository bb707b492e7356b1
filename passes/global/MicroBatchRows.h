//===- MicroBatchRows.h - How the tensors of a step lie along its micro-batches ----------===//
//
// Micro-batches are an axis of a mesh whose ranks take turns. An input that ranks split is S along it: a micro-batch is
// a part. Variables are B. So a gradient is P, an addend of each micro-batch, and where B is wanted of it, the sum over
// all of them is: what comes after belongs behind the last. Rows are chosen as for any axis
// (dialects/sbp/algebra/Solver.h).
//
//   %x              S(0)      the argument, which ranks split by rows
//   %w              B
//   %y = matmul     S(0)
//   %gw = matmul    P         %x and the gradient of %y, both S(0): summed over rows
//   update of @w    wants B   here micro-batches end
//
// What cannot be had a part at a time (a softmax over the batch, an average that is subtracted from it) is an error
// that names the op.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_MICROBATCHROWS_H
#define SPLITCAST_PASSES_GLOBAL_MICROBATCHROWS_H

#include "dialects/sbp/Sbp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace splitcast {

/// Whether a function has an update by a gradient, which is a sum over the batch.
bool updatesByGradient(mlir::func::FuncOp function);

class MicroBatchRows {
public:
  /// Of a function of one block, cut along what `axis` of the placement splits of its arguments.
  static mlir::FailureOr<MicroBatchRows> of(mlir::func::FuncOp function, int64_t microBatches, int64_t axis);

  /// How a value is made; nothing where it is made from nothing, and may be either whole or a part.
  std::optional<sbp::Sbp> made(mlir::Value value) const { return ofValues.lookup(value); }
  /// How an op wants it.
  sbp::Sbp wanted(mlir::OpOperand &use) const { return ofUses.lookup(&use); }
  /// How many loops over all micro-batches must have ended before it is there.
  int64_t level(mlir::Value value) const { return levels.lookup(value); }
  /// Whether the use is of the sum over micro-batches.
  bool isSum(mlir::OpOperand &use) const;

private:
  llvm::DenseMap<mlir::Value, std::optional<sbp::Sbp>> ofValues;
  llvm::DenseMap<mlir::OpOperand *, sbp::Sbp> ofUses;
  llvm::DenseMap<mlir::Value, int64_t> levels;

  friend class MicroBatchProblem;
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_MICROBATCHROWS_H
