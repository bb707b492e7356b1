//===- UpdateScopes.h - Where the scopes of updates lie -----------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_UPDATESCOPES_H
#define SPLITCAST_PASSES_GLOBAL_UPDATESCOPES_H

#include "dialects/nn/Nn.h"

#include "llvm/ADT/SetVector.h"

namespace splitcast {

/// Moves the scopes of the updates before `first`, for ops that have to be in them there. All are looked at before one
/// is moved: a move makes MLIR number the block's ops anew.
inline void moveScopesBefore(llvm::ArrayRef<nn::UpdateOp> updates, mlir::Operation *first) {
  llvm::SetVector<mlir::Operation *> behind;
  for (nn::UpdateOp update : updates)
    if (mlir::Operation *scope = update.getScope().getDefiningOp(); !scope->isBeforeInBlock(first))
      behind.insert(scope);
  for (mlir::Operation *scope : behind)
    scope->moveBefore(first);
}

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_UPDATESCOPES_H
