//===- EntryNames.h - By which names callers know inputs and results ----------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ENTRYNAMES_H
#define SPLITCAST_DIALECTS_SBP_ENTRYNAMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace splitcast::sbp {

/// The `sbp.name` of an argument or a result; else "arg0" or "result0" and so on, counted as the function has them, or
/// as the first schedule counts them that runs it.
mlir::StringAttr nameOfInput(mlir::func::FuncOp function, unsigned number);
mlir::StringAttr nameOfResult(mlir::func::FuncOp function, unsigned number);

/// Inputs of a function that no schedule runs, and those of a schedule, have distinct names which are not empty, and
/// so have results.
mlir::LogicalResult verifyEntryNames(mlir::ModuleOp module);

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_ENTRYNAMES_H
