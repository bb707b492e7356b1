//===- Compile.h - From a global module to the plan of a rank ---------------------===//
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

  /// Returns options with stage 0 for all variables for which the module's groups and variables set no stage.
  static sbp::ZeroOptions withoutZero();
};

/// Returns the module at the end of the global level. `source` is not changed.
///   Errors  InvalidArgument, with the compiler's diagnostics.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> compileGlobal(mlir::ModuleOp source, const CompileOptions &options);

/// Returns the plan of one rank. `global` is the result of compileGlobal.
///   Errors  InvalidArgument, with the compiler's diagnostics.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> compilePlan(mlir::ModuleOp global, const CompileOptions &options,
                                                              int64_t rank);

/// Moves the named storages of a plan into spaces that ranks share. They are the storages of which all ranks of a group
/// have found that one copy suffices (exec::sharedStoragesOf).
///   Errors  InvalidArgument, with the compiler's diagnostics.
absl::Status shareStorages(mlir::ModuleOp plans, const std::vector<std::string> &storages);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_COMPILE_H
