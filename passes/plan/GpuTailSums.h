//===- GpuTailSums.h - Sums over several dimensions to the last, as kernels for a GPU ---------------===//
//
// A sum over several dimensions, the last among them, of many addends: blocks of the whole device share the addends of
// each element. A thread adds every so-many-th, so that neighboring threads read neighboring elements; then a warp adds
// by shuffles, and a block the sums of its warps, one after the other. If several blocks share an element, a second
// launch adds their sums, a warp per element. Each addition has a fixed place in a fixed order, which depends on the
// extents and the type alone.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_GPUTAILSUMS_H
#define SPLITCAST_PASSES_PLAN_GPUTAILSUMS_H

#include "passes/plan/GpuColumnSums.h"

#include <vector>

namespace splitcast {

struct TailSum {
  size_t result = 0; ///< its number in the body
  int64_t elements = 0, addends = 0;
  int64_t parts = 1;  ///< the blocks that share an element
  int64_t offset = 0; ///< of its first part in the workspace

  int64_t workspaceElements() const { return parts == 1 ? 0 : elements * parts; }
};

/// Returns those of these results that are such sums. The sums are f32, also those of smaller floats. They use the
/// workspace from the element `offset` on.
std::vector<TailSum> tailSums(const LinalgBody &body, llvm::ArrayRef<size_t> candidates, int64_t offset);

class GpuTailSums : public GpuColumnSums {
protected:
  using GpuColumnSums::GpuColumnSums;

  /// Emits the launches of a sum. `workspace` has the elements that it says; null if it needs none.
  void emitTailSum(const TailSum &sum, mlir::Value workspace);

private:
  void addBlock(mlir::linalg::GenericOp generic, mlir::Value ofThread, const Ids &ids,
                llvm::function_ref<void(mlir::Value)> store);
  void addParts(const TailSum &sum, mlir::Value workspace, const Ids &ids);
  void storeResult(const TailSum &sum, mlir::Value element, mlir::Value total);
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_GPUTAILSUMS_H
