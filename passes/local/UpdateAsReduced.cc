// Updates a variable as soon as its gradient is complete, so that the gradient
// need not be kept until backward ends.
//
// Ops of updates that depend on a gradient (kernels, and the assignments of
// their results) move up, one by one in their order: behind the ops that make
// their operands, and behind the last op before them that uses the values that
// their results replace. What else they need, such as scalars of the optimizer
// and views and fences of stored values, moves along. Collectives stay where
// they are, so ops that depend on one after backward, such as a norm of all
// gradients, stay behind it. An op moves only if all storages that it leads to
// belong to variables whose policy says so (stages 2 and 3).
//
//   before   %p = ccl.reduce_scatter "two" %g2        after    %p = ccl.reduce_scatter "two" %g2
//            %two = ccl.wait %p                                %two = ccl.wait %p
//            %q = ccl.reduce_scatter "one" %g1                 %q = ccl.reduce_scatter "one" %g1
//            %h = nn.matmul %x, %y                             %u = nn.fusion(%w, %two)     while "one" is under way
//            %one = ccl.wait %q                                ccl.assign @w2, %u           %two is needed no more
//            %u = nn.fusion(%w, %two)                          %h = nn.matmul %x, %y
//            ccl.assign @w2, %u                                %one = ccl.wait %q
#include "dialects/sbp/Phases.h"
#include "passes/local/Aliases.h"
#include "passes/local/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <map>

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_UPDATEASREDUCEDPASS
#include "passes/local/Passes.h.inc"
} // namespace splitcast

namespace {

/// Where an op stands: behind the op that was originally the `anchor`-th one,
/// as the `order`-th op that moved there.
struct Position {
  int64_t anchor = -1;
  int64_t order = 0;
  bool operator<(const Position &other) const { return std::tie(anchor, order) < std::tie(other.anchor, other.order); }
};

/// Whether an op may stand anywhere behind its operands, as far as ops other
/// than reads and assignments are concerned.
bool isMovable(Operation *op) { return onlyNames(op) || isa<ccl::ReadOp>(op) || isMemoryEffectFree(op); }

/// What the ops of updates depend on and replace. This is computed once for
/// each op.
class Updates {
public:
  Updates(Block &block, function_ref<bool(StringRef)> isUpdatedEarly) : phases(sbp::phasesOf(block)) {
    for (Operation &op : block)
      if (isOfGradient(&op))
        ofGradients.insert(&op);
    for (Operation &op : llvm::reverse(block))
      findReplaced(&op, isUpdatedEarly);
  }

  bool isOfUpdate(Operation *op) const { return phases.lookup(op) == sbp::Phase::Update; }
  bool dependsOnGradient(Operation *op) const { return ofGradients.contains(op); }
  /// Whether the op depends on a gradient, leads only to storages that are
  /// updated early, and can move.
  bool mayBeEarly(Operation *op) const {
    return ofGradients.contains(op) && early.contains(op) && (isMovable(op) || isa<ccl::AssignOp>(op));
  }
  /// Returns the storages of which the result of the op replaces a part, as it
  /// is or after a gather.
  ArrayRef<StringRef> replacedBy(Operation *op) const {
    auto known = replaced.find(op);
    return known == replaced.end() ? ArrayRef<StringRef>() : ArrayRef<StringRef>(known->second);
  }

private:
  /// Whether the op depends on the gradient of an update, or is it. A gradient
  /// is a value that an update fences, that lies in no storage, and that was
  /// not computed in an update.
  bool isOfGradient(Operation *op) const {
    if (!isOfUpdate(op))
      return false;
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      Operation *maker = operand.getDefiningOp();
      if (!maker || isa<sbp::ScopeOp>(maker))
        return false;
      if (ofGradients.contains(maker))
        return true;
      while (Value aliased = aliasedBy(maker)) {
        maker = aliased.getDefiningOp();
        if (!maker)
          return false;
      }
      return isa<sbp::FenceOp>(op) && !isOfUpdate(maker) && !isa<ccl::ReadOp>(maker);
    });
  }

  void findReplaced(Operation *op, function_ref<bool(StringRef)> isUpdatedEarly) {
    if (auto assign = dyn_cast<ccl::AssignOp>(op)) {
      replaced[op] = {assign.getStorage()};
      if (isUpdatedEarly(assign.getStorage()))
        early.insert(op);
      return;
    }
    SmallVector<StringRef> found;
    bool leadsThere = false, leadsElsewhere = false;
    for (Operation *user : op->getUsers()) {
      (early.contains(user) ? leadsThere : leadsElsewhere) |= !user->hasTrait<OpTrait::IsTerminator>();
      if (isa<ccl::AssignOp, ccl::CollectiveOpInterface, ccl::WaitOp, ccl::PackOp>(user) || aliasedBy(user))
        for (StringRef storage : replacedBy(user))
          if (!llvm::is_contained(found, storage))
            found.push_back(storage);
    }
    if (leadsThere && !leadsElsewhere)
      early.insert(op);
    if (!found.empty())
      replaced[op] = std::move(found);
  }

  DenseMap<Operation *, sbp::Phase> phases;
  DenseSet<Operation *> ofGradients, early;
  DenseMap<Operation *, SmallVector<StringRef>> replaced;
};

/// Finds the new places of all ops, then moves them.
class Mover {
public:
  Mover(Block &block, const Updates &updates) : block(block), updates(updates) {
    for (Operation &op : block) {
      positions[&op] = {static_cast<int64_t>(ops.size()), 0};
      ops.push_back(&op);
      // An update saves memory by being earlier only if something else is
      // computed meanwhile.
      work.push_back((work.empty() ? 0 : work.back()) + (!updates.isOfUpdate(&op) && !onlyNames(&op)));
    }
  }

  void run() {
    for (Operation *op : ops) {
      Position bound = bounds[op] = boundOf(op);
      if (updates.mayBeEarly(op) && work[positions[op].anchor] > work[std::max<int64_t>(bound.anchor, 0)])
        placeBehind(bound.anchor, op);
      else if (!isMovable(op) || updates.dependsOnGradient(op))
        bounds[op] = positions[op];
      noteUses(op);
    }
    llvm::stable_sort(ops, [&](Operation *a, Operation *b) { return positions[a] < positions[b]; });
    for (Operation *op : ops)
      op->moveBefore(&block, block.end());
  }

private:
  /// Returns the earliest position behind which the op may stand. A gradient
  /// stays where it is.
  Position boundOf(Operation *op) {
    Position result;
    auto include = [&](const std::map<StringRef, Position> &last, StringRef storage) {
      if (auto known = last.find(storage); known != last.end())
        result = std::max(result, known->second);
    };
    const bool isGradient = isa<sbp::FenceOp>(op) && updates.dependsOnGradient(op);
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp())
        result = std::max(result, isGradient && !isa<sbp::ScopeOp>(maker) ? positions[maker] : bounds[maker]);
    if (auto read = dyn_cast<ccl::ReadOp>(op))
      include(lastAssign, read.getStorage());
    for (StringRef storage : updates.replacedBy(op)) {
      include(lastAssign, storage);
      include(lastUse, storage);
    }
    if (auto assign = dyn_cast<ccl::AssignOp>(op))
      for (Operation *read : reads[assign.getStorage()])
        result = std::max(result, positions[read]);
    if (!updates.mayBeEarly(op) || updates.replacedBy(op).empty())
      return result;
    // Ops that would move along do not hold the op back.
    SmallVector<Operation *> along = neededBehind(result.anchor, op);
    for (StringRef storage : updates.replacedBy(op))
      for (Operation *use : preparations[storage])
        if (!llvm::is_contained(along, use))
          result = std::max(result, positions[use]);
    return result;
  }

  /// Moves the op behind the `anchor`-th one, with the ops that it needs and
  /// that are not before that yet.
  void placeBehind(int64_t anchor, Operation *op) {
    // Do not stand between a wait and the collective that starts next, which
    // should be under way meanwhile.
    while (anchor + 1 < positions[op].anchor && isa<ccl::CollectiveOpInterface>(ops[anchor + 1]))
      ++anchor;
    for (Operation *one : neededBehind(anchor, op))
      positions[one] = {anchor, ++moved}; // an op that moved for the update of an earlier variable may move again
    bounds[op] = positions[op];
  }

  /// Returns the op, and the ops that it needs and that are not before the op
  /// behind the `anchor`-th one yet, in their order.
  SmallVector<Operation *> neededBehind(int64_t anchor, Operation *op) {
    SmallVector<Operation *> needed = {op};
    DenseSet<Operation *> found = {op};
    for (size_t next = 0; next < needed.size(); ++next)
      for (Value operand : needed[next]->getOperands())
        if (Operation *maker = operand.getDefiningOp();
            maker && positions[maker].anchor > anchor && found.insert(maker).second)
          needed.push_back(maker);
    llvm::sort(needed, [&](Operation *a, Operation *b) { return positions[a] < positions[b]; });
    return needed;
  }

  /// Notes how the op uses storages. A collective uses its operand until its
  /// wait.
  void noteUses(Operation *op) {
    auto note = [&](StringRef storage, Operation *use) {
      if (updates.isOfUpdate(use) && !updates.dependsOnGradient(use))
        preparations[storage].push_back(use);
      else
        lastUse[storage] = std::max(lastUse[storage], positions[use]);
    };
    if (auto read = dyn_cast<ccl::ReadOp>(op)) {
      storages[read.getResult()] = read.getStorage();
      reads[read.getStorage()].push_back(op);
      return;
    }
    if (auto assign = dyn_cast<ccl::AssignOp>(op)) {
      lastAssign[assign.getStorage()] = positions[op];
      reads[assign.getStorage()].clear(); // the next assignment comes behind this one
      preparations[assign.getStorage()].clear();
    }
    auto collective = dyn_cast<ccl::CollectiveOpInterface>(op);
    for (Value operand : op->getOperands())
      if (auto known = storages.find(operand); known != storages.end()) {
        if (aliasedBy(op))
          storages[op->getResult(0)] = StringRef(known->second);
        else
          note(known->second, collective ? waitOf(collective).getOperation() : op);
      }
  }

  Block &block;
  const Updates &updates;
  std::vector<Operation *> ops; ///< in their original order
  std::vector<int64_t> work;    ///< per op: the ops up to it that belong to no update
  DenseMap<Operation *, Position> positions, bounds;
  DenseMap<Value, StringRef> storages; ///< by value: the storage in which it lies
  std::map<StringRef, Position> lastUse, lastAssign;
  std::map<StringRef, SmallVector<Operation *>> reads;        ///< by storage: the reads since its last assignment
  std::map<StringRef, SmallVector<Operation *>> preparations; ///< uses since then in updates, without gradient
  int64_t moved = 0;
};

struct UpdateAsReduced : splitcast::impl::UpdateAsReducedPassBase<UpdateAsReduced> {
  void runOnOperation() override {
    const SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (failed(verifyStraightLine(function)))
        return signalPassFailure();
      Block &block = function.getBody().front();
      Updates updates(block, [&](StringRef storage) { return isUpdatedEarly(storage, symbols); });
      Mover(block, updates).run();
    }
  }

  /// Whether the storage is updated early. All its variables have one policy,
  /// and states have that of their variable.
  static bool isUpdatedEarly(StringRef name, const SymbolTable &symbols) {
    auto storage = symbols.lookup<ccl::StorageOp>(name);
    if (!storage || storage.getMembers().empty())
      return false;
    auto variable = symbols.lookup<sbp::VariableOp>(cast<FlatSymbolRefAttr>(storage.getMembers()[0]).getValue());
    if (variable && variable.getStateOf())
      variable = symbols.lookup<sbp::VariableOp>(*variable.getStateOf());
    if (!variable || !variable.getPolicyAttr())
      return false;
    const sbp::Policy policy = variable.getPolicyOrDefault();
    return policy.splitsGradients() && policy.update() == sbp::Update::Reduced;
  }
};

} // namespace
