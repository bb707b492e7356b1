// Makes sums over the batch the same in every order of their addends.
//
// Sums over the batch of a step are added up over micro-batches and ranks, and
// the sum of floats depends on the order. So each addend is cut into f64 parts
// whose sums have no rounding (nn.exact_part), and each use of the sum takes the
// number that the summed parts make. The number of addends says how many parts
// there are (dialects/nn/ExactGrid.h). How the addends are added up, in an
// accumulator or by a reduce-scatter for example, does not matter here: parts
// are tensors like others.
//
//   before   %g = <gradient>  %gf = sbp.fence %g in %update
//   after    %g = <gradient>  %0 = nn.exact_part %g {of = 6, part = 0} ...
//            %f0 = sbp.fence %0 in %update  %f1 = ... %f5 = ...  %gf = nn.exact_sum %f0, %f1, ... %f5
//
// An addend is the contribution of one micro-batch on one rank: 12
// micro-batches on one rank, and 4 on each of three ranks, have the same twelve
// addends. The sums within an addend, over its rows, are then the same, too.
#include "dialects/nn/ExactGrid.h"
#include "passes/global/GroupSums.h"
#include "passes/global/MicroBatchRows.h"
#include "passes/global/Passes.h"
#include "passes/global/SameElements.h"
#include "passes/global/ScalarVariables.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_EXACTSUMSPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

/// Replaces the sums over the batch in one function by exact sums.
class FunctionSums {
public:
  FunctionSums(func::FuncOp function, const MicroBatchRows &rows, nn::ExactGrid grid, SymbolTable &symbols)
      : function(function), rows(rows), elements(function.getBody().front()), grid(grid), symbols(symbols) {}

  LogicalResult rewrite() {
    SmallVector<OpOperand *> uses;
    for (Operation &op : function.getBody().front())
      for (OpOperand &use : op.getOpOperands())
        if (isa<RankedTensorType>(use.get().getType()) && isa<FloatType>(getElementTypeOrSelf(use.get().getType())) &&
            rows.isSum(use))
          uses.push_back(&use);
    for (OpOperand *use : uses)
      rewrite(*use);
    for (sbp::FenceOp fence : replaced) // not before: a new op in its place would have its elements
      fence.erase();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
      if (passed.contains(&op) && op.use_empty())
        op.erase(); // the boxing would still round
    return assignCount();
  }

private:
  using Parts = SmallVector<Value>;

  void rewrite(OpOperand &use) {
    auto fence = dyn_cast<sbp::FenceOp>(use.getOwner());
    if (!fence) {
      Value &sum = sums[use.get()];
      if (!sum) {
        sum = sumOf(use.get(), partsOf(unboxed(use.get())), use.getOwner());
        countRests(unboxed(use.get()), use.getOwner(), nullptr);
      }
      return use.set(sum);
    }
    OpBuilder b(fence);
    Parts fenced;
    for (Value part : partsOf(unboxed(fence.getInput())))
      fenced.push_back(b.create<sbp::FenceOp>(fence.getLoc(), part, fence.getScope()));
    countRests(unboxed(fence.getInput()), fence, fence.getScope());
    fence.getOutput().replaceAllUsesWith(sumOf(fence.getInput(), fenced, fence));
    replaced.push_back(fence);
  }

  /// Returns the parts of a value, which are made right after it.
  const Parts &partsOf(Value value) {
    auto [known, isNew] = parts.try_emplace(value);
    if (isNew) {
      OpBuilder b(function.getContext());
      b.setInsertionPointAfterValue(value);
      for (int64_t part = 0; part < grid.numParts; ++part)
        known->second.push_back(b.create<nn::ExactPartOp>(value.getLoc(), value, part, grid.numParts));
    }
    return known->second;
  }

  /// Counts the elements of the sum from which something is rounded away. Only
  /// an f64 has digits that its parts do not hold. A sum that is computed again
  /// for backward is no other sum.
  void countRests(Value value, Operation *before, Value scope) {
    if (!getElementTypeOrSelf(value.getType()).isF64() || !counted.insert(elements.originalOf(value)).second)
      return;
    OpBuilder b(function.getContext());
    b.setInsertionPointAfterValue(value);
    Value rest = b.create<nn::ExactRestOp>(value.getLoc(), value, grid.numParts);
    b.setInsertionPoint(before);
    sbp::VariableOp variable;
    if (scope) {
      rest = b.create<sbp::FenceOp>(before->getLoc(), rest, scope);
      if (auto phase = scope.getDefiningOp<sbp::ScopeOp>(); phase && phase.getVariable())
        variable = symbols.lookup<sbp::VariableOp>(*phase.getVariable());
    }
    Value count = b.create<nn::NonfiniteOp>(before->getLoc(), rest);
    if (!variable)
      return ofOthers.push_back(count);
    ofUpdates.add(variable, count);
    hasUpdates = true;
  }

  /// Adds the counts of a step to those of the steps before.
  LogicalResult assignCount() {
    SmallVector<Value> counts = ofOthers;
    Operation *end = function.getBody().front().getTerminator();
    OpBuilder b(end);
    if (hasUpdates)
      counts.push_back(ofUpdates.total(b, function.getLoc()));
    if (counts.empty())
      return success();
    auto like = *cast<ModuleOp>(function->getParentOp()).getOps<sbp::VariableOp>().begin();
    sbp::VariableOp variable = scalarVariable(symbols, kInexactSumsName, b.getF64Type(), 0.0, like);
    if (!variable)
      return function.emitOpError() << "@" << function.getSymName() << " is to be reproducible and counts in @"
                                    << kInexactSumsName << " what it rounds away of numbers of f64, but that is "
                                    << "something else; rename it";
    Value total = b.create<nn::SumPartsOp>(function.getLoc(), counts);
    Value all = b.create<nn::AddOp>(function.getLoc(), readUndecided(b, function.getLoc(), variable), total);
    b.create<sbp::AssignOp>(function.getLoc(), FlatSymbolRefAttr::get(variable.getSymNameAttr()), all);
    return success();
  }

  /// Returns the value before any boxings: a boxing sums parts over ranks
  /// without rounding, but would round the value itself.
  Value unboxed(Value value) {
    while (auto boxing = value.getDefiningOp<sbp::BoxingOp>()) {
      passed.insert(boxing);
      value = boxing.getInput();
    }
    return value;
  }

  /// Makes the sum that replaces the value, with the signature that the value
  /// was given.
  static Value sumOf(Value value, const Parts &parts, Operation *before) {
    OpBuilder b(before);
    Value sum = b.create<nn::ExactSumOp>(value.getLoc(), parts, getElementTypeOrSelf(value.getType()));
    sbp::NdAttr signature = sbp::signatureOf(value);
    if (!signature || signature.hasPartial()) // a sum is no addend
      return sum;
    return b.create<sbp::BoxingOp>(value.getLoc(), value.getType(), sum, nullptr);
  }

  func::FuncOp function;
  const MicroBatchRows &rows;
  const SameElements elements; ///< of the values before any is rewritten
  const nn::ExactGrid grid;
  SymbolTable &symbols;
  DenseMap<Value, Parts> parts;
  DenseMap<Value, Value> sums;   ///< by value: the sum for uses in no scope of an update
  llvm::DenseSet<Value> counted; ///< originals of values whose rests are counted
  SmallVector<sbp::FenceOp> replaced;
  GroupSums ofUpdates;
  bool hasUpdates = false;
  SmallVector<Value> ofOthers;
  llvm::SmallPtrSet<Operation *, 4> passed; ///< boxings whose operands were cut into parts
};

struct ExactSums : splitcast::impl::ExactSumsPassBase<ExactSums> {
  using ExactSumsPassBase::ExactSumsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(verifyModule(module)))
      return signalPassFailure();
    sbp::PlacementAttr placement = sbp::placementOf(module);
    for (auto schedule : module.getOps<sbp::ScheduleOp>())
      for (auto run : schedule.getBody().front().getOps<sbp::RunOp>())
        scheduled[run.getFunction()] = schedule.getSymName();
    for (auto function : module.getOps<func::FuncOp>()) {
      FailureOr<bool> isReproducible = takeDecision(function);
      if (failed(isReproducible) || (*isReproducible && placement && failed(rewrite(function, placement.toAlgebra()))))
        return signalPassFailure();
    }
  }

private:
  /// Returns whether the function is to be reproducible: as its attribute says,
  /// or, if it updates by a gradient, as the option does.
  FailureOr<bool> takeDecision(func::FuncOp function) {
    Attribute said = function->removeAttr(sbp::kReproducibleName);
    const bool isStep = updatesByGradient(function);
    if (said && (!isa<BoolAttr>(said) || !isStep))
      return function.emitOpError()
             << "@" << function.getSymName() << " has " << sbp::kReproducibleName << " = " << said
             << "; it must be true or false, and only a function that updates by a gradient may have it";
    return said ? cast<BoolAttr>(said).getValue() : isStep && reproducible;
  }

  LogicalResult rewrite(func::FuncOp function, const sbp::Placement &placement) {
    if (auto schedule = scheduled.find(function.getSymName()); schedule != scheduled.end())
      return function.emitOpError() << "@" << function.getSymName() << " is to be reproducible, but schedule @"
                                    << schedule->second << " runs it, and sums from run to run are rounded there; set "
                                    << sbp::kReproducibleName
                                    << " = false on it, or leave the schedule to the compiler";
    auto said = function->getAttrOfType<IntegerAttr>(sbp::kMicroBatchesName);
    const int64_t count = !said ? microBatches.getValue() : said.getType().isSignlessInteger(64) ? said.getInt() : 0;
    const int64_t axisIndex = axis.empty() ? 0 : placement.axisIndex(axis);
    if (count < 1 || axisIndex < 0)
      return success(); // 'sbp-split-steps' reports this
    const std::optional<nn::ExactGrid> grid =
        nn::ExactGrid::forAddends(sbp::cappedProduct(count, placement.numPositions()));
    if (!grid)
      return function.emitOpError() << "@" << function.getSymName() << " is to be reproducible in " << count
                                    << " micro-batches on " << placement.numPositions()
                                    << " ranks, but sums are exact up to "
                                    << nn::ExactGrid{nn::ExactGrid::kMostParts}.mostAddends()
                                    << " addends only; make micro-batches larger";
    if (failed(verifyUnscaled(function)) || failed(verifyBatch(function, placement, count, axisIndex)))
      return failure();
    FailureOr<MicroBatchRows> rows = MicroBatchRows::of(function, count, axisIndex);
    if (failed(rows))
      return function.emitOpError()
             << "@" << function.getSymName()
             << " is to be reproducible, so each value of its batch must belong to one micro-batch, "
                "or be a sum over all of them; change that, or leave 'reproducible' out";
    function->setAttr(sbp::kExactSumsName, StringAttr::get(&getContext(), placement.axes[axisIndex].name));
    SymbolTable symbols(getOperation());
    return FunctionSums(function, *rows, *grid, symbols).rewrite();
  }

  /// Verifies that no loss is scaled: the parts of exact sums have fixed units,
  /// and a scale could move gradients out of their range.
  static LogicalResult verifyUnscaled(func::FuncOp function) {
    for (auto read : function.getOps<sbp::ReadOp>())
      if (read.getVariable() == kLossScaleName)
        return read.emitOpError()
               << "of @" << function.getSymName() << ", which is to be reproducible, reads a scale "
               << "of the loss, which could move gradients out of the range of exact sums; leave out "
               << "'loss_scale', which f32 does not need, or 'reproducible'";
    return success();
  }

  /// Verifies that an argument is split, and that ranks and micro-batches
  /// divide each split argument evenly: otherwise another number of ranks would
  /// have other addends.
  static LogicalResult verifyBatch(func::FuncOp function, const sbp::Placement &placement, int64_t count,
                                   int64_t axis) {
    bool isSplit = false;
    for (BlockArgument argument : function.getArguments()) {
      sbp::NdAttr signature = sbp::signatureOf(argument);
      if (!signature || !signature.getEntries()[axis].toAlgebra().isSplit())
        continue;
      isSplit = true;
      const sbp::NdSbp entries = signature.toAlgebra();
      const int64_t dim = entries[axis].dim, extent = sbp::shapeOf(argument.getType())[dim];
      int64_t parts = count, unit = 1;
      bool hasEnds = false;
      for (auto [entry, of] : llvm::zip(entries, placement.axes))
        if (entry.isSplit() && entry.dim == dim) {
          parts *= of.size;
          unit = std::max(unit, entry.unit);
          hasEnds |= !entry.ends.empty();
        }
      if (!hasEnds && extent % (parts * unit) == 0)
        continue;
      InFlightDiagnostic diag = function.emitOpError();
      diag << "@" << function.getSymName() << " is to be reproducible, but argument " << argument.getArgNumber();
      if (hasEnds)
        return diag << " is " << sbp::toString(entries) << ", so that ranks have unequally many of its " << extent
                    << " elements along dimension " << dim << "; split it evenly";
      diag << " has " << extent << " elements along dimension " << dim << ", which " << parts
           << " addends (micro-batches times the ranks that split it) do not divide";
      if (unit > 1)
        diag << " into units of " << unit;
      return diag << "; choose a divisor of " << extent / unit;
    }
    if (!isSplit)
      return function.emitOpError() << "@" << function.getSymName() << " is to be reproducible, but ranks split none "
                                    << "of its arguments along axis \"" << placement.axes[axis].name
                                    << "\"; name the axis that splits the batch, or leave 'reproducible' out";
    return success();
  }

  llvm::StringMap<StringRef> scheduled; ///< functions, with the user's schedule that runs them
};

} // namespace
