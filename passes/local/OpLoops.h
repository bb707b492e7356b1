//===- OpLoops.h - How an op runs over its data ----------------------------------------===//
#ifndef SPLITCAST_PASSES_LOCAL_OPLOOPS_H
#define SPLITCAST_PASSES_LOCAL_OPLOOPS_H

#include "passes/local/DeviceTraits.h"

#include "dialects/sbp/algebra/Sizes.h"

#include "mlir/IR/Operation.h"

#include "llvm/ADT/SmallVector.h"

namespace splitcast {

/// How an op runs over its data, as its loop factors tell: which decides what it can share a kernel with.
enum class LoopPattern {
  Elementwise, ///< one element of each result from one of each operand
  Rows,        ///< of each row, elements or one value; the rows are independent
  Columns,     ///< sums over the rows
  Reduction,   ///< anything else
};

/// What fusing needs to know of an op.
struct OpLoops {
  LoopPattern pattern = LoopPattern::Reduction;
  sbp::Shape shape; ///< of the loops: its result's, or for reductions its widest operand's
  /// Per operand, whether a row nest reads it where it makes it: in the order of the loops, from the first on. In a
  /// square tensor a transposed or a column's element has the same extents, but is another row's; and sums that another
  /// place needs would be made in another order.
  llvm::SmallVector<bool> isOrderly;

  explicit OpLoops(mlir::Operation *op);
};

/// Whether a kernel computes the op, with others perhaps: what no library does.
bool isFusible(mlir::Operation *op, const DeviceTraits &traits);

/// Whether the result has the operand's digits, and takes more bytes.
bool onlyExtends(mlir::Operation *op);

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_OPLOOPS_H
