// Merges equal ops.
//
// One walk, with a table from the contents of an op (name, attributes,
// operands, types) to the first op with these contents. An op without effects
// is replaced by the first one. So is a read, unless anything was written in
// between: writes are counted, and each entry notes the count when it was made.
// Users come later and see the replaced operand, so that they become equal in
// turn.
//
//   before   %0 = sbp.read @w    %1 = nn.tanh %0    %2 = sbp.read @w    %3 = nn.tanh %2    nn.add %1, %3
//   after    %0 = sbp.read @w    %1 = nn.tanh %0                                           nn.add %1, %1
#include "passes/global/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_MERGEEQUALPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

/// Ops are equal when they have the same name, attributes, operands and types.
struct ByContent : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(const_cast<Operation *>(op), OperationEquivalence::directHashValue,
                                             OperationEquivalence::ignoreHashValue,
                                             OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    auto isKey = [](const Operation *op) { return op != getEmptyKey() && op != getTombstoneKey(); };
    return a == b || (isKey(a) && isKey(b) &&
                      OperationEquivalence::isEquivalentTo(const_cast<Operation *>(a), const_cast<Operation *>(b),
                                                           OperationEquivalence::IgnoreLocations));
  }
};

struct MergeEqual : splitcast::impl::MergeEqualPassBase<MergeEqual> {
  void runOnOperation() override {
    if (getOperation().isExternal() || !getOperation().getBody().hasOneBlock())
      return;
    for (Operation &op : getOperation().getBody().front().without_terminator())
      visit(&op);
    for (Operation *op : gone)
      op->erase();
    known.clear();
    gone.clear();
  }

  void visit(Operation *op) {
    if (isOpTriviallyDead(op)) {
      gone.push_back(op);
      return;
    }
    writes += mayWrite(op);
    const bool isRead = hasSingleEffect<MemoryEffects::Read>(op);
    if (op->getNumRegions() > 0 || !(isMemoryEffectFree(op) || isRead))
      return;
    auto [at, isNew] = known.try_emplace(op, op, writes);
    if (isNew)
      return;
    auto &[first, writesBefore] = at->second;
    if (isRead && writesBefore != writes) { // it may read another value: later reads are compared with it
      at->second = {op, writes};
      return;
    }
    op->replaceAllUsesWith(first);
    gone.push_back(op);
  }

  static bool mayWrite(Operation *op) {
    std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(op);
    return !effects ||
           llvm::any_of(*effects, [](const auto &effect) { return isa<MemoryEffects::Write>(effect.getEffect()); });
  }

  DenseMap<Operation *, std::pair<Operation *, int64_t>, ByContent> known; ///< the first, and the writes before
  SmallVector<Operation *> gone;
  int64_t writes = 0; ///< writes so far
};

} // namespace
