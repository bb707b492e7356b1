//===- Exec.h - The exec dialect ---------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_EXEC_EXEC_H
#define SPLITCAST_DIALECTS_EXEC_EXEC_H

#include "dialects/ccl/algebra/Collective.h"
#include "dialects/exec/AttentionWorkspace.h"
#include "dialects/exec/EmbeddingWorkspace.h"
#include "dialects/exec/Role.h"
#include "dialects/sbp/Sbp.h"

#include <optional>
#include <vector>

#include "dialects/exec/ExecAttrInterfaces.h.inc"
#include "dialects/exec/ExecDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/exec/ExecAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/exec/ExecOps.h.inc"

namespace splitcast::exec {

/// The kernels of a plan: a module of this name within it.
inline constexpr const char *kKernelsName = "kernels";

/// The spaces that 'exec-lower' declares: of variables, and of what a run makes.
inline constexpr const char *kPersistentName = "persistent";
inline constexpr const char *kArenaName = "arena";

/// All ranges that an op reads, and all that it writes.
void rangesOf(mlir::Operation *op, llvm::SmallVectorImpl<RangeAttr> &reads, llvm::SmallVectorImpl<RangeAttr> &writes);

/// The spaces that a module declares.
class Spaces {
public:
  explicit Spaces(mlir::ModuleOp module);
  /// Of these, what a plan names; looked up in a table that serves all plans.
  Spaces(PlanOp plan, mlir::SymbolTableCollection &symbols);
  /// The one that a range lies in; null: there is none of that name.
  SpaceOp of(RangeAttr range) const { return byName.lookup(range.getSpace()); }
  /// Whether what lies there outlives a run.
  bool keeps(RangeAttr range) const {
    SpaceOp space = of(range);
    return space && space.getKept();
  }

private:
  llvm::DenseMap<mlir::StringAttr, SpaceOp> byName;
};

/// An error on `op` where a range does not lie within its space.
mlir::LogicalResult verifyWithin(const Spaces &spaces, mlir::Operation *op, llvm::ArrayRef<RangeAttr> ranges);

/// A tensor's piece on the rank that the op's module is for (`ccl.rank`); null where the module, or the type, does not
/// say.
mlir::RankedTensorType pieceOf(mlir::Operation *op, mlir::RankedTensorType type);

/// Of the spaces that are not kept, as many bytes as a plan uses.
int64_t bytesOfRun(PlanOp plan, const Spaces &spaces);

/// C4 of exec.plan.
mlir::LogicalResult verifyBuffers(PlanOp plan, const Spaces &spaces);

/// C3 and C5; with the module's first plan, what the plans of each schedule owe each other.
mlir::LogicalResult verifyCarried(PlanOp plan, mlir::SymbolTableCollection &symbols);

/// What a rank of this group does in a collective.
ccl::CollectiveCall callOf(CollectiveOp op, GroupOp group);

/// The group that a collective names; null: the module has none of that name.
GroupOp groupOf(CollectiveOp op, mlir::SymbolTableCollection &symbols);

} // namespace splitcast::exec

#endif // SPLITCAST_DIALECTS_EXEC_EXEC_H
