#include "dialects/sbp/algebra/Solver.h"

namespace splitcast::sbp {

NdSbp summed(NdSbp seen, size_t axes) {
  seen.resize(axes, Sbp::broadcast());
  for (Sbp &entry : seen)
    if (entry.isPartial() || entry.isAt())
      entry = Sbp::broadcast();
  return seen;
}

Phases solveInPhases(const Problem &logical, Problem stored, Solution (*chooser)(const Problem &)) {
  Phases phases;
  phases.logical = chooser(logical);
  if (phases.logical.failure) {
    phases.stored.failure = phases.logical.failure;
    return phases;
  }
  const Assignment &fixed = phases.logical.assignment;
  for (size_t op = 0; op < stored.ops.size(); ++op) {
    if (stored.ops[op].spec.exactSums)
      continue;
    const bool isFree = isElementwise(stored.ops[op].spec);
    stored.ops[op].limit = {isFree ? RowLimit::Kind::PartialPlaces : RowLimit::Kind::Row, fixed.ops[op].row};
  }
  for (Demand &demand : stored.demands)
    if (demand.wanted.empty())
      demand.wanted = summed(fixed.tensors[demand.tensor], stored.placement.axes.size());
  phases.stored = chooser(stored);
  return phases;
}

} // namespace splitcast::sbp
