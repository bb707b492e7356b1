//===- HostKernelEmitter.h - A fusion as loops -----------------------------------------===//
//
// Turns what one kernel computes into scf loops over memrefs, for a CPU. Elements are made on demand
// (ElementEvaluator.h), in nests that KernelForm.h chooses:
//   elementwise       one loop per dimension; LLVM vectorizes the innermost
//   row nest          all results that one walk over the rows can make: per row, reductions along it in kLanes explicit
//                     lanes that are added in a fixed tree at the end, those that need not each other in one loop; then
//                     its elements, and sums over the rows that are added up in their place
//   column reduction  where nothing else is made of the rows: kLanes columns side by side, rows in ascending order
// The lanes and trees depend on nothing but the shape: a kernel gives the same bits on every CPU, and whatever it is
// fused with. Loops whose iterations do not need each other say so (dialects/exec/Divisible.h): all outermost ones but
// those of a row nest that also sums over the rows.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_HOSTKERNELEMITTER_H
#define SPLITCAST_PASSES_PLAN_HOSTKERNELEMITTER_H

#include "dialects/nn/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace splitcast {

/// Elements that a reduction adds side by side.
inline constexpr int64_t kLanes = 16;

/// See KernelEmitter.h; alignments do not matter here.
mlir::FailureOr<mlir::func::FuncOp> emitHostKernel(mlir::OpBuilder &builder, llvm::StringRef name, nn::FusionOp fusion,
                                                   llvm::ArrayRef<int64_t> tied, llvm::ArrayRef<int64_t> alignments);

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_HOSTKERNELEMITTER_H
