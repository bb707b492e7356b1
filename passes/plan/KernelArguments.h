//===- KernelArguments.h - What a kernel takes ----------------------------------------------===//
//
// A kernel's arguments, whatever it runs on: the operands that no result is computed in place of, in order, then the
// results, as memrefs. tied[i] is the operand that result i is computed in place of, or -1.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_KERNELARGUMENTS_H
#define SPLITCAST_PASSES_PLAN_KERNELARGUMENTS_H

#include "passes/plan/KernelForm.h"

namespace splitcast {

llvm::SmallVector<mlir::Type> kernelArgumentTypes(const LinalgBody &body, const KernelForm &form,
                                                  llvm::ArrayRef<int64_t> tied);

/// Says in `memory` where each operand lies; returns where each result goes.
llvm::SmallVector<mlir::Value> bindKernelArguments(const LinalgBody &body, llvm::ArrayRef<int64_t> tied,
                                                   mlir::Block *entry,
                                                   llvm::DenseMap<mlir::Value, mlir::Value> &memory);

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_KERNELARGUMENTS_H
