//===- BufferRoles.h - What a buffer is for, and whose it is ---------------------------===//
//
// Read off the fences of a rank's program: what is summed for the scope of an update is a gradient; what is gathered of
// a storage, or for one, is a variable; the rest are activations.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_BUFFERROLES_H
#define SPLITCAST_PASSES_PLAN_BUFFERROLES_H

#include "dialects/ccl/Ccl.h"
#include "dialects/exec/Exec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace splitcast {

/// What made a value, for people: a fusion's by the op within.
llvm::StringRef ownerOf(mlir::Value value);

/// The roles of what a function's collectives work in. Asked of each op once, when it is made.
class BufferRoles {
public:
  explicit BufferRoles(mlir::Block &block);

  exec::Role of(ccl::CollectiveOpInterface op) const;

private:
  /// Values on their way out of an update's scope, or into one, that nothing has computed with.
  llvm::DenseSet<mlir::Value> ofUpdates, forUpdates;
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_BUFFERROLES_H
