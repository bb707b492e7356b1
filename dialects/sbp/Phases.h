//===- Phases.h - Which phase of a step an op belongs to --------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_PHASES_H
#define SPLITCAST_DIALECTS_SBP_PHASES_H

#include "dialects/sbp/Sbp.h"

namespace splitcast::sbp {

/// Returns the phase of each op: the latest phase (forward, backward, update) among the fences that its operands come
/// from. Ops that are created later are not in the map: a look-up gives forward.
inline llvm::DenseMap<mlir::Operation *, Phase> phasesOf(mlir::Block &block) {
  llvm::DenseMap<mlir::Operation *, Phase> phases;
  for (mlir::Operation &op : block) {
    Phase phase = Phase::Forward;
    if (auto fence = mlir::dyn_cast<FenceOp>(op))
      if (auto scope = fence.getScope().getDefiningOp<ScopeOp>())
        phase = scope.getPhase().getValue();
    for (mlir::Value operand : op.getOperands())
      if (mlir::Operation *maker = operand.getDefiningOp())
        phase = std::max(phase, phases.lookup(maker));
    phases[&op] = phase;
  }
  return phases;
}

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_PHASES_H
