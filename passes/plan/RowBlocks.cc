#include "passes/plan/RowBlocks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace splitcast {

namespace {

constexpr int64_t kUndividedRows = 256;

} // namespace

std::optional<RowBlocks> rowBlocksOf(ArrayRef<int64_t> extents) {
  int64_t rows = 1;
  for (int64_t extent : extents)
    rows *= extent;
  if (rows <= kUndividedRows)
    return std::nullopt;
  const auto wanted = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(rows))));
  // The innermost dimension that has a block's rows, together with those after it.
  RowBlocks blocks;
  blocks.dim = extents.size() - 1;
  int64_t behind = 1;
  while (extents[blocks.dim] * behind < wanted)
    behind *= extents[blocks.dim--];
  blocks.size = llvm::divideCeil(wanted, behind);
  blocks.perDim = llvm::divideCeil(extents[blocks.dim], blocks.size);
  blocks.count = rows / behind / extents[blocks.dim] * blocks.perDim;
  return blocks;
}

bool addsUp(linalg::GenericOp reduction) {
  return isa_and_nonnull<arith::AddFOp, arith::AddIOp>(
      reduction.getBody()->getTerminator()->getOperand(0).getDefiningOp());
}

} // namespace splitcast
