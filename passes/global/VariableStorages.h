//===- VariableStorages.h - Which variables are stored together, at the global level ----===//
#ifndef SPLITCAST_PASSES_GLOBAL_VARIABLESTORAGES_H
#define SPLITCAST_PASSES_GLOBAL_VARIABLESTORAGES_H

#include "dialects/sbp/Sbp.h"

#include "mlir/IR/SymbolTable.h"

#include <string>
#include <vector>

namespace splitcast {

/// Returns the name of a variable's storage: "@w", or, for a member of a bucket, the range of its role, which one op
/// reads or assigns: "bucket @h parameter".
std::string storageOf(sbp::VariableOp variable);

/// Returns the coordinates of the ranks that have the variable: per axis that of an At entry, or -1 for other entries.
/// Storages at different coordinates are those of different ranks.
std::vector<int64_t> coordinatesOf(sbp::VariableOp variable);

/// Returns the storage that the op reads or assigns; empty if it does neither.
std::string storageOf(mlir::Operation *op, const mlir::SymbolTable &symbols);

/// Whether the op assigns a variable or bucket.
bool isAssignment(mlir::Operation *op);

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_VARIABLESTORAGES_H
