#include "passes/plan/BufferRoles.h"

#include "dialects/nn/Nn.h"
#include "passes/local/Aliases.h"

using namespace mlir;

namespace splitcast {

namespace {

bool isOfUpdate(Operation &op) {
  auto fence = dyn_cast<sbp::FenceOp>(op);
  auto scope = fence ? fence.getScope().getDefiningOp<sbp::ScopeOp>() : sbp::ScopeOp();
  return scope && scope.getPhase().getValue() == sbp::Phase::Update;
}

/// Whether the op only moves elements, alone or in a kernel, as the ops do that
/// cut and join pieces in a boxing.
bool onlyMoves(Operation *op) {
  if (auto fusion = dyn_cast<nn::FusionOp>(op))
    return llvm::all_of(fusion.getBody().front().without_terminator(),
                        [](Operation &inner) { return onlyMoves(&inner); });
  return isa<nn::SliceOp, nn::ConcatOp, nn::TransposeOp, nn::ReshapeOp>(op);
}

/// Whether the op only moves a value or sums it over ranks, so that a gradient
/// before the op is a gradient after it. Operand 0 represents all operands of a
/// pack, whose members are of one bucket.
bool isOnTheWay(Operation *op) {
  return aliasedBy(op) || isa<ccl::PackOp, ccl::WaitOp, ccl::CollectiveOpInterface>(op) || onlyMoves(op);
}

/// Whether the op only changes the element type, alone or in a kernel.
bool onlyCasts(Operation *op) {
  auto fusion = dyn_cast_or_null<nn::FusionOp>(op);
  return isa_and_nonnull<nn::CastOp>(op) ||
         (fusion && fusion.getNumOperands() == 1 &&
          llvm::all_of(fusion.getBody().front().without_terminator(),
                       [](Operation &inner) { return isa<nn::CastOp, nn::ReshapeOp>(inner); }));
}

/// Whether the value is read from a storage, or is a view or cast of such a
/// value.
bool isRead(Value value) {
  for (Operation *op = value.getDefiningOp(); aliasedBy(op) || onlyCasts(op); op = value.getDefiningOp())
    value = op->getOperand(0);
  return isa_and_nonnull<ccl::ReadOp>(value.getDefiningOp());
}

/// Whether the gathered value, or a view of it, is assigned to a storage.
bool isAssigned(ccl::CollectiveOpInterface op) {
  SmallVector<Value> open = {waitOf(op).getResult()};
  while (!open.empty())
    for (Operation *user : open.pop_back_val().getUsers()) {
      if (isa<ccl::AssignOp>(user))
        return true;
      if (aliasedBy(user))
        open.push_back(user->getResult(0));
    }
  return false;
}

} // namespace

StringRef ownerOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto fusion = dyn_cast<nn::FusionOp>(op))
    op = fusion.getBody().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber()).getDefiningOp();
  return op ? op->getName().getStringRef() : "";
}

BufferRoles::BufferRoles(Block &block) {
  for (Operation &op : block)
    if (isOfUpdate(op) || (op.getNumOperands() > 0 && isOnTheWay(&op) && ofUpdates.contains(op.getOperand(0))))
      ofUpdates.insert(op.result_begin(), op.result_end());
  for (Operation &op : llvm::reverse(block)) {
    const bool isWanted = llvm::any_of(op.getResults(), [&](Value result) { return forUpdates.contains(result); });
    if (isOfUpdate(op) || (isWanted && isOnTheWay(&op)))
      forUpdates.insert(op.operand_begin(), op.operand_end());
  }
}

exec::Role BufferRoles::of(ccl::CollectiveOpInterface op) const {
  if (ruleOf(op.getKind()).adds)
    return ofUpdates.contains(op.getInput()) || forUpdates.contains(waitOf(op).getResult()) ? exec::Role::Gradient
                                                                                            : exec::Role::Activation;
  return isAssigned(op) || isRead(op.getInput()) ? exec::Role::Gathered : exec::Role::Activation;
}

} // namespace splitcast
