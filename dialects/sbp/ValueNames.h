//===- ValueNames.h - Names of values, kept in locations ------------------------------===//
//
// A value's name, such as "logits", is the metadata of a FusedLoc around the location of the op that makes it, so that
// it survives passes as locations do: `loc(fused<"logits">["matmul"("model.cc":12:0)])`. Ops of the dialects print it
// as
// `%logits`. Ops that a pass derives from one with a name inherit its location, and with it the name: the printer adds
// a number then (`%logits_3`). A gradient is named after its value, `%logits_grad`.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_VALUENAMES_H
#define SPLITCAST_DIALECTS_SBP_VALUENAMES_H

#include "mlir/IR/Location.h"
#include "mlir/IR/OpImplementation.h"

namespace splitcast::sbp {

/// Returns `location` with `name` in place of the name that it may have.
mlir::Location withValueName(mlir::Location location, llvm::StringRef name);

/// Returns `location` without the name that it may have.
mlir::Location withoutValueName(mlir::Location location);

/// Returns the name in a location, or null.
mlir::StringAttr valueNameOf(mlir::Location location);

/// Names the results and the block arguments of every op of a dialect after their locations. A dialect with
/// hasOperationInterfaceFallback returns it from getRegisteredInterfaceForOp.
/// `interface` is the interface that MLIR asks for; returns null for any but OpAsmOpInterface. The result is static.
void *namesFromLocations(mlir::TypeID interface);

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_VALUENAMES_H
