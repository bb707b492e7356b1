//===- KernelEmitter.h - A fusion as loops --------------------------------------------===//
//
// Turns what one kernel computes into scf loops over memrefs. It is driven by demand: to store an element of a result,
// it asks for the element of the op that makes it, which asks for those of its operands, inlining the bodies of the
// ops' linalg definitions. So nothing between is ever stored, and fusing is no transformation of its own.
//
// Skeletons, chosen by a reduction's innermost loop:
//   elementwise       one loop per dimension; LLVM vectorizes the innermost
//   row reduction     over the innermost dimension, in kLanes explicit lanes that are added in a fixed tree at the end;
//                     what a row needs of it is computed once per row
//   column reduction  over outer dimensions, kLanes columns side by side, rows in ascending order
// The lanes and trees depend on nothing but the shape: a kernel gives the same bits on every CPU, and whatever it is
// fused with.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_KERNELEMITTER_H
#define SPLITCAST_PASSES_PLAN_KERNELEMITTER_H

#include "dialects/nn/Nn.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace splitcast {

/// Elements that a reduction adds side by side.
inline constexpr int64_t kLanes = 16;

/// Whether every result's element needs of each operand of the same shape only the element at its own place: then a
/// result may be computed in place of such an operand.
bool isElementwise(nn::FusionOp fusion);

/// Appends the kernel @name to the module at `builder`'s insertion point. Its arguments are the operands that no result
/// is computed in place of, in order, then the results; tied[i] is the operand that result i is computed in place of,
/// or -1 (requires isElementwise).
///   Errors  after a diagnostic: an op's linalg definition has a form that is not known here.
mlir::FailureOr<mlir::func::FuncOp> emitKernel(mlir::OpBuilder &builder, llvm::StringRef name, nn::FusionOp fusion,
                                               llvm::ArrayRef<int64_t> tied);

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_KERNELEMITTER_H
