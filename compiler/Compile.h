//===- Compile.h - From a global module to the plan of a rank ---------------------===//
//
// Results are in the context of the module that they are made from, which outlives them. Only one thread at a time may
// compile modules of one context: what is wrong is collected from the context's diagnostics.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_COMPILE_H
#define SPLITCAST_COMPILER_COMPILE_H

#include "dialects/sbp/algebra/Policy.h"

#include "absl/status/statusor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace splitcast {

struct CompileOptions {
  sbp::ZeroOptions zero = withoutZero();
  /// The file to which the module and the passes are written if a pass fails or crashes, for `splitcast-opt FILE
  /// --run-reproducer`; if empty, none is written. If a file is set, LLVM handles the signals of crashes in this
  /// process from the first compilation on.
  std::string reproducer;

  /// Returns options with stage 0 for all variables for which the module's groups and variables set no stage.
  static sbp::ZeroOptions withoutZero();
};

/// Returns the module at the end of the global level, which is the same on all ranks. `source` is not changed. No
/// memory limit is heeded: that is for sessions (ZeroOptions::memoryLimit).
///   Errors  InvalidArgument, with the compiler's diagnostics.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> compileGlobal(mlir::ModuleOp source, const CompileOptions &options);

/// Returns the module once it is decided what is computed and where variables are stored, before signatures of other
/// values and communication (buildStoragePipeline). `source` is not changed.
///   Errors  InvalidArgument, with the compiler's diagnostics.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> compileStorage(mlir::ModuleOp source, const CompileOptions &options);

/// Returns the program of one rank, at the end of the local level. The parameters are those of compilePlan.
///   Errors  InvalidArgument, with the compiler's diagnostics.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> compileLocal(mlir::ModuleOp global, const CompileOptions &options,
                                                               int64_t rank);

/// Returns the plan of one rank, a number of the job's (not a position of the placement). `global` is the result of
/// compileGlobal with the same options, and is not changed.
///   Errors  InvalidArgument, with the compiler's diagnostics.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> compilePlan(mlir::ModuleOp global, const CompileOptions &options,
                                                              int64_t rank);

/// Moves the named storages of a plan into spaces that ranks share. They are the storages of which all ranks of a group
/// have found that one copy suffices (exec::sharedStoragesOf). With no names it does nothing.
///   Errors  InvalidArgument, with the compiler's diagnostics; the plan may then be changed in part.
absl::Status shareStorages(mlir::ModuleOp plans, const std::vector<std::string> &storages);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_COMPILE_H
