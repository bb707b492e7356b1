//===- BufferRoles.h - The roles and owners of buffers ---------------------------===//
//
// Roles follow from the fences of a rank's program: a value that is summed for the scope of an update is a gradient; a
// value that is gathered from a storage, or to be assigned to one, is a variable; all others are activations.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_BUFFERROLES_H
#define SPLITCAST_PASSES_PLAN_BUFFERROLES_H

#include "dialects/ccl/Ccl.h"
#include "dialects/exec/Exec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace splitcast {

/// Returns the name of the op that made a value, for messages; for a fusion it is the op within.
llvm::StringRef ownerOf(mlir::Value value);

/// The roles of the buffers in which a function's collectives work. The constructor looks at each op once.
class BufferRoles {
public:
  explicit BufferRoles(mlir::Block &block);

  exec::Role of(ccl::CollectiveOpInterface op) const;

private:
  /// Values that come out of an update's scope, or go into one, and that ops have only moved, not computed with.
  llvm::DenseSet<mlir::Value> ofUpdates, forUpdates;
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_BUFFERROLES_H
