// Recomputes forward values of a group in backward.
//
//   1. Each forward op gets a group: that of the variable that it reads, or else
//      the latest of its operands' groups, where groups are ordered by their first
//      use. So a residual block is one group, from its first norm to its last
//      addition.
//   2. Values that leave a group (another group, a result or an assignment uses
//      them) are kept, and so are arguments, variables and scalars. All other values
//      of a recomputed group that backward uses are cloned, together with the ops
//      before them in the group, right before their first use there. The operands
//      of these clones are fenced in a scope of the group, in backward, so that
//      --cse does not merge the clones with the originals.
//   3. In a group of which only elementwise ops are recomputed, it does not matter
//      what other groups use. A result is cloned if backward uses all operands of
//      its op anyway and none of them is a parameter, but not if it is held for
//      another reason: because it is returned, or because an update needs it.
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

/// The decisions about recomputation, by variable.
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
      if (isNamed) // later passes read the policy, not the option
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
  /// Whether the group, or one around it, is named; marks the names as used.
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

/// Clones the recomputed forward ops of one function into backward.
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
  /// The group of a forward op.
  struct Place {
    int64_t order = -1; ///< the number of the group, in the order of first uses; -1: none
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
      if (isMemoryEffectFree(&op) &&
          llvm::all_of(op.getOperands(), [&](Value operand) { return constants.contains(operand); }))
        constants.insert(op.result_begin(), op.result_end());
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

  /// Whether the op is elementwise and backward uses all its operands, which
  /// are no parameters: of a parameter, backward may have only a piece, so that
  /// reading it as forward did would be a gather.
  bool isElementwiseOfKept(Operation *op) const {
    auto sharded = dyn_cast<sbp::ShardingOpInterface>(op);
    return sharded && sbp::isElementwise(sharded.getLoopSpec()) && llvm::all_of(op->getOperands(), [&](Value operand) {
             return usedInBackward.contains(operand) && !readBehind(operand);
           });
  }

  /// Whether the value is held anyway: it is returned, or an update or an
  /// assignment needs it.
  bool isHeldAnyway(Value value) const {
    return llvm::any_of(value.getUsers(), [&](Operation *user) {
      return phases.lookup(user) == sbp::Phase::Update || !isMemoryEffectFree(user) ||
             user->hasTrait<OpTrait::IsTerminator>();
    });
  }

  /// Whether another group, an update or an op with effects uses the value. The
  /// answer is remembered, since it is asked for each use in backward.
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

  /// Returns the recomputed value, whose ops are cloned before `user`.
  Value again(Value value, Operation *user) {
    SmallVector<Operation *> slice = missingFor(value);
    builder.setInsertionPoint(user);
    for (Operation *op : slice) {
      const StringAttr group = places.lookup(op).group;
      auto operands = llvm::map_to_vector(op->getOpOperands(), [&](OpOperand &use) {
        const Value operand = use.get(), made = clones.lookup(operand);
        if (made || sbp::isPlaceAlone(use))
          return made ? made : operand;
        return isa<RankedTensorType>(operand.getType()) && !constants.contains(operand) ? fenced(operand, group)
                                                                                        : operand;
      });
      Operation *copy = builder.clone(*op);
      copy->setOperands(operands);
      for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
        clones[from] = to;
    }
    return clones.lookup(value);
  }

  /// Returns the ops that have to be cloned for the value, in their order.
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

  /// Returns the fence of a value with which the clones of a group begin.
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
  SmallVector<Operation *> backward;      ///< the ops of backward before any clones, in order
  DenseMap<Operation *, int64_t> numbers; ///< by op: its number in the block
  DenseMap<Operation *, Place> places;    ///< by forward op
  mutable DenseMap<Value, bool> leaving;  ///< by forward value: whether it leaves its group
  DenseSet<Value> constants;              ///< forward values that depend on nothing: micro-batches may cut them
  DenseSet<Value> usedInBackward;         ///< the values that backward used before any clones
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
