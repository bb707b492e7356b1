//===- VariableStorages.h - In what variables lie together, at the global level ----===//
#ifndef SPLITCAST_PASSES_GLOBAL_VARIABLESTORAGES_H
#define SPLITCAST_PASSES_GLOBAL_VARIABLESTORAGES_H

#include "dialects/sbp/Sbp.h"

#include "mlir/IR/SymbolTable.h"

#include <string>
#include <vector>

namespace splitcast {

/// "@w", or of members of a bucket the range of their role, which one op reads or assigns: "bucket @h parameter".
std::string storageOf(sbp::VariableOp variable);

/// The ranks that have it, as far as it says so: the coordinates of At entries, and else -1. What lies at other
/// coordinates is other ranks'.
std::vector<int64_t> coordinatesOf(sbp::VariableOp variable);

/// Of what the op reads or assigns; empty: it does neither.
std::string storageOf(mlir::Operation *op, const mlir::SymbolTable &symbols);

/// Whether the op assigns a variable or bucket.
bool isAssignment(mlir::Operation *op);

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_VARIABLESTORAGES_H
