//===- Compile.h - From a global module to the plan of a rank ---------------------===//
#ifndef SPLITCAST_COMPILER_COMPILE_H
#define SPLITCAST_COMPILER_COMPILE_H

#include "absl/status/statusor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace splitcast {

/// What a user says of ZeRO; see `enable-zero`.
struct EnableZero {
  int stage = 2;
  std::string axis = "";
  std::string strategy = "bucket";
  int64_t bucketBytes = 0;
  bool keepLast = true;
  /// A function that assigns nothing keeps what it gathers, up to so many bytes in all, between its runs.
  int64_t holdGathersBytes = int64_t{256} << 20;
};

struct CompileOptions {
  EnableZero zero{0};
  int64_t prefetch = 1;
};

/// The module at the end of the global level; `source` stays as it is.
///   Errors  InvalidArgument, with the compiler's diagnostics.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> compileGlobal(mlir::ModuleOp source, const CompileOptions &options);

/// The plan of one rank, from what compileGlobal gave.
///   Errors  InvalidArgument, with the compiler's diagnostics.
absl::StatusOr<mlir::OwningOpRef<mlir::ModuleOp>> compilePlan(mlir::ModuleOp global, const CompileOptions &options,
                                                              int64_t rank);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_COMPILE_H
