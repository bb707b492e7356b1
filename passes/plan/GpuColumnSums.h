//===- GpuColumnSums.h - Sums over rows, as kernels for a GPU ---------------------------------===//
//
// A sum over all dimensions but the last, in one of two ways, which depend on its extents and its type alone (unless
// its addends need a reduction in the same kernel, which the passes do not make: such a sum is whole):
//
//   split   Blocks of the whole device share the rows, in parts, and the columns, in tiles. A thread adds 8 neighboring
//           columns, 16 bytes or more of a row, for all sums over these rows that the kernel makes: what they have in
//           common is loaded once. The sums of a part are added in shared memory and lie in the kernel's workspace; a
//           second launch adds the parts.
//   whole   If there are few elements, if the columns are no multiple of 8, and in f64: a block per 8 columns. For each
//   column, 128
//           threads add every 128th row each; then each warp adds its sums by shuffles, and the first warp adds those
//           of all warps, in shared memory. The second launch above adds the parts like this, too.
//
// Each addition has a fixed place in a fixed order.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_GPUCOLUMNSUMS_H
#define SPLITCAST_PASSES_PLAN_GPUCOLUMNSUMS_H

#include "passes/plan/GpuLaunches.h"

#include <vector>

namespace splitcast {

/// The columns of a thread. They take 16 bytes or more.
inline constexpr int64_t kColumnLanes = 8;

/// Whether the result is a sum over all dimensions but the last, and whether, besides, no addend needs a sum itself.
bool isColumnSum(mlir::Value result);
bool isSumOfElements(mlir::Value result);

/// Sums over the same rows that one launch computes in parts.
struct SplitSums {
  llvm::SmallVector<size_t> results; ///< their numbers in the body
  int64_t rows = 0, width = 0;
  int64_t columnThreads = 0; ///< the threads of a block that lie side by side in a row; a power of two
  int64_t rowsPerPart = 0, parts = 0;
  int64_t offset = 0; ///< of their first element in the workspace

  int64_t rowsAtOnce() const { return kThreads / columnThreads; } ///< of a block
  int64_t tileWidth() const { return columnThreads * kColumnLanes; }
  int64_t tiles() const { return (width + tileWidth() - 1) / tileWidth(); }
  /// The elements of a part in the workspace.
  int64_t slots() const { return tiles() * tileWidth(); }
  int64_t elements() const { return static_cast<int64_t>(results.size()) * parts * slots(); }
};

/// Returns those of these results that are split. The sums are f32, also those of smaller floats.
std::vector<SplitSums> splitSums(const LinalgBody &body, llvm::ArrayRef<size_t> candidates);

class GpuColumnSums : public GpuLaunches {
protected:
  using GpuLaunches::GpuLaunches;

  /// Emits the two launches of sums that are split. `workspace` has the elements that they say.
  void emitSplitSums(const SplitSums &sums, mlir::Value workspace);
  /// Emits the launch of a sum that is not split.
  void emitWholeSum(size_t result);

private:
  void emitPart(const SplitSums &sums, mlir::Value workspace, const Ids &ids);
  void storePart(const SplitSums &sums, size_t number, mlir::Value ofThread, mlir::Value workspace, const Ids &ids);
  void addPartsOf(const SplitSums &sums, mlir::Value workspace, const Ids &ids);
  void addBlock(mlir::linalg::GenericOp generic, mlir::Value ofThread, const Ids &ids,
                llvm::function_ref<void(mlir::Value)> store);
  void storeResult(size_t result, mlir::Value column, mlir::Value total);
  mlir::Type elementTypeOf(const SplitSums &sums);
  mlir::Value valueIf(mlir::Value condition, llvm::function_ref<mlir::Value()> then, mlir::Value otherwise);
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_GPUCOLUMNSUMS_H
