// Verifies that what is computed again is cut as what was computed first.
#include "passes/global/Passes.h"
#include "passes/global/SameElements.h"

using namespace mlir;
using namespace splitcast;

namespace {

/// Whether bits depend on the signatures of the op: it adds up elements, and
/// rounds.
bool sumsAndRounds(Operation *op) {
  auto sharded = dyn_cast<sbp::ShardingOpInterface>(op);
  if (!sharded || isa<sbp::FenceOp, sbp::BoxingOp>(op))
    return false;
  const sbp::LoopSpec spec = sharded.getLoopSpec();
  return !spec.exactSums &&
         llvm::any_of(spec.factors, [](const sbp::Factor &factor) { return factor.kind == sbp::FactorKind::Sum; });
}

/// Whether a fence is in backward, where recomputation puts those of the values that it computes again from.
bool isInBackward(sbp::FenceOp fence) {
  auto scope = fence.getScope().getDefiningOp<sbp::ScopeOp>();
  return scope && scope.getPhase().getValue() == sbp::Phase::Backward;
}

/// Whether ranks have the same elements: along an axis of one rank, each signature says so.
bool isOneSignature(sbp::NdAttr is, sbp::NdAttr was) {
  if (is == was || !is || !was)
    return is == was;
  const sbp::NdSbp one = is.toAlgebra(), other = was.toAlgebra();
  const sbp::Placement placement = is.getPlacement().toAlgebra();
  for (size_t axis = 0; axis < one.size(); ++axis)
    if (one[axis] != other[axis] && placement.axes[axis].size > 1)
      return false;
  return is.getPlacement() == was.getPlacement();
}

bool haveOneSignature(ValueRange values, ValueRange others) {
  return llvm::all_of(llvm::zip(values, others), [](const auto &pair) {
    return isOneSignature(sbp::signatureOf(std::get<0>(pair)), sbp::signatureOf(std::get<1>(pair)));
  });
}

bool haveOneRow(Operation *op, Operation *other) {
  return haveOneSignature(op->getOperands(), other->getOperands()) &&
         haveOneSignature(op->getResults(), other->getResults());
}

LogicalResult refuse(Operation *op, Operation *original) {
  for (auto [what, own, first] :
       {std::tuple("operand", ValueRange(op->getOperands()), ValueRange(original->getOperands())),
        std::tuple("result", ValueRange(op->getResults()), ValueRange(original->getResults()))})
    for (auto [index, values] : llvm::enumerate(llvm::zip(own, first))) {
      const sbp::NdAttr is = sbp::signatureOf(std::get<0>(values)), was = sbp::signatureOf(std::get<1>(values));
      if (isOneSignature(is, was))
        continue;
      InFlightDiagnostic diag = op->emitOpError() << "is computed again with " << what << " " << index << " as ";
      diag << sbp::toString(is.toAlgebra()) << ", but was computed first with " << sbp::toString(was.toAlgebra())
           << ", so that its sums would be others; box its operands to the signatures of the first";
      diag.attachNote(original->getLoc()) << "computed first here";
      return diag;
    }
  return success();
}

} // namespace

// Verifies the ops that are made of values that are fenced in backward, as
// recomputation makes them. A user may write an op several times with other
// signatures: one that is computed again is as one of them. Gradients of such
// ops may be equal, too, and are no repeats of what forward has computed.
LogicalResult splitcast::verifyRepeats(Block &block) {
  const SameElements elements(block, SameElements::Types::Elements);
  DenseSet<Value> again;
  DenseMap<Value, SmallVector<Operation *, 1>> rows; ///< by original: ops of its elements with distinct rows
  DenseSet<Value> computedFirst;                     ///< the originals of which one of these is not computed again
  for (Operation &op : block) {
    auto fence = dyn_cast<sbp::FenceOp>(op);
    const bool isAgain = fence ? isInBackward(fence)
                               : llvm::any_of(op.getOperands(), [&](Value operand) { return again.contains(operand); });
    if (isAgain)
      again.insert(op.result_begin(), op.result_end());
    if (op.getNumResults() == 0 || !sumsAndRounds(&op))
      continue;
    const Value original = elements.originalOf(op.getResult(0));
    SmallVector<Operation *, 1> &known = rows[original];
    if (!isAgain)
      computedFirst.insert(original);
    if (llvm::any_of(known, [&](Operation *other) { return haveOneRow(&op, other); }))
      continue;
    if (isAgain && computedFirst.contains(original))
      return refuse(&op, known.front());
    known.push_back(&op);
  }
  return success();
}

LogicalResult splitcast::verifyRepeats(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && failed(verifyRepeats(function.getBody().front())))
      return failure();
  return success();
}
