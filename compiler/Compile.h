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

  /// Stage 0, but where the module's groups and variables say otherwise.
  static sbp::ZeroOptions withoutZero();
};

/// The module at the end of the global level; `source` stays as it is.
///   Errors  InvalidArgument, with the compiler's diagnostics.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> compileGlobal(mlir::ModuleOp source, const CompileOptions &options);

/// The plan of one rank, from what compileGlobal gave.
///   Errors  InvalidArgument, with the compiler's diagnostics.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> compilePlan(mlir::ModuleOp global, const CompileOptions &options,
                                                              int64_t rank);

/// Of a plan, puts these storages, of which all ranks of a group find that they may have one copy
/// (exec::sharedStoragesOf), into spaces that they share.
///   Errors  InvalidArgument, with the compiler's diagnostics.
absl::Status shareStorages(mlir::ModuleOp plans, const std::vector<std::string> &storages);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_COMPILE_H
