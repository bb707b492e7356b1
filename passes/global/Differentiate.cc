// Reverse-mode differentiation over GradientOpInterface.
//
// Ops are *active* when they depend on a variable that is trained and the loss depends on them: one walk forward and
// one back find them. Each must have a gradient, or be a read, or an identity (boxing, fence). The loss has gradient
// 1, fenced in a scope "backward", by which later passes know all that hangs on it. Then the active ops are visited
// last first, so that the gradient of a value has all its addends when the op that made it comes: each op adds to the
// gradients of its operands. What reaches the reads of a variable, added up, is the gradient of its update; where
// something is assigned between reads, of those behind the last assignment.
//
// Where variables have coordinates, as stages of a pipeline do, a gradient that has all its addends is put beside its
// value (sbp.colocate), and so is what its op took of others, where nothing else says where that is needed: else each
// op of backward would be where that costs least for itself, and what several of them use would move once for each.
//
// With a loss_scale the gradient of the loss is that, read from a variable, instead of 1; updates are `scaled by` it.
// Variables of a group are updated by its optimizer.
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

/// What minimizing the losses of one block, first to last, has to know of the rest of the block, so that each looks at
/// nothing but what its loss depends on.
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

  /// Whether something assigns the variable between the two.
  bool isAssigned(Attribute variable, Operation *from, Operation *to) const {
    auto found = writes.find(variable);
    if (found == writes.end())
      return false;
    auto next = llvm::upper_bound(found->second, from, isBefore);
    return next != found->second.end() && isBefore(*next, to);
  }

  DenseMap<Type, Value> lossScales; ///< as read for the first loss of each type that is scaled

  /// A number that no update's norm has yet.
  int64_t unusedClipSet() const { return nextClipSet; }

private:
  void insert(Attribute variable, Operation *op) {
    SmallVector<Operation *> &ops = writes[variable];
    ops.insert(llvm::upper_bound(ops, op, isBefore), op);
  }

  DenseMap<Attribute, SmallVector<Operation *>> writes; ///< by variable, in order
  int64_t nextClipSet = 0;
};

class Differentiator {
public:
  Differentiator(nn::MinimizeOp minimize, SymbolTable &symbols, Updates &updates, bool hasStages)
      : minimize(minimize), symbols(symbols), updates(updates), hasStages(hasStages), builder(minimize) {}

  LogicalResult run() {
    findSlice();
    findActive();
    if (!active.contains(minimize.getLoss()))
      return minimize.emitOpError() << "has a loss that depends on no trainable variable; nothing can be minimized";
    leaveOutEarlierReads();
    if (failed(checkGradients()))
      return failure();
    if (failed(readScale()))
      return failure();
    seed();
    for (Operation *op : llvm::reverse(slice))
      if (activeOps.contains(op))
        differentiate(op);
    if (failed(emitUpdates()))
      return failure();
    GradientSum::erase(joined.getArrayRef());
    minimize.erase();
    return success();
  }

private:
  /// All that the loss depends on, in the block's order.
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

  /// Values that depend on a trainable variable and on which the loss depends.
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
           isFloatTensor(read.getResult()) && !earlierReads.contains(read);
  }

  /// Leaves out reads of what a variable was before something assigned it, where the loss also depends on what it is
  /// then: an update has the gradient at one value.
  void leaveOutEarlierReads() {
    DenseMap<Attribute, SmallVector<sbp::ReadOp>> reads; ///< with no assignment between them, the last such
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

  /// Values pass unchanged through these, and so do gradients.
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

  /// What the loss is multiplied by, from here on a variable of the module.
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
    Value &value = updates.lossScales[type]; // which all losses of a step have
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
                                                     << kLossScaleName << " is there with ";
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
    // The gradient of a narrow copy of a variable is the variable's: contributions are added up in the wide type.
    if (Operation *cast = value.getDefiningOp(); isReadAs(cast)) {
      Value read = cast->getOperand(0);
      const Type wide = getElementTypeOrSelf(read.getType());
      if (getElementTypeOrSelf(gradient.getType()) != wide)
        gradient = builder.create<nn::CastOp>(cast->getLoc(), gradient, wide);
      return accumulate(read, gradient);
    }
    gradients[value].add(builder, value.getLoc(), gradient, joined);
  }

  /// Null where no user gave any.
  Value sumFor(Value value) {
    auto known = gradients.find(value);
    if (known == gradients.end())
      return {};
    Value sum = known->second.get(builder, value.getLoc());
    nameGradient(sum, value);
    return sum;
  }

  /// "logits_grad" for the gradient of "logits". The loss's is the seed, and one that is passed on as it is keeps the
  /// name that it got first.
  void nameGradient(Value gradient, Value of) {
    Operation *op = gradient.getDefiningOp();
    auto read = of.getDefiningOp<sbp::ReadOp>();
    const StringAttr name = read ? read.getVariableAttr().getAttr() : sbp::valueNameOf(of.getLoc());
    const StringAttr known = op ? sbp::valueNameOf(op->getLoc()) : StringAttr();
    if (op && name && of != minimize.getLoss() && !(known && known.getValue().ends_with("_grad")))
      op->setLoc(sbp::withValueName(op->getLoc(), name.str() + "_grad"));
  }

  /// Of the result of an op, all whose users have been visited. A scalar is wherever something needs it.
  Value gradientOf(Value result) {
    Value gradient = sumFor(result);
    if (!gradient || !hasStages || cast<RankedTensorType>(result.getType()).getRank() == 0)
      return gradient;
    return builder.create<sbp::ColocateOp>(gradient.getLoc(), gradient, result);
  }

  /// Of what an op's gradient is made of, behind `last`, some takes no gradient, but what the op took: it is to be
  /// where the op is, too, and not where that was made.
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

  /// Whether it may be that the op took the value from elsewhere. Variables are where they are.
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
    if (isReadAs(op->getOperand(0).getDefiningOp()) && isa<nn::CastOp>(op)) // for a wide op, whose gradient stays wide
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
    // The updates of this loss share a norm with those of no other.
    const IntegerAttr set =
        minimize.getClipNormAttr() ? builder.getI64IntegerAttr(updates.unusedClipSet()) : IntegerAttr();
    SmallVector<std::pair<FlatSymbolRefAttr, Value>> sums; // before any update, which may need all of them
    for (auto &[symbol, contributions] : llvm::reverse(variables)) {
      GradientSum all;
      for (Value gradient : contributions)
        all.add(builder, gradient.getLoc(), gradient, joined);
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
                                             *group ? group->getName() : StringAttr()));
    return success();
  }

  nn::MinimizeOp minimize;
  SymbolTable &symbols;
  Updates &updates;
  const bool hasStages; ///< whether variables are at coordinates
  OpBuilder builder;
  Value scale;                    ///< of the loss; null: 1
  SmallVector<Operation *> slice; ///< what the loss depends on, in order
  DenseSet<Value> active;
  DenseSet<Operation *> activeOps;
  DenseSet<sbp::ReadOp> earlierReads; ///< of values that are no longer the variables'
  DenseMap<Value, GradientSum> gradients;
  llvm::SetVector<Operation *> joined;                      ///< what is in these as part of another op
  llvm::MapVector<Attribute, SmallVector<Value>> variables; ///< by symbol
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
    getOperation().walk([](nn::StopGradientOp op) { // which has said what it has to say
      if (op.getType() != op.getInput().getType())
        return;
      op.replaceAllUsesWith(op.getInput());
      op.erase();
    });
  }

private:
  /// One module has one scale of losses, whichever function changes it.
  LogicalResult verifyOneScale() {
    nn::MinimizeOp first;
    const WalkResult walked = getOperation().walk([&](nn::MinimizeOp op) {
      if (!op.getLossScaleAttr())
        return WalkResult::advance();
      first = first ? first : op;
      if (op.getLossScaleAttr() == first.getLossScaleAttr())
        return WalkResult::advance();
      op.emitOpError() << "has loss_scale = " << op.getLossScaleAttr() << ", but another has "
                       << first.getLossScaleAttr() << "; one module has one scale of losses: give both the same";
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
