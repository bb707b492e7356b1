//===- Passes.h - Passes on global tensors --------------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_PASSES_H
#define SPLITCAST_PASSES_GLOBAL_PASSES_H

#include "dialects/nn/Nn.h"
#include "dialects/sbp/Sbp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace splitcast {

#define GEN_PASS_DECL
#include "passes/global/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/global/Passes.h.inc"

/// 'sbp-zero-storage' with these defaults for what variables and groups do not say.
std::unique_ptr<mlir::Pass> createZeroStoragePass(const sbp::ZeroOptions &options);

/// Whether the module has one placement, and functions of ranked tensors only: what passes rely on that index
/// signatures by the placement's axes, on decided modules and others.
mlir::LogicalResult verifyModule(mlir::ModuleOp module);

/// Whether variables agree with each other: states of one variable have distinct roles, and what shares a bucket lies
/// apart in it and alike.
mlir::LogicalResult verifyVariables(mlir::ModuleOp module);

/// Whether each schedule assigns what is carried before it reads it, no function beside reads it, and what a kept run
/// makes stays as it is.
mlir::LogicalResult verifyCarried(mlir::ModuleOp module);

/// What 'sbp-verify-global' checks.
mlir::LogicalResult verifyGlobal(mlir::ModuleOp module);

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_PASSES_H
