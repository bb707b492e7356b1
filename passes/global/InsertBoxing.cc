// Inserts boxings between the signatures in which variables are stored and
// those in which the graph reads them.
#include "dialects/sbp/Phases.h"
#include "passes/global/Passes.h"
#include "passes/global/ReadAs.h"
#include "passes/global/VariableStorages.h"

#include "mlir/IR/Dominance.h"
#include "llvm/ADT/StringSet.h"

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

/// Boxes the reads and assigns of one function.
class FunctionBoxing {
public:
  /// `isScheduled` says whether a schedule runs the function.
  FunctionBoxing(func::FuncOp function, SymbolTable &symbols, bool isScheduled)
      : function(function), symbols(symbols), isScheduled(isScheduled) {}

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
  /// Finds the group that forward uses last, with which backward begins; one
  /// for each stage of a pipeline.
  void findLastGroup(Block &body) {
    for (Operation &op : body)
      for (Value operand : op.getOperands())
        if (sbp::ReadOp read = readBehind(operand); read && !isReadAs(&op))
          if (phases[&op] == Phase::Forward && !feedsOnlyUpdates(&op) && isStoredSplit(read))
            lastGroups[coordinatesOf(variableOf(read))] = groupOf(read);
  }

  sbp::VariableOp variableOf(sbp::ReadOp read) { return symbols.lookup<sbp::VariableOp>(read.getVariable()); }
  bool isStoredSplit(sbp::ReadOp read) {
    return sbp::signatureOf(read.getResult()) != variableOf(read).getStorageOrLogical();
  }

  /// What is gathered together: a bucket or a group. The two may have the same
  /// name.
  struct Gathered {
    bool isBucket = false;
    std::string name;
    bool operator==(const Gathered &other) const { return isBucket == other.isBucket && name == other.name; }
    bool operator<(const Gathered &other) const {
      return std::tie(isBucket, name) < std::tie(other.isBucket, other.name);
    }
  };

  /// Returns the bucket of the variable, whose members are gathered together,
  /// or else its group.
  Gathered groupOf(sbp::ReadOp read) {
    sbp::VariableOp variable = variableOf(read);
    if (sbp::SlotAttr slot = variable.getSlotAttr())
      return {true, slot.getBucket().str()};
    StringRef group = variable.getGroupOrPrefix();
    return {false, (group.empty() ? variable.getSymName() : group).str()};
  }

  /// Whether the op is a boxing whose result only updates use. The boxing that
  /// is inserted cancels it out, and it needs no scope.
  bool feedsOnlyUpdates(Operation *op) {
    return isa<sbp::BoxingOp>(op) &&
           llvm::all_of(op->getUsers(), [&](Operation *user) { return phases.lookup(user) == Phase::Update; });
  }

  Phase phaseOfUse(Operation *user) { return feedsOnlyUpdates(user) ? Phase::Update : phases.lookup(user); }

  /// Whether the variable belongs to a stage of a pipeline. Such a stage works
  /// on other micro-batches between forward and backward of one, and each would
  /// keep a gathered value of its own; so the values are gathered again for
  /// backward.
  bool isOfPipeline(sbp::ReadOp read) { return isScheduled && variableOf(read).getLogical().hasAt(); }

  bool isKept(sbp::ReadOp read) {
    if (isOfPipeline(read) && variableOf(read).getPolicyOrDefault().keep() != sbp::Keep::Step)
      return false;
    switch (variableOf(read).getPolicyOrDefault().keep()) {
    case sbp::Keep::Never:
      return false;
    case sbp::Keep::Last:
      return lastGroups.count(coordinatesOf(variableOf(read))) > 0 &&
             groupOf(read) == lastGroups[coordinatesOf(variableOf(read))];
    case sbp::Keep::Always:
    case sbp::Keep::Step: // 'sbp-hoist-gathers' merges the gathers of all micro-batches
      return true;
    }
  }

  /// The uses of a read. Those of one phase in one type share a boxing.
  struct Uses {
    SmallVector<Type, 2> types; ///< element types, in the order in which they were found
    std::map<std::pair<Phase, size_t>, SmallVector<OpOperand *>> of;

    void add(Phase phase, OpOperand *use) {
      const Type element = getElementTypeOrSelf(use->get().getType());
      const size_t number = llvm::find(types, element) - types.begin();
      if (number == types.size())
        types.push_back(element);
      of[{phase, number}].push_back(use);
    }
  };

  void boxRead(sbp::ReadOp read) {
    if (!isStoredSplit(read))
      return;
    RankedTensorType logical = read.getResult().getType();
    Uses uses;
    SmallVector<Operation *> casts;
    for (Operation *user : read->getUsers())
      if (isReadAs(user))
        casts.push_back(user);
    addUses(read, read, uses);
    for (Operation *cast : casts)
      addUses(read, cast, uses);
    read.getResult().setType(variableOf(read).getStorageType());
    for (auto &[key, operands] : uses.of) {
      Operation *first = operands.front()->getOwner();
      for (OpOperand *use : operands)
        if (use->getOwner()->isBeforeInBlock(first))
          first = use->getOwner();
      Value boxed = boxFor(read, logical.clone(uses.types[key.second]), key.first, first);
      for (OpOperand *use : operands)
        use->set(boxed);
    }
    for (Operation *cast : casts)
      cast->erase();
  }

  /// Adds the uses of a read, or of a cast of it.
  void addUses(sbp::ReadOp read, Operation *value, Uses &uses) {
    for (OpOperand &use : value->getUses()) {
      if (value == read && isReadAs(use.getOwner()))
        continue;
      Phase phase = phaseOfUse(use.getOwner());
      if (phase == Phase::Backward && isKept(read))
        phase = Phase::Forward;
      uses.add(phase, &use);
    }
  }

  /// Creates the boxing for uses of one phase and type. A value that is read in
  /// a smaller type is cast before it is moved.
  Value boxFor(sbp::ReadOp read, RankedTensorType type, Phase phase, Operation *firstUser) {
    OpBuilder builder(firstUser);
    Value source = read.getResult();
    if (phase != Phase::Update)
      source = builder.create<sbp::FenceOp>(read.getLoc(), source, scopeOf(phase, groupOf(read)));
    auto stored = cast<RankedTensorType>(source.getType());
    if (stored.getElementType() != type.getElementType())
      source = builder.create<nn::CastOp>(read.getLoc(), stored.clone(type.getElementType()), source);
    return builder.create<sbp::BoxingOp>(reasonOf(read, {wantedIn(phase), read.getVariableAttr().getAttr()}), type,
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
  const bool isScheduled;
  DenseMap<Operation *, Phase> phases;
  std::map<std::pair<Phase, Gathered>, Value> scopes;
  std::map<std::vector<int64_t>, Gathered> lastGroups; ///< by coordinatesOf
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
    llvm::StringSet<> scheduled;
    for (auto schedule : getOperation().getOps<sbp::ScheduleOp>())
      for (auto run : schedule.getBody().front().getOps<sbp::RunOp>())
        scheduled.insert(run.getFunction());
    for (auto function : getOperation().getOps<func::FuncOp>())
      FunctionBoxing(function, symbols, scheduled.contains(function.getSymName())).run();
    foldRoundTrips();
  }

  /// Folds pairs of boxings that cancel out: to the logical signature for an
  /// update and back, or from it for an assignment and back. So the result does
  /// not depend on whether --canonicalize runs next. Users come after what they
  /// use, so one walk forward folds all pairs, and one walk backward erases the
  /// boxings that then have no users.
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
