//===- OpLoops.h - How an op runs over its data ----------------------------------------===//
#ifndef SPLITCAST_PASSES_LOCAL_OPLOOPS_H
#define SPLITCAST_PASSES_LOCAL_OPLOOPS_H

#include "passes/local/DeviceTraits.h"

#include "dialects/nn/Nn.h"
#include "dialects/sbp/algebra/Sizes.h"

#include "mlir/IR/Operation.h"

#include "llvm/ADT/SmallVector.h"

namespace splitcast {

/// How an op runs over its data, according to its loop factors. This decides with which ops it can share a kernel.
enum class LoopPattern {
  Elementwise, ///< one element of each result is made of one element of each operand, whose place is known
  Rows,        ///< elements or one value are made per row; the rows are independent
  Columns,     ///< sums over the rows
  Reduction,   ///< anything else
};

/// The properties of an op that fusing needs.
struct OpLoops {
  LoopPattern pattern = LoopPattern::Reduction;
  sbp::Shape shape; ///< the shape of the loops: that of the result, or for reductions that of the widest operand
  /// Per operand, whether a row nest that makes it reads it at the same place: in the order of the loops, from the
  /// first on. In a square tensor, a transposed operand has the same extents, and so has a value per column, but the
  /// element belongs to another row; and sums that another place needs would be made in another order.
  llvm::SmallVector<bool> isOrderly;

  explicit OpLoops(mlir::Operation *op);
};

/// Whether a kernel computes the op, perhaps with others, and no library does.
bool isFusible(mlir::Operation *op, const DeviceTraits &traits);

/// Whether a kernel that reads the slice does so in vectors. Such a slice is elementwise, though it reads other places.
bool slicesAlongRows(nn::SliceOp slice);

/// Whether an attribute may name dimensions or places, as a permutation does. Floats, types and flags do not.
bool namesDimensions(mlir::Operation *op);

/// Whether the op only extends elements: the result has the same values and takes more bytes.
bool onlyExtends(mlir::Operation *op);

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_OPLOOPS_H
