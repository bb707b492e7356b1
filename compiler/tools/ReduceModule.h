//===- ReduceModule.h - Reduces a module while it keeps a property --------------------------===//
#ifndef SPLITCAST_COMPILER_TOOLS_REDUCEMODULE_H
#define SPLITCAST_COMPILER_TOOLS_REDUCEMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <functional>

namespace splitcast {

/// Removes ops from `module` as long as the result verifies and `isInteresting` holds for it; it must hold at first.
/// Uses of an op's results are replaced by an operand of the same type or by a constant. Unused symbols are removed,
/// too. In the end no single further step is possible. Returns the number of modules that were tried.
///
/// `isInteresting` must not change its argument. In the worst case it is called about ops^2 times: if it takes a
/// second, reducing a module takes minutes.
int64_t reduce(mlir::OwningOpRef<mlir::ModuleOp> &module, std::function<bool(mlir::ModuleOp)> isInteresting);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_TOOLS_REDUCEMODULE_H
