// Boxing between what is stored and what the graph reads.
#include "dialects/sbp/Phases.h"
#include "passes/global/Passes.h"

#include "mlir/IR/Dominance.h"

#include <tuple>

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_INSERTBOXINGPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

using sbp::Phase;

sbp::Wanted::Kind wantedIn(Phase phase) {
  return phase == Phase::Forward    ? sbp::Wanted::Kind::Forward
         : phase == Phase::Backward ? sbp::Wanted::Kind::Backward
                                    : sbp::Wanted::Kind::Update;
}

class FunctionBoxing {
public:
  FunctionBoxing(func::FuncOp function, SymbolTable &symbols) : function(function), symbols(symbols) {}

  void run() {
    Block &body = function.getBody().front();
    phases = sbp::phasesOf(body);
    findLastGroup(body);
    for (auto read : llvm::make_early_inc_range(body.getOps<sbp::ReadOp>()))
      boxRead(read);
    for (auto assign : body.getOps<sbp::AssignOp>())
      boxAssign(assign);
  }

private:
  /// The group that forward uses last is the one that backward begins with.
  void findLastGroup(Block &body) {
    for (Operation &op : body)
      for (Value operand : op.getOperands())
        if (auto read = operand.getDefiningOp<sbp::ReadOp>())
          if (phases[&op] == Phase::Forward && !feedsOnlyUpdates(&op) && isStoredSplit(read))
            lastGroup = groupOf(read);
  }

  sbp::VariableOp variableOf(sbp::ReadOp read) { return symbols.lookup<sbp::VariableOp>(read.getVariable()); }
  bool isStoredSplit(sbp::ReadOp read) {
    return sbp::signatureOf(read.getResult()) != variableOf(read).getStorageOrLogical();
  }

  /// What is gathered together: a bucket or a group, which may have one name.
  struct Gathered {
    bool isBucket = false;
    std::string name;
    bool operator==(const Gathered &other) const { return isBucket == other.isBucket && name == other.name; }
    bool operator<(const Gathered &other) const {
      return std::tie(isBucket, name) < std::tie(other.isBucket, other.name);
    }
  };

  /// Variables of one bucket are gathered together, so the bucket is the group; else the variable's own.
  Gathered groupOf(sbp::ReadOp read) {
    sbp::VariableOp variable = variableOf(read);
    if (sbp::SlotAttr slot = variable.getSlotAttr())
      return {true, slot.getBucket().str()};
    StringRef group = variable.getGroupOrPrefix();
    return {false, (group.empty() ? variable.getSymName() : group).str()};
  }

  /// A boxing before the fence of an update: it is undone by the one that is inserted, and needs no scope.
  bool feedsOnlyUpdates(Operation *op) {
    return isa<sbp::BoxingOp>(op) &&
           llvm::all_of(op->getUsers(), [&](Operation *user) { return phases.lookup(user) == Phase::Update; });
  }

  Phase phaseOfUse(Operation *user) { return feedsOnlyUpdates(user) ? Phase::Update : phases.lookup(user); }

  bool isKept(sbp::ReadOp read) {
    switch (variableOf(read).getPolicyOrDefault().keep()) {
    case sbp::Keep::Never:
      return false;
    case sbp::Keep::Last:
      return groupOf(read) == lastGroup;
    case sbp::Keep::Always:
    case sbp::Keep::Step: // 'sbp-hoist-gathers' makes one gather of those of all micro-batches
      return true;
    }
  }

  void boxRead(sbp::ReadOp read) {
    if (!isStoredSplit(read))
      return;
    Type logical = read.getResult().getType();
    read.getResult().setType(variableOf(read).getStorageType());
    std::map<Phase, SmallVector<OpOperand *>> uses;
    for (OpOperand &use : read.getResult().getUses()) {
      Phase phase = phaseOfUse(use.getOwner());
      if (phase == Phase::Backward && isKept(read))
        phase = Phase::Forward;
      uses[phase].push_back(&use);
    }
    for (auto &[phase, operands] : uses) {
      Operation *first = operands.front()->getOwner();
      for (OpOperand *use : operands)
        if (use->getOwner()->isBeforeInBlock(first))
          first = use->getOwner();
      Value boxed = boxFor(read, logical, phase, first);
      for (OpOperand *use : operands)
        use->set(boxed);
    }
  }

  Value boxFor(sbp::ReadOp read, Type logical, Phase phase, Operation *firstUser) {
    OpBuilder builder(firstUser);
    Value source = read.getResult();
    if (phase != Phase::Update)
      source = builder.create<sbp::FenceOp>(read.getLoc(), source, scopeOf(phase, groupOf(read)));
    return builder.create<sbp::BoxingOp>(reasonOf(read, {wantedIn(phase), read.getVariableAttr().getAttr()}), logical,
                                         source, nullptr);
  }

  Value scopeOf(Phase phase, const Gathered &group) {
    Value &scope = scopes[{phase, group}];
    if (!scope) {
      OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
      scope = builder.create<sbp::ScopeOp>(function.getLoc(), sbp::PhaseAttr::get(builder.getContext(), phase),
                                           builder.getStringAttr(group.name), nullptr);
    }
    return scope;
  }

  void boxAssign(sbp::AssignOp assign) {
    auto variable = symbols.lookup<sbp::VariableOp>(assign.getVariable());
    Type storage = variable.getStorageType();
    if (assign.getValue().getType() == storage)
      return;
    OpBuilder builder(assign);
    assign.getValueMutable().assign(builder.create<sbp::BoxingOp>(
        reasonOf(assign, {sbp::Wanted::Kind::Assign, variable.getSymNameAttr()}), storage, assign.getValue(), nullptr));
  }

  static Location reasonOf(Operation *op, const sbp::Wanted &wanted) {
    return sbp::withReason(op->getLoc(), sbp::WantedAttr::get(op->getContext(), wanted));
  }

  func::FuncOp function;
  SymbolTable &symbols;
  DenseMap<Operation *, Phase> phases;
  std::map<std::pair<Phase, Gathered>, Value> scopes;
  Gathered lastGroup;
};

struct InsertBoxing : splitcast::impl::InsertBoxingPassBase<InsertBoxing> {
  using InsertBoxingPassBase::InsertBoxingPassBase;

  void runOnOperation() override {
    if (failed(verifyModule(getOperation())))
      return signalPassFailure();
    SymbolTable symbols(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.getBody().hasOneBlock()) {
        function.emitOpError() << "must have a body of one block";
        return signalPassFailure();
      }
    for (auto function : getOperation().getOps<func::FuncOp>())
      FunctionBoxing(function, symbols).run();
    foldRoundTrips();
  }

  /// What was boxed to the logical signature for an update, or from it for an assignment, cancels out here, so that the
  /// result does not depend on whether --canonicalize runs next. Users come after what they use: one walk forward folds
  /// all round trips, and one backward erases what then has no use.
  void foldRoundTrips() {
    SmallVector<sbp::BoxingOp> boxings;
    getOperation().walk([&](sbp::BoxingOp op) {
      boxings.push_back(op);
      auto inner = op.getInput().getDefiningOp<sbp::BoxingOp>();
      if (inner && inner.getInput().getType() == op.getType())
        op.replaceAllUsesWith(inner.getInput());
    });
    for (sbp::BoxingOp op : llvm::reverse(boxings))
      if (op.use_empty())
        op.erase();
  }
};

} // namespace
