#include "dialects/sbp/algebra/Solver.h"

namespace splitcast::sbp {

namespace {

/// What a tensor is when nothing of it is left to be summed. A free one is B, as whoever returns it gets it.
NdSbp summed(const NdSbp &seen, const Placement &placement) {
  NdSbp result = seen;
  result.resize(placement.axes.size());
  for (Sbp &entry : result)
    if (entry.isPartial())
      entry = Sbp::broadcast();
  return result;
}

} // namespace

Phases solveInPhases(const Problem &logical, Problem stored, Solution (*chooser)(const Problem &)) {
  Phases phases;
  phases.logical = chooser(logical);
  if (phases.logical.failure) {
    phases.stored.failure = phases.logical.failure;
    return phases;
  }
  const Assignment &fixed = phases.logical.assignment;
  for (size_t op = 0; op < stored.ops.size(); ++op) {
    const bool isFree = isElementwise(stored.ops[op].spec);
    stored.ops[op].limit = {isFree ? RowLimit::Kind::PartialPlaces : RowLimit::Kind::Row, fixed.ops[op].row};
  }
  for (Demand &demand : stored.demands)
    if (demand.wanted.empty())
      demand.wanted = summed(fixed.tensors[demand.tensor], stored.placement);
  phases.stored = chooser(stored);
  return phases;
}

} // namespace splitcast::sbp
