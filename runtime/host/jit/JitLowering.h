//===- JitLowering.h - From a kernel's dialects to the LLVM dialect ----------===//
#ifndef SPLITCAST_RUNTIME_HOST_JIT_JITLOWERING_H
#define SPLITCAST_RUNTIME_HOST_JIT_JITLOWERING_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace splitcast::runtime {

/// Registers the dialects that a kernel's source may use, and those that its lowering to LLVM needs.
void registerLoweringDialects(mlir::DialectRegistry &registry);

/// Adds the passes that lower a module of kernel sources (JitKernelSource.h) to the LLVM dialect alone. Rounding stays
/// as written: bf16 and f16 arithmetic is done in f32 and rounded after every op, and nothing is contracted or
/// reassociated.
void buildLoweringPipeline(mlir::OpPassManager &passes);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_JIT_JITLOWERING_H
