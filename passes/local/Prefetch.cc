// Overlap: gathers start some groups ahead, reductions are waited for one group later.
//
// Two walks. The first moves a gather of what is stored, with its read, views, fences and their scopes, to right behind
// the wait of the gather before it, or of the n-th before it where n groups are to be ahead; another collective, or an
// assignment, in between keeps it where it is. The second moves the wait of a reduction, with the views and fences of
// its result, to where that is used, or the next reduction starts, or the function ends. So collectives keep their
// order, which all ranks share, and at most n gathers and one reduction are under way.
//
//   before   %a = ccl.all_gather "one"      %one = ccl.wait %a      nn.relu %one
//            %b = ccl.all_gather "two"      %two = ccl.wait %b      nn.relu %two
//   after    %a = ccl.all_gather "one"      %one = ccl.wait %a
//            %b = ccl.all_gather "two"      nn.relu %one            the gather is under way here
//            %two = ccl.wait %b             nn.relu %two
#include "passes/local/Aliases.h"
#include "passes/local/Passes.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_PREFETCHPASS
#include "passes/local/Passes.h.inc"
} // namespace splitcast

namespace {

struct Prefetch : splitcast::impl::PrefetchPassBase<Prefetch> {
  using PrefetchPassBase::PrefetchPassBase;

  void runOnOperation() override {
    if (depth < 0) {
      getOperation().emitError() << "'ccl-prefetch' got depth=" << depth.getValue() << "; it is at least 0";
      return signalPassFailure();
    }
    if (failed(verifyStraightLine(getOperation())))
      return signalPassFailure();
    findDepths();
    if (depth > 0 || llvm::any_of(depths, [](const auto &entry) { return entry.second > 0; }))
      startGathersEarly();
    if (depth > 0 || llvm::any_of(depthsOfUpdates, [](const auto &entry) { return entry.second > 0; }))
      waitForReductionsLate();
  }

  /// A storage's variables have one policy.
  void findDepths() {
    depths.clear();
    depthsOfUpdates.clear();
    SymbolTable symbols(getOperation()->getParentOfType<ModuleOp>());
    for (auto fence : getOperation().getBody().front().getOps<sbp::FenceOp>()) {
      auto scope = fence.getScope().getDefiningOp<sbp::ScopeOp>();
      if (!scope || scope.getPhase().getValue() != sbp::Phase::Update || !scope.getVariable())
        continue;
      auto variable = symbols.lookup<sbp::VariableOp>(*scope.getVariable());
      if (variable && variable.getPolicyAttr())
        depthsOfUpdates[fence] = variable.getPolicyOrDefault().prefetch();
    }
    for (auto read : getOperation().getBody().front().getOps<ccl::ReadOp>()) {
      auto storage = symbols.lookup<ccl::StorageOp>(read.getStorage());
      if (!storage || storage.getMembers().empty())
        continue;
      auto variable = symbols.lookup<sbp::VariableOp>(cast<FlatSymbolRefAttr>(storage.getMembers()[0]).getValue());
      if (variable && variable.getPolicyAttr())
        depths[read] = variable.getPolicyOrDefault().prefetch();
    }
  }

  /// A gather of what is stored and not assigned before it can start anywhere after the read.
  struct Ahead {
    SmallVector<Operation *> makers; ///< of its operand: the read, views of it, and fences with their scopes
    size_t depth = 0;                ///< in groups; 0: it stays where it is, or gathers anything else
  };

  Ahead aheadOf(ccl::AllGatherOp op) {
    Ahead ahead;
    Value value = op.getInput();
    while (Value aliased = aliasedBy(value.getDefiningOp())) {
      ahead.makers.push_back(value.getDefiningOp());
      if (auto fence = value.getDefiningOp<sbp::FenceOp>())
        ahead.makers.push_back(fence.getScope().getDefiningOp());
      value = aliased;
    }
    auto read = value.getDefiningOp<ccl::ReadOp>();
    if (!read)
      return {};
    auto known = depths.find(read);
    ahead.depth = known == depths.end() ? depth.getValue() : known->second;
    ahead.makers.push_back(read);
    std::reverse(ahead.makers.begin(), ahead.makers.end());
    return ahead;
  }

  /// Gathers between which no other collective stands: these keep their order.
  struct Row {
    SmallVector<Operation *> waits; ///< of those so far
    size_t anchor = 0;              ///< number of the wait behind which the last gather went
    Operation *last = nullptr;      ///< that gather
  };

  /// Of what has been moved, nothing moves again, and waits stay: where ops stood in the beginning is all that is
  /// asked.
  void startEarly(ccl::AllGatherOp gather, const Ahead &ahead, Row &row) {
    const size_t anchor = std::max(row.anchor, row.waits.size() - std::min(ahead.depth, row.waits.size()));
    Operation *wait = row.waits[anchor], *after = row.last && anchor == row.anchor ? row.last : wait;
    for (Operation *maker : ahead.makers)
      if (places.lookup(wait) < places.lookup(maker) && moved.insert(maker).second) {
        maker->moveAfter(after);
        after = maker;
      }
    gather->moveAfter(after);
    row.anchor = anchor;
    row.last = gather;
  }

  void startGathersEarly() {
    places.clear();
    moved.clear();
    for (Operation &op : getOperation().getBody().front())
      places[&op] = places.size();
    Row row;
    for (Operation &op : llvm::make_early_inc_range(getOperation().getBody().front())) {
      if (isa<ccl::WaitOp>(op) && op.getOperand(0).getDefiningOp<ccl::AllGatherOp>()) {
        row.waits.push_back(&op);
      } else if (isa<ccl::CollectiveOpInterface>(op)) {
        auto gather = dyn_cast<ccl::AllGatherOp>(op);
        const Ahead ahead = gather && !row.waits.empty() ? aheadOf(gather) : Ahead();
        if (ahead.depth > 0)
          startEarly(gather, ahead, row);
        else
          row = {};
      } else if (isa<ccl::AssignOp>(op)) {
        row = {};
      }
    }
  }

  /// A reduction is of the variable in whose update its result is fenced, or what it adds: of a bucket's members, who
  /// have one policy, the first that is found.
  int64_t depthOf(ccl::CollectiveOpInterface reduction) {
    SmallVector<Operation *> open(waitOf(reduction)->user_begin(), waitOf(reduction)->user_end());
    while (!open.empty()) {
      Operation *op = open.pop_back_val();
      if (auto known = depthsOfUpdates.find(op); known != depthsOfUpdates.end())
        return known->second;
      if (aliasedBy(op))
        open.append(op->user_begin(), op->user_end());
    }
    auto addMakers = [&](Operation *op) {
      for (Value operand : op->getOperands())
        if (Operation *maker = operand.getDefiningOp())
          open.push_back(maker);
    };
    addMakers(reduction);
    while (!open.empty()) {
      Operation *op = open.pop_back_val();
      if (auto known = depthsOfUpdates.find(op); known != depthsOfUpdates.end())
        return known->second;
      if (aliasedBy(op) || isa<ccl::PackOp>(op))
        addMakers(op);
    }
    return depth;
  }

  /// Waits where the result is first used, or before the next reduction starts. Another name for it is no use.
  void waitForReductionsLate() {
    SmallVector<Operation *> open; // the wait of the reduction under way, and what names its result
    for (Operation &op : llvm::make_early_inc_range(getOperation().getBody().front())) {
      auto collective = dyn_cast<ccl::CollectiveOpInterface>(op);
      bool isReduction = collective && ruleOf(collective.getKind()).adds;
      bool usesOpen =
          llvm::any_of(op.getOperands(), [&](Value v) { return llvm::is_contained(open, v.getDefiningOp()); });
      if (usesOpen && aliasedBy(&op)) {
        open.push_back(&op);
        continue;
      }
      if (isReduction || usesOpen || op.hasTrait<OpTrait::IsTerminator>()) {
        for (Operation *late : open)
          late->moveBefore(&op);
        open.clear();
      }
      if (isReduction && depthOf(collective) > 0)
        open = {waitOf(collective)};
    }
  }

  DenseMap<Operation *, size_t> places;           ///< in the beginning
  DenseSet<Operation *> moved;                    ///< makers of gathers
  DenseMap<Operation *, int64_t> depths;          ///< of reads of variables whose policy says it
  DenseMap<Operation *, int64_t> depthsOfUpdates; ///< of fences in updates of such
};

} // namespace
