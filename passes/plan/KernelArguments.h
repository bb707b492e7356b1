//===- KernelArguments.h - The arguments of a kernel ----------------------------------------------===//
//
// A kernel's arguments are memrefs, the same on every device: first the operands in whose place no result is computed,
// in order, then the results. A workspace comes last (KernelEmitter.h). tied[i] is the operand in whose place result i
// is computed, or -1.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_KERNELARGUMENTS_H
#define SPLITCAST_PASSES_PLAN_KERNELARGUMENTS_H

#include "passes/plan/KernelForm.h"

namespace splitcast {

llvm::SmallVector<mlir::Type> kernelArgumentTypes(const LinalgBody &body, const KernelForm &form,
                                                  llvm::ArrayRef<int64_t> tied);

/// Records in `memory` the memref of each operand; returns the memref of each result.
llvm::SmallVector<mlir::Value> bindKernelArguments(const LinalgBody &body, llvm::ArrayRef<int64_t> tied,
                                                   mlir::Block *entry,
                                                   llvm::DenseMap<mlir::Value, mlir::Value> &memory);

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_KERNELARGUMENTS_H
