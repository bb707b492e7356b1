#include "passes/local/SumsApart.h"

#include "passes/local/Aliases.h"
#include "passes/local/OpLoops.h"

using namespace mlir;

namespace splitcast {
namespace {

using Ops = llvm::DenseSet<Operation *>;

bool isSumOverRows(Operation *op, const DeviceTraits &traits) {
  return isFusible(op, traits) && OpLoops(op).pattern == LoopPattern::Columns;
}

/// Returns the elementwise ops whose results only `sums` and other such ops
/// use. Users come later, so the walk goes from the last op to the first.
Ops addendsOf(Block &block, const Ops &sums, const DeviceTraits &traits) {
  Ops addends;
  for (Operation &op : llvm::reverse(block)) {
    if (op.use_empty() || !isFusible(&op, traits) || OpLoops(&op).pattern != LoopPattern::Elementwise)
      continue;
    if (llvm::all_of(op.getUsers(), [&](Operation *user) { return sums.contains(user) || addends.contains(user); }))
      addends.insert(&op);
  }
  return addends;
}

/// Whether the op may stand between ops of a kernel.
bool isNoHindrance(Operation *op, const DeviceTraits &traits) { return onlyNames(op) || isFusible(op, traits); }

} // namespace

Ops sumsApart(Block &block, const DeviceTraits &traits) {
  if (traits.sumsBesideRows)
    return {};
  Ops sums;
  for (Operation &op : block)
    if (isSumOverRows(&op, traits))
      sums.insert(&op);
  Ops addends = addendsOf(block, sums, traits);
  SmallVector<Operation *> waiting; // to move down, in order
  Ops isWaiting;
  SmallVector<Operation *> ops = llvm::to_vector(llvm::make_pointer_range(block));
  for (Operation *op : ops) {
    if (sums.contains(op) || addends.contains(op)) {
      waiting.push_back(op);
      isWaiting.insert(op);
      continue;
    }
    const bool usesWaiting =
        llvm::any_of(op->getOperands(), [&](Value operand) { return isWaiting.contains(operand.getDefiningOp()); });
    if (!usesWaiting && isNoHindrance(op, traits))
      continue;
    for (Operation *moved : waiting)
      moved->moveBefore(op);
    waiting.clear();
    isWaiting.clear();
  }
  return addends;
}

} // namespace splitcast
