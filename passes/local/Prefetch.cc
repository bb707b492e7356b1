// Overlap: gathers start one group ahead, reductions are waited for one group later.
//
// Two walks. The first moves a gather of what is stored, with its read, views, fences and their scopes, to right behind
// the wait of the gather before it; another collective, or an assignment, in between keeps it where it is. The second
// moves the wait of a reduction, with the views and fences of its result, to where that is used, or the next reduction
// starts, or the function ends. So collectives keep their order, which all ranks share, and at most one gather and one
// reduction are under way.
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
    if (depth < 0 || depth > 1) {
      getOperation().emitError() << "'ccl-prefetch' got depth=" << depth.getValue() << "; it is 0 or 1";
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
  /// These are the ops that make its operand: the read, views of it, and fences with their scopes. None when it gathers
  /// anything else, or what is not to be gathered ahead.
  SmallVector<Operation *> makersOfStored(ccl::AllGatherOp op) {
    SmallVector<Operation *> makers;
    Value value = op.getInput();
    while (Value aliased = aliasedBy(value.getDefiningOp())) {
      makers.push_back(value.getDefiningOp());
      if (auto fence = value.getDefiningOp<sbp::FenceOp>())
        makers.push_back(fence.getScope().getDefiningOp());
      value = aliased;
    }
    auto read = value.getDefiningOp<ccl::ReadOp>();
    if (!read)
      return {};
    auto known = depths.find(read);
    if ((known == depths.end() ? depth.getValue() : known->second) == 0)
      return {};
    makers.push_back(read);
    std::reverse(makers.begin(), makers.end());
    return makers;
  }

  /// Starts right behind the wait for the gather before it, unless another collective stands between: these keep their
  /// order.
  void startGathersEarly() {
    // Waits stay; of what has been moved, nothing moves again. So the order of the beginning is all that is asked for.
    DenseMap<Operation *, size_t> places;
    for (Operation &op : getOperation().getBody().front())
      places[&op] = places.size();
    DenseSet<Operation *> moved;
    Operation *lastWait = nullptr;
    for (Operation &op : llvm::make_early_inc_range(getOperation().getBody().front())) {
      if (isa<ccl::WaitOp>(op) && op.getOperand(0).getDefiningOp<ccl::AllGatherOp>()) {
        lastWait = &op;
        continue;
      }
      if (isa<ccl::CollectiveOpInterface>(op)) {
        auto gather = dyn_cast<ccl::AllGatherOp>(op);
        SmallVector<Operation *> makers = gather && lastWait ? makersOfStored(gather) : SmallVector<Operation *>();
        if (!makers.empty()) {
          Operation *after = lastWait;
          for (Operation *maker : makers)
            if (places.lookup(lastWait) < places.lookup(maker) && moved.insert(maker).second) {
              maker->moveAfter(after);
              after = maker;
            }
          gather->moveAfter(after);
          lastWait = waitOf(gather);
        } else {
          lastWait = nullptr;
        }
      }
      if (isa<ccl::AssignOp>(op))
        lastWait = nullptr;
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

  DenseMap<Operation *, int64_t> depths;          ///< of reads of variables whose policy says it
  DenseMap<Operation *, int64_t> depthsOfUpdates; ///< of fences in updates of such
};

} // namespace
