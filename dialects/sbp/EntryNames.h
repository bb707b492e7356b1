//===- EntryNames.h - The names of inputs and results for callers ----------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ENTRYNAMES_H
#define SPLITCAST_DIALECTS_SBP_ENTRYNAMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace splitcast::sbp {

/// The names of the inputs and results of one function.
class EntryNames {
public:
  /// Looks through the schedules of the function's module.
  explicit EntryNames(mlir::func::FuncOp function);

  /// The `sbp.name` of an argument or a result; if there is none, "arg0" or "result0" and so on. The number is that of
  /// the schedules that run the function, or, if there are none, the function's own.
  mlir::StringAttr ofInput(unsigned number);
  mlir::StringAttr ofResult(unsigned number);

private:
  mlir::func::FuncOp function;
  llvm::SmallVector<int64_t> takes, gives; ///< numbers in a schedule that runs it; empty if there is none
};

/// Verifies that the inputs of a schedule, and those of a function that no schedule runs, have distinct names that are
/// not empty, and likewise the results. An input or result without a name has the same number in all schedules that run
/// the function.
mlir::LogicalResult verifyEntryNames(mlir::ModuleOp module);

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_ENTRYNAMES_H
