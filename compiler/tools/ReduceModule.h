//===- ReduceModule.h - Smaller modules with the same error ---------------------------------===//
#ifndef SPLITCAST_COMPILER_TOOLS_REDUCEMODULE_H
#define SPLITCAST_COMPILER_TOOLS_REDUCEMODULE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <functional>

namespace splitcast {

/// Removes ops from `module` for as long as it verifies and `isInteresting` holds of it, which must hold at first. An
/// op with results that are used gives way to an operand of the same type, or to a constant. Unused symbols go, too.
/// Returns the number of modules that were tried. No single further step of these is possible then.
///
/// `isInteresting` must not change its argument, and is called about ops^2 times at worst: a module that fails in a
/// second takes minutes to reduce.
int64_t reduce(mlir::OwningOpRef<mlir::ModuleOp> &module, std::function<bool(mlir::ModuleOp)> isInteresting);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_TOOLS_REDUCEMODULE_H
