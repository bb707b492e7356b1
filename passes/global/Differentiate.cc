// Reverse-mode differentiation over GradientOpInterface.
//
// An op is *active* if it depends on a trained variable and the loss depends on
// it; one walk forward and one backward find these ops. Each of them must have
// a gradient, or be a read or an identity (boxing, fence). The gradient of the
// loss is 1, fenced in a scope "backward", by which later passes recognize
// everything that depends on it. The active ops are visited from the last to
// the first, so that the gradient of a value has all its addends before the op
// that made the value is visited; each op adds to the gradients of its
// operands. The gradients that reach the reads of a variable are added up for
// its update. If the variable is assigned between reads, only the reads after
// the last assignment count.
//
// Where variables are at coordinates, as those of pipeline stages are, a
// complete gradient is put beside its value (sbp.colocate). So are forward
// values that the gradient of an op takes, unless something else says where
// they are needed: otherwise each backward op would be where it costs least by
// itself, and what several of them use would be moved once for each.
//
// With a loss_scale, the gradient of the loss is the scale, read from a
// variable, instead of 1, and updates are `scaled by` it. The variables of a
// group are updated by the optimizer of the group.
//
//   before   %0 = sbp.read @w
//            %1 = nn.matmul %x, %0
//            %2 = nn.reduce_sum %1 {dims = array<i64: 0, 1>}
//            nn.minimize %2 with #nn.sgd<lr = 0.5>
//   after    the first three; then
//            %3 = sbp.scope "backward"
//            %4 = nn.constant 1.0
//            %5 = sbp.fence %4 in %3
//            %6 = nn.broadcast %5 {dims = array<i64: 0, 1>}
//            %7 = nn.matmul %x, %6 {transpose_a}
//            %8 = sbp.scope "update" of @w
//            nn.update @w, %7 in %8 with #nn.sgd<lr = 0.5>
#include "dialects/sbp/ValueNames.h"
#include "passes/global/GradientSums.h"
#include "passes/global/NamedVariables.h"
#include "passes/global/ParameterGroups.h"
#include "passes/global/Passes.h"
#include "passes/global/ReadAs.h"
#include "passes/global/ScalarVariables.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

bool isFloatTensor(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<FloatType>(type.getElementType());
}

bool isBefore(Operation *a, Operation *b) { return a->isBeforeInBlock(b); }

/// The assignments and updates of a block. All losses of the block, which are
/// minimized from the first to the last, share it, so that each looks only at
/// the ops that its loss depends on.
class Updates {
public:
  explicit Updates(Block &block) {
    for (Operation &op : block)
      add(&op);
  }

  void add(Operation *op) {
    if (auto assign = dyn_cast<sbp::AssignOp>(op))
      insert(assign.getVariableAttr(), op);
    auto update = dyn_cast<nn::UpdateOp>(op);
    if (!update)
      return;
    insert(update.getVariableAttr(), op);
    if (IntegerAttr set = update.getClipSetAttr())
      nextClipSet = std::max(nextClipSet, set.getInt() + 1);
  }

  /// Whether an op between the two assigns the variable.
  bool isAssigned(Attribute variable, Operation *from, Operation *to) const {
    auto found = writes.find(variable);
    if (found == writes.end())
      return false;
    auto next = llvm::upper_bound(found->second, from, isBefore);
    return next != found->second.end() && isBefore(*next, to);
  }

  DenseMap<Type, Value> lossScales; ///< by element type: the scale, read for the first scaled loss of that type

  /// Returns a clip_set that no update has yet.
  int64_t unusedClipSet() const { return nextClipSet; }

private:
  void insert(Attribute variable, Operation *op) {
    SmallVector<Operation *> &ops = writes[variable];
    ops.insert(llvm::upper_bound(ops, op, isBefore), op);
  }

  DenseMap<Attribute, SmallVector<Operation *>> writes; ///< by variable, in order
  int64_t nextClipSet = 0;
};

/// Differentiates one loss, and replaces its nn.minimize by updates.
class Differentiator {
public:
  Differentiator(nn::MinimizeOp minimize, SymbolTable &symbols, Updates &updates, bool hasStages)
      : minimize(minimize), symbols(symbols), updates(updates), hasStages(hasStages), builder(minimize),
        named(minimize.getVariablesAttr()) {}

  LogicalResult run() {
    findSlice();
    findActive();
    if (!active.contains(minimize.getLoss()))
      return failUntrained();
    leaveOutEarlierReads();
    if (failed(checkGradients()))
      return failure();
    if (failed(readScale()))
      return failure();
    seed();
    for (Operation *op : llvm::reverse(slice))
      if (activeOps.contains(op))
        differentiate(op);
    if (failed(emitUpdates()) || failed(verifyNamed()))
      return failure();
    GradientSum::erase(joined.getArrayRef());
    minimize.erase();
    return success();
  }

private:
  /// Finds the ops that the loss depends on, in the order of the block.
  void findSlice() {
    llvm::SetVector<Operation *> ops;
    const auto add = [&](Value value) {
      if (Operation *op = value.getDefiningOp(); op && op->getBlock() == minimize->getBlock())
        ops.insert(op);
    };
    add(minimize.getLoss());
    for (size_t i = 0; i < ops.size(); ++i)
      for (Value operand : ops[i]->getOperands())
        add(operand);
    slice.assign(ops.begin(), ops.end());
    llvm::sort(slice, isBefore);
  }

  /// Finds the values that depend on a trainable variable and on which the loss
  /// depends.
  void findActive() {
    DenseSet<Value> dependent;
    for (Operation *op : slice) {
      auto read = dyn_cast<sbp::ReadOp>(op);
      bool isSource = read && isTrainable(read);
      if (op->hasTrait<nn::StopsGradient>())
        continue;
      if (isSource || llvm::any_of(op->getOperands(), [&](Value v) { return dependent.contains(v); }))
        for (Value result : op->getResults())
          if (isFloatTensor(result))
            dependent.insert(result);
    }
    DenseSet<Value> needed = {minimize.getLoss()};
    for (Operation *op : llvm::reverse(slice)) {
      if (!llvm::any_of(op->getResults(), [&](Value v) { return needed.contains(v) && dependent.contains(v); }))
        continue;
      activeOps.insert(op);
      needed.insert(op->operand_begin(), op->operand_end());
    }
    for (Value value : needed)
      if (dependent.contains(value))
        active.insert(value);
  }

  bool isTrainable(sbp::ReadOp read) {
    auto variable = symbols.lookup<sbp::VariableOp>(read.getVariable());
    return variable && !variable.getFrozen() && !variable.getCarried() && !variable.getStateOf() &&
           isFloatTensor(read.getResult()) && !earlierReads.contains(read) && named.mayTrain(read.getVariable());
  }

  LogicalResult failUntrained() {
    InFlightDiagnostic diag = minimize.emitOpError() << "has a loss that depends on no trainable variable";
    if (minimize.getVariablesAttr())
      diag << " of " << minimize.getVariablesAttr();
    return diag << "; nothing can be minimized";
  }

  /// Fails, after an error, if a name in `variables` is that of no variable
  /// that is updated.
  LogicalResult verifyNamed() {
    if (!minimize.getVariablesAttr())
      return success();
    for (const auto &[symbol, gradients] : variables)
      named.note(cast<FlatSymbolRefAttr>(symbol).getValue());
    const std::optional<StringRef> unused = named.unused();
    if (!unused)
      return success();
    return minimize.emitOpError() << "is of variables \"" << *unused
                                  << "\", but trains no variable of such a name; say the names of variables that are "
                                     "not frozen and that the loss depends on";
  }

  /// Leaves out earlier reads of a variable if it is assigned between them and
  /// a later read that the loss depends on: an update takes the gradient at one
  /// value of the variable.
  void leaveOutEarlierReads() {
    DenseMap<Attribute, SmallVector<sbp::ReadOp>> reads; ///< the latest, with no assignment in between
    for (Operation *op : slice) {
      auto read = dyn_cast<sbp::ReadOp>(op);
      if (!read || !activeOps.contains(op))
        continue;
      SmallVector<sbp::ReadOp> &ofVariable = reads[read.getVariableAttr()];
      if (!ofVariable.empty() && updates.isAssigned(read.getVariableAttr(), ofVariable.back(), read)) {
        earlierReads.insert(ofVariable.begin(), ofVariable.end());
        ofVariable.clear();
      }
      ofVariable.push_back(read);
    }
    if (earlierReads.empty())
      return;
    active.clear();
    activeOps.clear();
    findActive();
  }

  /// Whether values, and so gradients, pass through the op unchanged.
  static bool isIdentity(Operation *op) { return isa<sbp::BoxingOp, sbp::FenceOp, sbp::ColocateOp>(op); }

  LogicalResult checkGradients() {
    SmallVector<Operation *> without;
    for (Operation *op : slice)
      if (activeOps.contains(op) && !isa<nn::GradientOpInterface, sbp::ReadOp>(op) && !isIdentity(op))
        without.push_back(op);
    if (without.empty())
      return success();
    InFlightDiagnostic diag = minimize.emitOpError()
                              << "depends on variables through " << without.size()
                              << " op(s) without a gradient; replace them, or freeze the variables before them";
    for (Operation *op : without)
      diag.attachNote(op->getLoc()) << "'" << op->getName() << "' has no gradient";
    return diag;
  }

  /// Reads the scale of the loss from its variable, which is created for the
  /// first loss.
  LogicalResult readScale() {
    if (!minimize.getLossScaleAttr())
      return success();
    auto read = cast<sbp::ReadOp>(
        *llvm::find_if(slice, [&](Operation *op) { return isa<sbp::ReadOp>(op) && activeOps.contains(op); }));
    sbp::VariableOp variable = scalarVariable(symbols, kLossScaleName, builder.getF32Type(),
                                              minimize.getLossScaleAttr().model()->scale().initial,
                                              symbols.lookup<sbp::VariableOp>(read.getVariable()));
    if (!variable || variable.getStateOf())
      return minimize.emitOpError() << "keeps its loss_scale in @" << kLossScaleName
                                    << ", but that is something else; rename it";
    if (failed(verifyInitial(variable)))
      return failure();
    const Type type = minimize.getLoss().getType().getElementType();
    Value &value = updates.lossScales[type]; // all losses of a step have the same scale
    if (!value)
      value = readUndecided(builder, minimize.getLoc(), variable);
    if (getElementTypeOrSelf(value.getType()) != type)
      value = builder.create<nn::CastOp>(minimize.getLoc(), value, type);
    scale = value;
    return success();
  }

  LogicalResult verifyInitial(sbp::VariableOp variable) {
    const double initial = minimize.getLossScaleAttr().model()->scale().initial;
    auto init = dyn_cast_or_null<sbp::ConstantInitAttr>(variable.getInitAttr());
    if (init && init.getValue().getValueAsDouble() == initial)
      return success();
    InFlightDiagnostic diag = minimize.emitOpError() << "has a loss_scale of " << initial << " at first, but @"
                                                     << kLossScaleName << " is initialized with ";
    if (init)
      diag << init.getValue().getValueAsDouble();
    else
      diag << "no such constant";
    return diag << "; give both the same";
  }

  void seed() {
    Location loc = minimize.getLoc();
    Value scope = builder.create<sbp::ScopeOp>(loc, sbp::PhaseAttr::get(builder.getContext(), sbp::Phase::Backward),
                                               nullptr, nullptr);
    Value first = scale ? scale : nn::splat(builder, loc, minimize.getLoss().getType(), 1.0);
    accumulate(minimize.getLoss(), builder.create<sbp::FenceOp>(loc, first, scope));
  }

  void accumulate(Value value, Value gradient) {
    if (!gradient || !active.contains(value))
      return;
    // The gradient of a cast variable is that of the variable: its
    // contributions are added up in the wide type.
    if (Operation *cast = value.getDefiningOp(); isReadAs(cast)) {
      Value read = cast->getOperand(0);
      const Type wide = getElementTypeOrSelf(read.getType());
      if (getElementTypeOrSelf(gradient.getType()) != wide)
        gradient = builder.create<nn::CastOp>(cast->getLoc(), gradient, wide);
      return accumulate(read, gradient);
    }
    gradients[value].add(builder, value.getLoc(), gradient, joined, /*joinsProducts=*/!hasStages);
  }

  /// Returns the sum of the contributions to the gradient of a value; null if
  /// there are none.
  Value sumFor(Value value) {
    auto known = gradients.find(value);
    if (known == gradients.end())
      return {};
    Value sum = known->second.get(builder, value.getLoc());
    nameGradient(sum, value);
    return sum;
  }

  /// Names a gradient after its value: "logits_grad" for that of "logits". The
  /// gradient of the loss has no such name. A gradient that is passed on
  /// unchanged keeps its first name.
  void nameGradient(Value gradient, Value of) {
    Operation *op = gradient.getDefiningOp();
    auto read = of.getDefiningOp<sbp::ReadOp>();
    const StringAttr name = read ? read.getVariableAttr().getAttr() : sbp::valueNameOf(of.getLoc());
    const StringAttr known = op ? sbp::valueNameOf(op->getLoc()) : StringAttr();
    if (op && name && of != minimize.getLoss() && !(known && known.getValue().ends_with("_grad")))
      op->setLoc(sbp::withValueName(op->getLoc(), name.str() + "_grad"));
  }

  /// Returns the gradient of a result whose users have all been visited. With
  /// stages, it is put beside the result, unless it is a scalar, which may be
  /// anywhere.
  Value gradientOf(Value result) {
    Value gradient = sumFor(result);
    if (!gradient || !hasStages || cast<RankedTensorType>(result.getType()).getRank() == 0)
      return gradient;
    return builder.create<sbp::ColocateOp>(gradient.getLoc(), gradient, result);
  }

  /// Puts forward values that the gradient of `op` takes beside the op's
  /// result. The ops of the gradient come after `last`. Those that take a
  /// gradient are beside it anyway; the others would be where the forward
  /// values were made.
  void colocateOperands(Operation *op, Operation *last, ArrayRef<Value> resultGradients) {
    auto beside = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (!beside || beside.getRank() == 0)
      return;
    DenseSet<Value> ofGradients(resultGradients.begin(), resultGradients.end()), made;
    DenseMap<Value, Value> colocated;
    for (Operation *next = last->getNextNode(); next != minimize; next = next->getNextNode()) {
      const bool takesGradient = llvm::any_of(next->getOperands(), [&](Value v) { return ofGradients.contains(v); });
      for (OpOperand &use : next->getOpOperands())
        if (!takesGradient && !made.contains(use.get()) && isMovedTo(op, use.get()))
          use.set(colocatedIn(colocated, use.get(), op->getResult(0), next));
      for (Value result : next->getResults())
        (takesGradient ? ofGradients : made).insert(result);
    }
  }

  /// Whether `op` may have taken the value from elsewhere. Reads of variables
  /// stay where the variables are.
  static bool isMovedTo(Operation *op, Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.getRank() > 0 && value.getDefiningOp() != op && !readBehind(value);
  }

  Value colocatedIn(DenseMap<Value, Value> &colocated, Value value, Value beside, Operation *before) {
    Value &result = colocated[value];
    if (!result) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(before);
      result = builder.create<sbp::ColocateOp>(value.getLoc(), value, beside);
    }
    return result;
  }

  void differentiate(Operation *op) {
    if (auto read = dyn_cast<sbp::ReadOp>(op)) {
      if (Value gradient = sumFor(read.getResult()))
        variables[read.getVariableAttr()].push_back(gradient);
      return;
    }
    SmallVector<Value> resultGradients;
    for (Value result : op->getResults())
      resultGradients.push_back(gradientOf(result));
    if (llvm::none_of(resultGradients, [](Value v) { return v != nullptr; }))
      return;
    if (isIdentity(op))
      return accumulate(op->getOperand(0), resultGradients[0]);
    if (isReadAs(op->getOperand(0).getDefiningOp()) &&
        isa<nn::CastOp>(op)) // a cast of a narrow variable for a wide op: the gradient stays wide
      return accumulate(op->getOperand(0), resultGradients[0]);
    SmallVector<bool> needed;
    for (Value operand : op->getOperands())
      needed.push_back(active.contains(operand));
    Operation *last = minimize->getPrevNode();
    SmallVector<Value> operandGradients =
        cast<nn::GradientOpInterface>(op).buildGradient(builder, resultGradients, needed);
    for (Operation *made = last->getNextNode(); made != minimize; made = made->getNextNode())
      made->setLoc(sbp::withoutValueName(made->getLoc()));
    if (hasStages)
      colocateOperands(op, last, resultGradients);
    for (auto [operand, gradient] : llvm::zip(op->getOperands(), operandGradients))
      accumulate(operand, gradient);
  }

  LogicalResult emitUpdates() {
    // Only the updates of this loss share a norm.
    const bool hasNorm = minimize.getClipNormAttr() || minimize.getGradientNorm();
    const IntegerAttr set = hasNorm ? builder.getI64IntegerAttr(updates.unusedClipSet()) : IntegerAttr();
    SmallVector<std::pair<FlatSymbolRefAttr, Value>> sums; // updates may need all of them
    for (auto &[symbol, contributions] : llvm::reverse(variables)) {
      GradientSum all;
      for (Value gradient : contributions)
        all.add(builder, gradient.getLoc(), gradient, joined, /*joinsProducts=*/!hasStages);
      if (Value sum = all.get(builder, minimize.getLoc()))
        sums.push_back({cast<FlatSymbolRefAttr>(symbol), sum});
    }
    ParameterGroups groups(minimize);
    for (auto [variable, sum] : sums)
      if (failed(emitUpdate(variable, sum, set, groups)))
        return failure();
    return groups.verifyUsed();
  }

  LogicalResult emitUpdate(FlatSymbolRefAttr variable, Value gradient, IntegerAttr clipSet, ParameterGroups &groups) {
    FailureOr<nn::ParametersAttr> group = groups.of(variable.getValue());
    if (failed(group))
      return failure();
    auto optimizer = *group ? group->getOptimizer() : cast<nn::OptimizerAttr>(minimize.getOptimizer());
    const auto type = cast<RankedTensorType>(gradient.getType());
    if (auto refused = optimizer.model()->refuses(type.getShape()))
      return minimize.emitOpError() << "trains " << variable << ", " << nn::undecided(type) << ", but " << *refused;
    Location loc = minimize.getLoc();
    Value scope = builder.create<sbp::ScopeOp>(loc, sbp::PhaseAttr::get(builder.getContext(), sbp::Phase::Update),
                                               nullptr, variable);
    updates.add(builder.create<nn::UpdateOp>(loc, variable, gradient, scale, /*unless=*/Value(), scope, optimizer,
                                             minimize.getScheduleAttr(), minimize.getClipNormAttr(),
                                             minimize.getClipValueAttr(), clipSet, minimize.getLossScaleAttr(),
                                             *group ? group->getName() : StringAttr(), minimize.getGradientNormAttr()));
    return success();
  }

  nn::MinimizeOp minimize;
  SymbolTable &symbols;
  Updates &updates;
  const bool hasStages; ///< whether variables are at coordinates
  OpBuilder builder;
  Value scale;                    ///< the scale of the loss; null: 1
  SmallVector<Operation *> slice; ///< the ops that the loss depends on, in order
  DenseSet<Value> active;
  DenseSet<Operation *> activeOps;
  DenseSet<sbp::ReadOp> earlierReads; ///< reads of values that the variables no longer have
  DenseMap<Value, GradientSum> gradients;
  llvm::SetVector<Operation *> joined;                      ///< ops that were merged into others
  llvm::MapVector<Attribute, SmallVector<Value>> variables; ///< by symbol
  NamedVariables named;
};

struct Differentiate : splitcast::impl::DifferentiatePassBase<Differentiate> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    if (failed(verifyOneScale()))
      return signalPassFailure();
    const bool hasStages = llvm::any_of(getOperation().getOps<sbp::VariableOp>(), [](sbp::VariableOp variable) {
      return variable.getLogical() && variable.getLogical().hasAt();
    });
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody())
        if (failed(minimizeLosses(block, symbols, hasStages)))
          return signalPassFailure();
    getOperation().walk([](nn::StopGradientOp op) { // differentiation has used it
      if (op.getType() != op.getInput().getType())
        return;
      op.replaceAllUsesWith(op.getInput());
      op.erase();
    });
  }

private:
  /// Verifies that all losses of the module have the same scale, whichever
  /// function changes it.
  LogicalResult verifyOneScale() {
    nn::MinimizeOp first;
    const WalkResult walked = getOperation().walk([&](nn::MinimizeOp op) {
      if (!op.getLossScaleAttr())
        return WalkResult::advance();
      first = first ? first : op;
      if (op.getLossScaleAttr() == first.getLossScaleAttr())
        return WalkResult::advance();
      op.emitOpError() << "has loss_scale = " << op.getLossScaleAttr() << ", but another nn.minimize has "
                       << first.getLossScaleAttr() << "; a module has one scale of losses: give both the same";
      return WalkResult::interrupt();
    });
    return failure(walked.wasInterrupted());
  }

  static LogicalResult minimizeLosses(Block &block, SymbolTable &symbols, bool hasStages) {
    auto ops = llvm::to_vector(block.getOps<nn::MinimizeOp>());
    if (ops.empty())
      return success();
    Updates updates(block);
    for (nn::MinimizeOp op : ops)
      if (failed(Differentiator(op, symbols, updates, hasStages).run()))
        return failure();
    return success();
  }
};

} // namespace
