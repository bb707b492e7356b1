//===- Passes.h - Passes on the program of one rank -------------------------------===//
#ifndef SPLITCAST_PASSES_LOCAL_PASSES_H
#define SPLITCAST_PASSES_LOCAL_PASSES_H

#include "dialects/ccl/Ccl.h"
#include "dialects/nn/Nn.h"
#include "dialects/sbp/Sbp.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/Pass.h"

namespace splitcast {

#define GEN_PASS_DECL
#include "passes/local/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "passes/local/Passes.h.inc"

/// Does the same as 'sbp-localize', but does not change `global`, so that the programs of several ranks can be made
/// from it.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> localize(mlir::ModuleOp global, int64_t rank);

/// The same for a module in which 'sbp-verify-global' would find no error, or only that functions take and return
/// addends: so a test can see what one op makes of them.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> localizeVerified(mlir::ModuleOp global, int64_t rank);

/// Verifies one function as 'ccl-verify-local' does.
mlir::LogicalResult verifyLocal(mlir::func::FuncOp function);

/// Verifies only C2, and that the function has a body of one block; every pass of this level relies on both.
mlir::LogicalResult verifyStraightLine(mlir::func::FuncOp function);

/// Verifies that all ranks start the same collectives in the same order: kinds, names, groups, blocks and types.
/// modules[r] is the program of rank r; the error names the first difference and the ranks that differ from the
/// majority.
mlir::LogicalResult verifyCollectiveSequence(llvm::ArrayRef<mlir::ModuleOp> modules);

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_PASSES_H
