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

/// What 'sbp-localize' does, leaving `global` as it is: the programs of several ranks can be made from it.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> localize(mlir::ModuleOp global, int64_t rank);

/// The same of a module of which 'sbp-verify-global' would find nothing, or nothing but addends that functions take and
/// return: so a test sees what one op makes of them.
mlir::FailureOr<mlir::OwningOpRef<mlir::ModuleOp>> localizeVerified(mlir::ModuleOp global, int64_t rank);

/// What 'ccl-verify-local' checks of one function.
mlir::LogicalResult verifyLocal(mlir::func::FuncOp function);

/// C2 alone, and that the function has a body of one block: what every pass of this level relies on.
mlir::LogicalResult verifyStraightLine(mlir::func::FuncOp function);

/// Whether all ranks start the same collectives in the same order: kinds, names, groups, blocks and types. modules[r]
/// is the program of rank r; an error names the first difference and the ranks that differ from most.
mlir::LogicalResult verifyCollectiveSequence(llvm::ArrayRef<mlir::ModuleOp> modules);

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_PASSES_H
