#ifndef SPLITCAST_DIALECTS_SBP_STORAGEMEMBERS_H
#define SPLITCAST_DIALECTS_SBP_STORAGEMEMBERS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace splitcast::sbp {

/// Verifies that no two storages of a module hold one variable. The check looks at all storages once, when it is called
/// for the first. `StorageOp` has a symbol's name and `members`, which are symbols of variables, none of them twice.
template <typename StorageOp> mlir::LogicalResult verifyMembersAcross(StorageOp first) {
  for (mlir::Operation *op = first->getPrevNode(); op; op = op->getPrevNode()) // the first storage has checked all
    if (mlir::isa<StorageOp>(op))
      return mlir::success();
  auto module = mlir::dyn_cast_or_null<mlir::ModuleOp>(first->getParentOp());
  if (!module)
    return mlir::success();
  llvm::DenseMap<mlir::Attribute, StorageOp> holders;
  for (auto storage : module.template getOps<StorageOp>())
    for (mlir::Attribute member : storage.getMembers())
      if (auto [known, isNew] = holders.try_emplace(member, storage); !isNew && known->second != storage)
        return storage.emitOpError() << "@" << storage.getSymName() << " holds " << member << ", and so does @"
                                     << known->second.getSymName() << "; a variable lies at one place";
  return mlir::success();
}

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_STORAGEMEMBERS_H
