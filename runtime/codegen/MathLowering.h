//===- MathLowering.h - Lowers rounding and math functions for every device ---------===//
#ifndef SPLITCAST_RUNTIME_CODEGEN_MATHLOWERING_H
#define SPLITCAST_RUNTIME_CODEGEN_MATHLOWERING_H

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace splitcast::runtime {

/// Adds passes on a module of kernels, whatever device will run them. The result is in the dialects of the source. bf16
/// and f16 arithmetic is done in f32 and rounded after every op, and nothing is contracted or reassociated. exp, log,
/// tanh, erf and others on f32 become polynomials. Sine, cosine, square roots and functions of f64 are left to the
/// target.
///
/// `ofTarget` may add passes that replace functions of f32, and roundings of f32 to bf16, by instructions of the
/// target; these become neither polynomials nor integer arithmetic.
void buildMathPipeline(
    mlir::OpPassManager &passes,
    llvm::function_ref<void(mlir::OpPassManager &)> ofTarget = [](mlir::OpPassManager &) {});

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CODEGEN_MATHLOWERING_H
