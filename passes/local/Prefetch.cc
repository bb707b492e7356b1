// Overlaps collectives with computation: gathers start some groups ahead, and
// reductions are waited for one group later.
//
// The first of three walks moves a gather of a stored value, with its read,
// views, fences and their scopes, to right behind the wait of the gather before
// it, or of the n-th before it if it may be n groups ahead. It moves past other
// collectives (in backward, past the reductions of the groups before), but not
// past an assignment of the value that it gathers, and not past another gather.
// The second walk moves the wait of a reduction, with the views and fences of
// its result, to where the result is used, or the next reduction starts, or the
// function ends. The third moves the wait of an all-to-all in the same way to
// where its result is used. How far is decided by numbers and bytes that all
// ranks share, so that all ranks have the same order of collectives. At most n
// gathers and one reduction are under way.
//
//   before   %a = ccl.all_gather "one"      %one = ccl.wait %a      nn.relu %one
//            %b = ccl.all_gather "two"      %two = ccl.wait %b      nn.relu %two
//   after    %a = ccl.all_gather "one"      %one = ccl.wait %a
//            %b = ccl.all_gather "two"      nn.relu %one            the gather is under way here
//            %two = ccl.wait %b             nn.relu %two
#include "passes/local/Aliases.h"
#include "passes/local/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_PREFETCHPASS
#include "passes/local/Passes.h.inc"
} // namespace splitcast

namespace {

/// How far ahead of its use a gather of a storage may start.
struct Window {
  int64_t groups = 0;
  int64_t bytes = 0;    ///< the most bytes that all gathers ahead of their use may take; 0: any number
  int64_t gathered = 0; ///< the bytes that this gather takes

  /// Returns the window of a gather of `type`, which is cast from the stored
  /// type.
  Window as(Type type, Type stored) const {
    return {groups, bytes, gathered / sbp::elementBytes(stored) * sbp::elementBytes(type)};
  }
};

/// Returns the bytes that a rank has of the gathered variable. Along other axes
/// this is the most that any rank has, so that all ranks compute the same
/// number.
int64_t gatheredBytes(sbp::VariableOp variable) {
  RankedTensorType type = variable.getTensorType();
  const sbp::Shape shape = sbp::shapeOf(type);
  sbp::NdAttr signature = sbp::signatureOf(type);
  const int64_t elements = signature
                               ? sbp::maxBoxElements(shape, signature.toAlgebra(), signature.getPlacement().toAlgebra())
                               : sbp::numElements(shape);
  return elements * sbp::elementBytes(type);
}

/// The gathers and reductions of one function.
class FunctionPrefetch {
public:
  FunctionPrefetch(func::FuncOp function, const SymbolTable &symbols, int64_t depth)
      : block(function.getBody().front()), symbols(symbols), depth(depth) {}

  LogicalResult run() {
    findWindows();
    if (depth > 0 || llvm::any_of(windows, [](const auto &entry) { return entry.second.groups > 0; }))
      if (failed(startGathersEarly()))
        return failure();
    if (depth > 0 || llvm::any_of(overlapsUpdates, [](const auto &entry) { return entry.second; }))
      waitForReductionsLate();
    if (depth > 0)
      waitForExchangesLate();
    return success();
  }

private:
  /// Finds the windows of reads, and the updates whose reductions may be waited
  /// for later. All variables of a storage have one policy.
  void findWindows() {
    for (auto fence : block.getOps<sbp::FenceOp>()) {
      auto scope = fence.getScope().getDefiningOp<sbp::ScopeOp>();
      if (!scope || scope.getPhase().getValue() != sbp::Phase::Update || !scope.getVariable())
        continue;
      auto variable = symbols.lookup<sbp::VariableOp>(*scope.getVariable());
      if (variable && variable.getPolicyAttr())
        overlapsUpdates[fence] = variable.getPolicyOrDefault().prefetch() != 0;
    }
    for (auto read : block.getOps<ccl::ReadOp>())
      if (auto storage = symbols.lookup<ccl::StorageOp>(read.getStorage()))
        windows[read] = windowOf(storage);
  }

  Window windowOf(ccl::StorageOp storage) const {
    Window window{depth, 0, 0};
    for (auto member : storage.getMembers().getAsRange<FlatSymbolRefAttr>()) {
      auto variable = symbols.lookup<sbp::VariableOp>(member.getValue());
      if (!variable)
        continue;
      window.gathered += gatheredBytes(variable);
      if (!variable.getPolicyAttr())
        continue;
      const sbp::Policy policy = variable.getPolicyOrDefault();
      window.groups = policy.prefetch() == sbp::kAutomatic ? 1 : policy.prefetch(); // 'sbp-choose-prefetch' has not run
      window.bytes = policy.prefetchBytes();
    }
    return window;
  }

  struct Stored {
    ccl::ReadOp read;
    SmallVector<Operation *> makers; ///< the ops that make the operand of the gather: read, names, scopes
  };

  /// Returns the read and the other makers of the operand of a gather; without
  /// a read if the operand is no stored value.
  Stored storedBehind(ccl::AllGatherOp gather) const {
    Stored stored;
    SmallVector<Operation *> open = {gather};
    DenseSet<Operation *> found;
    while (!open.empty())
      for (Value operand : open.pop_back_val()->getOperands())
        if (Operation *maker = operand.getDefiningOp(); maker && found.insert(maker).second) {
          stored.makers.push_back(maker);
          open.push_back(maker);
          auto read = dyn_cast<ccl::ReadOp>(maker);
          if (read ? stored.read != nullptr : !onlyNames(maker) && !isMemoryEffectFree(maker))
            return {};
          if (read)
            stored.read = read;
        }
    llvm::sort(stored.makers, [&](Operation *a, Operation *b) { return places.lookup(a) < places.lookup(b); });
    return stored;
  }

  /// The gathers of stored values so far. They keep their order.
  struct Gathers {
    SmallVector<std::pair<Operation *, int64_t>> waits; ///< their waits, with the bytes that each gathers
    size_t anchor = 0;                    ///< the number of the wait behind which the last gather was moved
    Operation *last = nullptr;            ///< the last gather, if it was moved
    DenseMap<StringRef, size_t> assigned; ///< by storage: the waits before its last assignment
  };

  /// Returns how many waits before its own the gather may start.
  static size_t groupsAhead(const Window &window, const Gathers &gathers) {
    size_t groups = 0;
    int64_t bytes = window.gathered;
    while (groups < gathers.waits.size() && static_cast<int64_t>(groups) < window.groups &&
           (window.bytes == 0 || bytes <= window.bytes))
      bytes += gathers.waits[gathers.waits.size() - ++groups].second;
    return groups;
  }

  /// Moves a gather, with the makers of its operand, behind the wait of number
  /// `anchor`. No op is moved twice, and waits stay, so that it is enough to
  /// know where ops stood originally.
  void startEarly(ccl::AllGatherOp gather, const Stored &stored, size_t anchor, Gathers &gathers) {
    Operation *wait = gathers.waits[anchor].first;
    Operation *after = gathers.last && anchor == gathers.anchor ? gathers.last : wait;
    for (Operation *maker : stored.makers)
      if (places.lookup(wait) < places.lookup(maker) && moved.insert(maker).second) {
        maker->moveAfter(after);
        after = maker;
      }
    gather->moveAfter(after);
    gathers.anchor = anchor;
    gathers.last = gather;
  }

  /// Whether ranks of the group of the gather have programs of their own, in
  /// which other gathers come before it.
  bool isApart(ccl::AllGatherOp gather) const {
    auto axes = gather->getParentOfType<ModuleOp>()->getAttrOfType<ArrayAttr>("ccl.apart");
    const std::string own = ("_" + gather.getGroup().getName() + "_").str();
    return axes && llvm::any_of(axes.getAsRange<StringAttr>(), [&](StringAttr axis) {
             return StringRef(own).contains(("_" + axis.getValue() + "_").str());
           });
  }

  LogicalResult place(ccl::AllGatherOp gather, Gathers &gathers) {
    if (!gather.getStored() || isApart(gather))
      return success();
    Stored stored = storedBehind(gather);
    if (!stored.read)
      return gather.emitOpError() << "\"" << gather.getWhat()
                                  << "\" has 'stored', but its operand is not the value of a storage; remove 'stored'";
    const Window window = windows.lookup(stored.read).as(gather.getInput().getType(), stored.read.getType());
    if (window.groups > 0 && window.bytes > 0 && window.gathered > window.bytes)
      return gather.emitOpError() << "\"" << gather.getWhat() << "\" gathers " << window.gathered
                                  << " bytes, but gathers ahead of their use may take at most prefetch-bytes = "
                                  << window.bytes
                                  << "; raise it to the bytes of the largest group, or set prefetch = 0 for this one";
    const size_t anchor = std::max({gathers.anchor, gathers.assigned.lookup(stored.read.getStorage()),
                                    gathers.waits.size() - groupsAhead(window, gathers)});
    if (anchor < gathers.waits.size()) {
      startEarly(gather, stored, anchor, gathers);
    } else { // it stays right before its own wait
      gathers.anchor = anchor;
      gathers.last = nullptr;
    }
    gathers.waits.push_back({waitOf(gather), window.gathered});
    return success();
  }

  LogicalResult startGathersEarly() {
    for (Operation &op : block)
      places[&op] = places.size();
    Gathers gathers;
    for (Operation &op : llvm::make_early_inc_range(block))
      if (auto gather = dyn_cast<ccl::AllGatherOp>(op)) {
        if (failed(place(gather, gathers)))
          return failure();
      } else if (auto assign = dyn_cast<ccl::AssignOp>(op)) {
        gathers.assigned[assign.getStorage()] = gathers.waits.size();
      }
    return success();
  }

  /// Whether a reduction may be waited for later. It belongs to the variable in
  /// whose update its result, or what it adds up, is fenced. Of the members of
  /// a bucket, which have one policy, the first that is found decides.
  bool overlaps(ccl::CollectiveOpInterface reduction) {
    SmallVector<Operation *> open(waitOf(reduction)->user_begin(), waitOf(reduction)->user_end());
    while (!open.empty()) {
      Operation *op = open.pop_back_val();
      if (auto known = overlapsUpdates.find(op); known != overlapsUpdates.end())
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
      if (auto known = overlapsUpdates.find(op); known != overlapsUpdates.end())
        return known->second;
      if (aliasedBy(op) || isa<ccl::PackOp>(op))
        addMakers(op);
    }
    return depth > 0;
  }

  /// Moves the wait of a reduction to where the result is first used, or before
  /// the next reduction starts. Another name for the result is no use.
  void waitForReductionsLate() {
    SmallVector<Operation *> open; // the wait of the reduction under way, and what names its result
    for (Operation &op : llvm::make_early_inc_range(block)) {
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
      if (isReduction && overlaps(collective))
        open = {waitOf(collective)};
    }
  }

  /// An all-to-all that is under way.
  struct Exchange {
    SmallVector<Operation *> late; ///< its wait, and the ops that name its result
    DenseSet<Value> sent;          ///< its operand, under all names
    bool receivesNothing() const {
      return cast<RankedTensorType>(late.front()->getResult(0).getType()).getNumElements() == 0;
    }
    bool isNameFor(Operation *op) const {
      return aliasedBy(op) && llvm::is_contained(late, aliasedBy(op).getDefiningOp());
    }
    bool isUsedBy(Operation *op) const {
      return llvm::any_of(op->getOperands(),
                          [&](Value v) { return sent.contains(v) || llvm::is_contained(late, v.getDefiningOp()); });
    }
  };

  static Exchange startOf(ccl::AllToAllOp op) {
    Exchange exchange{{waitOf(op)}, {}};
    if (cast<RankedTensorType>(op.getInput().getType()).getNumElements() == 0)
      return exchange; // nothing is sent: the empty operand is one value, which many ops name
    SmallVector<Value> open = {op.getInput()};
    while (Value named = aliasedBy(open.back().getDefiningOp()))
      open.push_back(named);
    open = {open.back()};
    while (!open.empty()) {
      const Value name = open.pop_back_val();
      exchange.sent.insert(name);
      for (Operation *user : name.getUsers())
        if (aliasedBy(user) == name)
          open.push_back(user->getResult(0));
    }
    return exchange;
  }

  /// Moves the wait of an all-to-all to where its result is first used: while
  /// the stage before sends it, this rank computes something else. A rank that
  /// receives nothing waits before the next all-to-all starts, and every rank
  /// waits before an op that uses the operand. If the operand is a stored
  /// value, the wait stays, since ops that do not use the value may overwrite
  /// it.
  void waitForExchangesLate() {
    SmallVector<Exchange> open;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto start = dyn_cast<ccl::AllToAllOp>(op);
      llvm::erase_if(open, [&](Exchange &each) {
        if (each.isNameFor(&op)) {
          each.late.push_back(&op);
          return false;
        }
        const bool isNeeded = (!aliasedBy(&op) && each.isUsedBy(&op)) || op.hasTrait<OpTrait::IsTerminator>() ||
                              (start && each.receivesNothing());
        if (isNeeded)
          for (Operation *late : each.late)
            late->moveBefore(&op);
        return isNeeded;
      });
      if (!start)
        continue;
      Exchange exchange = startOf(start);
      if (llvm::none_of(exchange.sent, [](Value v) { return v.getDefiningOp<ccl::ReadOp>(); }))
        open.push_back(std::move(exchange));
    }
  }

  Block &block;
  const SymbolTable &symbols;
  const int64_t depth;
  DenseMap<Operation *, size_t> places;        ///< the original places of ops
  DenseSet<Operation *> moved;                 ///< makers of operands that were moved
  DenseMap<Operation *, Window> windows;       ///< by read of a storage
  DenseMap<Operation *, bool> overlapsUpdates; ///< by fence in the update of a variable with a policy
};

struct Prefetch : splitcast::impl::PrefetchPassBase<Prefetch> {
  using PrefetchPassBase::PrefetchPassBase;

  void runOnOperation() override {
    if (depth < 0) {
      getOperation().emitError() << "'ccl-prefetch' got depth=" << depth.getValue() << "; it must be at least 0";
      return signalPassFailure();
    }
    const SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(verifyStraightLine(function)) || failed(FunctionPrefetch(function, symbols, depth).run()))
        return signalPassFailure();
  }
};

} // namespace
