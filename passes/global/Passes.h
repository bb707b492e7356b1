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

/// Creates 'sbp-zero-storage' with these defaults for decisions that variables and groups leave open.
std::unique_ptr<mlir::Pass> createZeroStoragePass(const sbp::ZeroOptions &options);

/// Verifies that the module has one placement, and only functions of ranked tensors. Passes that index signatures by
/// the placement's axes rely on this, for decided modules and others.
mlir::LogicalResult verifyModule(mlir::ModuleOp module);

/// Verifies that variables agree with each other: states of one variable have distinct roles, and variables of one
/// bucket do not overlap and lie alike.
mlir::LogicalResult verifyVariables(mlir::ModuleOp module);

/// Verifies that each schedule assigns a carried variable before it reads it, that no other function reads it, and that
/// no other run changes what a kept run makes.
mlir::LogicalResult verifyCarried(mlir::ModuleOp module);

/// Verifies that ops that are computed again from fenced values, and whose sums round, have the signatures of the ops
/// that computed the same first. Requires that all tensors have signatures.
mlir::LogicalResult verifyRepeats(mlir::ModuleOp module);
/// The same of the block of a function. Values without a signature are none that sums round.
mlir::LogicalResult verifyRepeats(mlir::Block &block);

/// Verifies what 'sbp-verify-global' checks.
mlir::LogicalResult verifyGlobal(mlir::ModuleOp module);

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_PASSES_H
