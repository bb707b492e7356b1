//===- Aliases.h - Values that are other names for the same bytes ----------------------===//
#ifndef SPLITCAST_PASSES_LOCAL_ALIASES_H
#define SPLITCAST_PASSES_LOCAL_ALIASES_H

#include "dialects/ccl/Ccl.h"
#include "dialects/nn/Nn.h"
#include "dialects/sbp/Sbp.h"

namespace splitcast {

/// Returns the value of which the result of a view, a reshape or a fence is another name, or the name of a part; null
/// for all other ops.
inline mlir::Value aliasedBy(mlir::Operation *op) {
  return op && mlir::isa<ccl::ViewOp, nn::ReshapeOp, sbp::FenceOp>(op) ? op->getOperand(0) : mlir::Value();
}

/// Whether the op becomes nothing in a plan: it only names a value, or a scope.
inline bool onlyNames(mlir::Operation *op) { return aliasedBy(op) || mlir::isa<sbp::ScopeOp>(op); }

/// Returns the same value outside of all scopes.
inline mlir::Value behindFences(mlir::Value value) {
  while (auto fence = value.getDefiningOp<sbp::FenceOp>())
    value = fence.getInput();
  return value;
}

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_ALIASES_H
