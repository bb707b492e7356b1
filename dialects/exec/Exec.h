//===- Exec.h - The exec dialect ---------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_EXEC_EXEC_H
#define SPLITCAST_DIALECTS_EXEC_EXEC_H

#include "dialects/ccl/algebra/Collective.h"
#include "dialects/exec/AttentionWorkspace.h"
#include "dialects/exec/ConvolutionWorkspace.h"
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

/// The name of the module within a plan that has its kernels.
inline constexpr const char *kKernelsName = "kernels";

/// The spaces that 'exec-lower' declares: one for variables, and one for the values of a run.
inline constexpr const char *kPersistentName = "persistent";
inline constexpr const char *kArenaName = "arena";

/// Appends all ranges that an op reads, and all that it writes.
void rangesOf(mlir::Operation *op, llvm::SmallVectorImpl<RangeAttr> &reads, llvm::SmallVectorImpl<RangeAttr> &writes);

/// The spaces that a module declares.
class Spaces {
public:
  explicit Spaces(mlir::ModuleOp module);
  /// Those of a plan's module that the plan names; they are looked up in a symbol table that all plans share.
  Spaces(PlanOp plan, mlir::SymbolTableCollection &symbols);
  /// Returns the space that a range names; null if there is none of that name.
  SpaceOp of(RangeAttr range) const { return byName.lookup(range.getSpace()); }
  /// Whether the range's contents outlive a run.
  bool keeps(RangeAttr range) const {
    SpaceOp space = of(range);
    return space && space.getKept();
  }

private:
  llvm::DenseMap<mlir::StringAttr, SpaceOp> byName;
};

/// Emits an error on `op` if a range does not lie within its space.
mlir::LogicalResult verifyWithin(const Spaces &spaces, mlir::Operation *op, llvm::ArrayRef<RangeAttr> ranges);

/// Returns the type of a tensor's piece on the rank that the op's module is for (`ccl.rank`); null where the module
/// names no rank, or the type has no signature.
mlir::RankedTensorType pieceOf(mlir::Operation *op, mlir::RankedTensorType type);

/// Returns the bytes that a plan uses of the spaces that are not kept.
int64_t bytesOfRun(PlanOp plan, const Spaces &spaces);

/// Verifies C4 of exec.plan.
mlir::LogicalResult verifyBuffers(PlanOp plan, const Spaces &spaces);

/// Verifies C3 and C5 of exec.plan. With the module's first plan, it also verifies what C3 requires of the plans of
/// each schedule together.
mlir::LogicalResult verifyCarried(PlanOp plan, mlir::SymbolTableCollection &symbols);

/// Returns the call of this rank in a collective of this group.
ccl::CollectiveCall callOf(CollectiveOp op, GroupOp group);

/// Returns the group that a collective names; null if the module has none of that name.
GroupOp groupOf(CollectiveOp op, mlir::SymbolTableCollection &symbols);

} // namespace splitcast::exec

#endif // SPLITCAST_DIALECTS_EXEC_EXEC_H
