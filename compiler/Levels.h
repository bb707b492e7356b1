//===- Levels.h - A module at each level, as text -------------------------------===//
#ifndef SPLITCAST_COMPILER_LEVELS_H
#define SPLITCAST_COMPILER_LEVELS_H

#include "compiler/Compile.h"

#include "absl/status/statusor.h"
#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace splitcast {

/// Compiles the source again, up to the end of a level: "source" (the module as the user's graph has it), "zero" (with
/// backward, updates and the storage that ZeRO gives to variables), "global" (with all signatures and explicit boxing;
/// the same on all ranks), "local" (the program of `rank`).
///   Errors  InvalidArgument: another level, or the compiler's diagnostics.
absl::StatusOr<std::string> textOfLevel(mlir::ModuleOp source, const CompileOptions &options, int64_t rank,
                                        const std::string &level);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LEVELS_H
