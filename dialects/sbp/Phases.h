//===- Phases.h - Which part of a step an op is of --------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_PHASES_H
#define SPLITCAST_DIALECTS_SBP_PHASES_H

#include "dialects/sbp/Sbp.h"

namespace splitcast::sbp {

/// An op belongs to the phase of the fences that its operands come from: update over backward over forward. Those that
/// are made later are of none: a look-up gives forward.
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
