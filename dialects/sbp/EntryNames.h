//===- EntryNames.h - By which names callers know inputs and results ----------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ENTRYNAMES_H
#define SPLITCAST_DIALECTS_SBP_ENTRYNAMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace splitcast::sbp {

/// Of one function.
class EntryNames {
public:
  /// Looks through the schedules of the module around it.
  explicit EntryNames(mlir::func::FuncOp function);

  /// The `sbp.name` of an argument or a result; else "arg0" or "result0" and so on, counted as the function has them,
  /// or as the schedules do that run it.
  mlir::StringAttr ofInput(unsigned number);
  mlir::StringAttr ofResult(unsigned number);

private:
  mlir::func::FuncOp function;
  llvm::SmallVector<int64_t> takes, gives; ///< numbers of a schedule's inputs and results; empty: none runs it
};

/// Inputs of a function that no schedule runs, and those of a schedule, have distinct names which are not empty, and
/// so have results. What has no name is the same input or result of all schedules that run it.
mlir::LogicalResult verifyEntryNames(mlir::ModuleOp module);

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_ENTRYNAMES_H
