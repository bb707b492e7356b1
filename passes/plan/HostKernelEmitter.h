//===- HostKernelEmitter.h - Emits a fusion as loops -----------------------------------------===//
//
// Turns a fusion into scf loops over memrefs, for a CPU. Elements are computed on demand (ElementEvaluator.h), in nests
// that KernelForm.h chooses:
//   elementwise       one loop per dimension; LLVM vectorizes the innermost
//   row nest          all results that one walk over the rows can make: per row, reductions along it in kLanes explicit
//                     lanes that are added in a fixed tree at the end (independent ones share a loop); then its
//                     elements, and sums over the rows, which are added up in memory: of many rows in blocks
//                     (RowBlocks.h), each in its part of the kernel's workspace
//   column reduction  if nothing else is made of the rows: kLanes columns at a time
// The lanes, blocks and trees depend only on the shape: an op gives the same bits on every CPU, and with whatever ops
// it is fused. Loops whose iterations are independent are marked (dialects/exec/Divisible.h): all outermost loops
// except those of a nest of few rows that also sums over them.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_HOSTKERNELEMITTER_H
#define SPLITCAST_PASSES_PLAN_HOSTKERNELEMITTER_H

#include "dialects/nn/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace splitcast {

/// The number of lanes in which a reduction adds.
inline constexpr int64_t kLanes = 16;

/// See KernelEmitter.h; alignments are not used here.
mlir::FailureOr<mlir::func::FuncOp> emitHostKernel(mlir::OpBuilder &builder, llvm::StringRef name, nn::FusionOp fusion,
                                                   llvm::ArrayRef<int64_t> tied, llvm::ArrayRef<int64_t> alignments);

/// Returns the bytes of that kernel's workspace; 0: it has none.
int64_t hostKernelWorkspace(nn::FusionOp fusion);

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_HOSTKERNELEMITTER_H
