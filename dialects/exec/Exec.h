//===- Exec.h - The exec dialect ---------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_EXEC_EXEC_H
#define SPLITCAST_DIALECTS_EXEC_EXEC_H

#include "dialects/ccl/algebra/Collective.h"
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

/// All ranges that an op reads, and all that it writes.
void rangesOf(mlir::Operation *op, llvm::SmallVectorImpl<RangeAttr> &reads, llvm::SmallVectorImpl<RangeAttr> &writes);

/// C4 of exec.plan.
mlir::LogicalResult verifyBuffers(PlanOp plan);

/// What a rank of this group does in a collective.
ccl::CollectiveCall callOf(CollectiveOp op, GroupOp group);

/// The group that a collective names; null: the module has none of that name.
GroupOp groupOf(CollectiveOp op, mlir::SymbolTableCollection &symbols);

} // namespace splitcast::exec

#endif // SPLITCAST_DIALECTS_EXEC_EXEC_H
