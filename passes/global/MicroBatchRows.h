//===- MicroBatchRows.h - How the tensors of a step lie along its micro-batches ----------===//
//
// Micro-batches are treated as an axis of a mesh whose ranks work one after the other. An input that ranks split is S
// along this axis: each micro-batch has a part. Variables are B. So a gradient is P, an addend of each micro-batch, and
// a use that wants B wants the sum over all micro-batches: the ops after it belong after the last micro-batch. Rows are
// chosen as for any axis (dialects/sbp/algebra/Solver.h).
//
//   %x              S(0)      the argument, which ranks split by rows
//   %w              B
//   %y = matmul     S(0)
//   %gw = matmul    P         %x and the gradient of %y, both S(0): summed over rows
//   update of @w    wants B   here micro-batches end
//
// A value that cannot be computed part by part (a softmax over the batch, an average that is subtracted from it) is an
// error that names the op.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_MICROBATCHROWS_H
#define SPLITCAST_PASSES_GLOBAL_MICROBATCHROWS_H

#include "dialects/sbp/Sbp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace splitcast {

/// An attribute of each op and argument, and a mark of the function, that 'sbp-split-steps' made of a step whose sums
/// are exact: per result, and then per tensor operand, the signature along micro-batches in which the step makes or
/// wants it, or a unit for a value that is whole or a part as its uses want. The shapes of a micro-batch no longer
/// tell, since one row may be cut anywhere. 'sbp-propagate' takes the attributes off.
inline constexpr llvm::StringLiteral kBatchRowsName = "sbp.batch_rows";

/// Returns the uses of tensors by an op, whose values are sbp::tensorOperands.
llvm::SmallVector<mlir::OpOperand *> tensorUses(mlir::Operation *op);

/// Whether a function updates a variable by a gradient, which is a sum over the batch.
bool updatesByGradient(mlir::func::FuncOp function);

class MicroBatchRows {
public:
  /// Analyzes a function of one block. Its arguments are cut along the dimensions that `axis` of the placement splits.
  static mlir::FailureOr<MicroBatchRows> of(mlir::func::FuncOp function, int64_t microBatches, int64_t axis);

  /// Takes the rows that 'sbp-split-steps' stated on the ops of a function off them (kBatchRowsName); of these rows,
  /// levels are not known. An op without a statement is an error that names it.
  static mlir::FailureOr<MicroBatchRows> takeStated(mlir::func::FuncOp function);
  /// Returns the statement of values that one of `microBatches` makes so, or of results and then operands of an op.
  static mlir::ArrayAttr statement(mlir::MLIRContext *context, int64_t microBatches,
                                   llvm::ArrayRef<std::optional<sbp::Sbp>> made);

  /// Returns the entry in which a value is made; nothing for a constant, which may be either whole or a part.
  std::optional<sbp::Sbp> made(mlir::Value value) const { return ofValues.lookup(value); }
  /// Returns the entry in which an op wants its operand.
  sbp::Sbp wanted(mlir::OpOperand &use) const { return ofUses.lookup(&use); }
  /// Returns the number of loops over all micro-batches that must end before the value exists.
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
