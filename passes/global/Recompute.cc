// What forward made in a group is made again in backward.
//
//   1. Groups are put on the ops of forward: that of the variable which an op reads; of others the latest of its
//      operands', where a group's place is that of its first use. So a residual block is one group from its first norm
//      to its last addition.
//   2. What leaves a group (another group, a result or an assignment uses it) is kept, as are arguments, variables and
//      scalars. All else that backward uses of a recomputed group is cloned, with the ops before it in the group, right
//      before its first use there. What the clones begin with is fenced in a scope of the group, in backward: so --cse
//      merges none with what it was cloned from.
//   3. Of a group of which only what is elementwise is made again, what other groups use is no other case: a result is
//      cloned where all operands of its op, none of them a parameter, are there in backward anyway. Not what is held
//      for another reason: a result, or what an update needs.
#include "dialects/sbp/Phases.h"
#include "dialects/sbp/algebra/Solver.h"
#include "passes/global/Passes.h"
#include "passes/global/ReadAs.h"

#include <map>

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_RECOMPUTEPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

/// Which variables are of a recomputed group.
class Decisions {
public:
  static FailureOr<Decisions> of(ModuleOp module, sbp::Recompute standard, ArrayRef<std::string> groups) {
    Decisions decisions;
    llvm::StringMap<bool> used;
    for (const std::string &group : groups)
      used[group] = false;
    sbp::GroupPolicies policies;
    for (auto group : module.getOps<sbp::GroupOp>())
      if (failed(policies.add(group)))
        return failure();
    for (auto variable : module.getOps<sbp::VariableOp>()) {
      decisions.groups[variable.getSymNameAttr()] = StringAttr::get(module.getContext(), variable.getGroupOrPrefix());
      if (variable.getStateOf())
        continue;
      const bool isNamed = noteUse(variable.getGroupOrPrefix(), used);
      if (isNamed) // it then says so itself, and no pass after this one asks for the option
        variable.setPolicyAttr(sbp::PolicyAttr::get(
            module.getContext(),
            sbp::Policy()
                .setRecompute(sbp::Recompute::Yes)
                .over(variable.getPolicyAttr() ? variable.getPolicyAttr().getPolicy() : sbp::Policy())));
      const auto said = policies.policyOf(variable).get(sbp::Decision::Recompute);
      if (const auto chosen = said ? static_cast<sbp::Recompute>(*said) : standard; chosen != sbp::Recompute::No)
        decisions.recomputed[variable.getSymNameAttr()] = chosen;
    }
    for (const auto &entry : used)
      if (!entry.second)
        return module.emitError()
               << "'nn-recompute' is to recompute group '" << entry.first()
               << "', which has no variable; a variable's group is what it names, or its own name up "
                  "to the last dot";
    return decisions;
  }

  bool empty() const { return recomputed.empty(); }
  sbp::Recompute of(sbp::ReadOp read) const {
    auto found = recomputed.find(read.getVariableAttr().getAttr());
    return found == recomputed.end() ? sbp::Recompute::No : found->second;
  }
  StringAttr groupOf(sbp::ReadOp read) const { return groups.lookup(read.getVariableAttr().getAttr()); }

private:
  /// Whether the group, or one around it, is named.
  static bool noteUse(StringRef name, llvm::StringMap<bool> &used) {
    bool isNamed = false;
    while (!name.empty()) {
      if (auto found = used.find(name); found != used.end())
        isNamed = found->second = true;
      const size_t dot = name.rfind('.');
      name = dot == StringRef::npos ? StringRef() : name.substr(0, dot);
    }
    return isNamed;
  }

  DenseMap<StringAttr, sbp::Recompute> recomputed;
  DenseMap<StringAttr, StringAttr> groups; ///< by variable
};

class Recomputation {
public:
  Recomputation(func::FuncOp function, const Decisions &decisions)
      : block(function.getBody().front()), decisions(decisions), builder(function) {}

  void run() {
    phases = sbp::phasesOf(block);
    findGroups();
    for (Operation *op : backward)
      for (OpOperand &use : op->getOpOperands())
        if (!sbp::isPlaceAlone(use) && isMadeAgain(use.get()))
          use.set(again(use.get(), op));
  }

private:
  /// Of an op of forward.
  struct Place {
    int64_t order = -1; ///< of the group, by its first use; -1: of none
    StringAttr group;
    sbp::Recompute recompute = sbp::Recompute::No;
  };

  bool isForward(Operation *op) const { return phases.lookup(op) == sbp::Phase::Forward; }

  void findGroups() {
    std::map<StringRef, int64_t> orders;
    for (Operation &op : block) {
      numbers[&op] = numbers.size();
      if (phases.lookup(&op) == sbp::Phase::Backward) {
        backward.push_back(&op);
        for (OpOperand &use : op.getOpOperands())
          if (!sbp::isPlaceAlone(use))
            usedInBackward.insert(use.get());
      }
      if (!isForward(&op) || isa<sbp::ReadOp>(op) || isReadAs(&op))
        continue;
      Place &place = places[&op];
      for (Value operand : op.getOperands()) {
        Place of = places.lookup(operand.getDefiningOp());
        if (sbp::ReadOp read = readBehind(operand)) {
          const StringAttr group = decisions.groupOf(read);
          of = {orders.try_emplace(group.getValue(), orders.size()).first->second, group, decisions.of(read)};
        }
        if (of.order > place.order)
          place = of;
      }
    }
  }

  Place placeOf(Value value) const { return places.lookup(value.getDefiningOp()); }

  bool isMadeAgain(Value value) const {
    Operation *op = value.getDefiningOp();
    if (!op || !isForward(op) || isa<sbp::ReadOp>(op) || isReadAs(op) || !isMemoryEffectFree(op))
      return false;
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || type.getRank() == 0)
      return false;
    switch (placeOf(value).recompute) {
    case sbp::Recompute::No:
      return false;
    case sbp::Recompute::Yes:
      return !leavesItsGroup(value);
    case sbp::Recompute::Elementwise:
      return isElementwiseOfKept(op) && !isHeldAnyway(value);
    }
    return false;
  }

  /// A parameter that backward reads may be there as a piece only: to read it as forward did would be a gather.
  bool isElementwiseOfKept(Operation *op) const {
    auto sharded = dyn_cast<sbp::ShardingOpInterface>(op);
    return sharded && sbp::isElementwise(sharded.getLoopSpec()) && llvm::all_of(op->getOperands(), [&](Value operand) {
             return usedInBackward.contains(operand) && !readBehind(operand);
           });
  }

  /// A result, or what an update or an assignment needs.
  bool isHeldAnyway(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return phases.lookup(user) == sbp::Phase::Update || !isMemoryEffectFree(user) ||
             user->hasTrait<OpTrait::IsTerminator>();
    });
  }

  /// Asked once for each use of a value in backward.
  bool leavesItsGroup(Value value) const {
    auto [known, isNew] = leaving.try_emplace(value, false);
    if (!isNew)
      return known->second;
    const int64_t order = placeOf(value).order;
    return known->second = llvm::any_of(value.getUsers(), [&](Operation *user) {
             const sbp::Phase phase = phases.lookup(user);
             return phase == sbp::Phase::Update ||
                    (phase == sbp::Phase::Forward && (!isMemoryEffectFree(user) || places.lookup(user).order != order));
           });
  }

  /// The value, made again before `user`.
  Value again(Value value, Operation *user) {
    SmallVector<Operation *> slice = missingFor(value);
    builder.setInsertionPoint(user);
    for (Operation *op : slice) {
      const StringAttr group = places.lookup(op).group;
      auto operands = llvm::map_to_vector(op->getOpOperands(), [&](OpOperand &use) {
        const Value operand = use.get(), made = clones.lookup(operand);
        if (made || sbp::isPlaceAlone(use))
          return made ? made : operand;
        return isa<RankedTensorType>(operand.getType()) ? fenced(operand, group) : operand;
      });
      Operation *copy = builder.clone(*op);
      copy->setOperands(operands);
      for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
        clones[from] = to;
    }
    return clones.lookup(value);
  }

  /// The ops to be cloned for it, in their order.
  SmallVector<Operation *> missingFor(Value value) const {
    SmallVector<Operation *> slice, open;
    DenseSet<Operation *> seen;
    auto add = [&](Value of) {
      if (isMadeAgain(of) && !clones.contains(of) && seen.insert(of.getDefiningOp()).second)
        open.push_back(of.getDefiningOp());
    };
    add(value);
    while (!open.empty()) {
      slice.push_back(open.pop_back_val());
      for (OpOperand &use : slice.back()->getOpOperands())
        if (!sbp::isPlaceAlone(use))
          add(use.get());
    }
    llvm::sort(slice, [&](Operation *a, Operation *b) { return numbers.lookup(a) < numbers.lookup(b); });
    return slice;
  }

  /// What a group's clones begin with.
  Value fenced(Value value, StringAttr group) {
    Value &result = fences[{value, group}];
    if (!result) {
      Value &scope = scopes[group];
      if (!scope)
        scope = builder.create<sbp::ScopeOp>(
            value.getLoc(), sbp::PhaseAttr::get(builder.getContext(), sbp::Phase::Backward), group, nullptr);
      result = builder.create<sbp::FenceOp>(value.getLoc(), value, scope);
    }
    return result;
  }

  Block &block;
  const Decisions &decisions;
  OpBuilder builder;
  DenseMap<Operation *, sbp::Phase> phases;
  SmallVector<Operation *> backward;      ///< ops of it, in their order, as they were
  DenseMap<Operation *, int64_t> numbers; ///< of the ops, in their order
  DenseMap<Operation *, Place> places;    ///< of forward
  mutable DenseMap<Value, bool> leaving;  ///< its group, of values of forward; their users there stay the same
  DenseSet<Value> usedInBackward;         ///< as it was
  DenseMap<Value, Value> clones;
  DenseMap<std::pair<Value, StringAttr>, Value> fences;
  DenseMap<StringAttr, Value> scopes;
};

struct Recompute : splitcast::impl::RecomputePassBase<Recompute> {
  using RecomputePassBase::RecomputePassBase;

  void runOnOperation() override {
    FailureOr<Decisions> decisions = Decisions::of(getOperation(), standard, *groups);
    if (failed(decisions))
      return signalPassFailure();
    if (decisions->empty())
      return;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && function.getBody().hasOneBlock())
        Recomputation(function, *decisions).run();
  }
};

} // namespace
