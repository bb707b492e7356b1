//===- KernelEmitter.h - From a fusion to a kernel -----------------------------------------===//
//
// `exec-lower` makes kernels with an emitter per kind of device (HostKernelEmitter.h, GpuKernelEmitter.h). All emitters
// start from the same definition of the ops (KernelForm.h, ElementEvaluator.h) and differ in the loops around it.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_KERNELEMITTER_H
#define SPLITCAST_PASSES_PLAN_KERNELEMITTER_H

#include "dialects/nn/Nn.h"
#include "passes/local/DeviceTraits.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace splitcast {

/// Appends the kernel @name to the module at the builder's insertion point. For `tied` see KernelArguments.h (requires
/// KernelForm::mayTie). `alignments` are those of the addresses of the kernel's arguments, in order, in bytes.
///   Errors  after a diagnostic, if an op's linalg definition has a form that the emitter does not know.
using EmitKernel = mlir::FailureOr<mlir::func::FuncOp> (*)(mlir::OpBuilder &builder, llvm::StringRef name,
                                                           nn::FusionOp fusion, llvm::ArrayRef<int64_t> tied,
                                                           llvm::ArrayRef<int64_t> alignments);

struct KernelEmitter {
  EmitKernel emit;
  /// Returns the bytes of the workspace that the kernel of this fusion takes as its last argument; 0: it takes none.
  int64_t (*workspaceBytes)(nn::FusionOp fusion);
};

KernelEmitter kernelEmitterOf(const DeviceTraits &traits);

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_KERNELEMITTER_H
