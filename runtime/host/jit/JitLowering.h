//===- JitLowering.h - From a kernel's dialects to the LLVM dialect ----------===//
#ifndef SPLITCAST_RUNTIME_HOST_JIT_JITLOWERING_H
#define SPLITCAST_RUNTIME_HOST_JIT_JITLOWERING_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace splitcast::runtime {

/// What a kernel's source may be written in, and its way to LLVM.
void registerLoweringDialects(mlir::DialectRegistry &registry);

/// Passes on a module of kernel sources (JitKernelSource.h); the result is all in the LLVM dialect. Rounding is kept as
/// written: bf16 and f16 arithmetic is done in f32 and rounded after every op, nothing is contracted or reassociated.
void buildLoweringPipeline(mlir::OpPassManager &passes);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_JIT_JITLOWERING_H
