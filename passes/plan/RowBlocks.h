//===- RowBlocks.h - In which order many elements are added up ----------------------------===//
//
// The error of a sum of floats grows with the number of additions behind each other, so a sum of many rows is one of
// blocks: the rows of a block are added in ascending order, from the sum's start, and then the sums of blocks are, in
// ascending order. n rows make about sqrt(n) blocks of sqrt(n) rows (blocked summation: Higham, "The accuracy of
// floating point summation", 1993). The blocks depend on the extents alone, so that a sum has the same bits wherever it
// is computed.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_ROWBLOCKS_H
#define SPLITCAST_PASSES_PLAN_ROWBLOCKS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace splitcast {

/// A block is `size` neighboring places of dimension `dim`, with all of the dimensions after it, at one place of those
/// before it. The last block along `dim` may be smaller.
struct RowBlocks {
  size_t dim = 0;
  int64_t size = 0;
  int64_t perDim = 0; ///< blocks along `dim`
  int64_t count = 0;  ///< blocks in all
};

/// Returns the blocks of rows that lie along these dimensions, in row-major order; nothing if one after the other is
/// good enough: for up to 256 rows.
std::optional<RowBlocks> rowBlocksOf(llvm::ArrayRef<int64_t> extents);

/// Whether the reduction adds, so that it is made of blocks; a maximum is the same in any order.
bool addsUp(mlir::linalg::GenericOp reduction);

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_ROWBLOCKS_H
