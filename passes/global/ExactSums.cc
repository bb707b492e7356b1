// Sums over the batch that are the same in whatever order they are made.
//
// What a step sums over its batch is added up over micro-batches and ranks, and a float's sum depends on the order. So
// each addend is cut into three parts of f64 whose sums have no rounding (nn.exact_part), and what needs the sum makes
// it of those of the parts. What becomes of the addends, of an accumulator or a reduce-scatter say, is not known here:
// parts are tensors like others.
//
//   before   %g = <gradient>  %gf = sbp.fence %g in %update
//   after    %g = <gradient>  %0 = nn.exact_part %g {part = 0} ...
//            %f0 = sbp.fence %0 in %update  %f1 = ...  %f2 = ...  %gf = nn.exact_sum %f0, %f1, %f2
//
// An addend is what a micro-batch is to a rank: 12 micro-batches on one rank and 4 on three have the same twelve. So
// its own sums, over its rows, are the same, too.
#include "passes/global/MicroBatchRows.h"
#include "passes/global/Passes.h"
#include "passes/global/ScalarVariables.h"

#include "passes/global/SignatureProblem.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_EXACTSUMSPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

constexpr int64_t kNumParts = 3, kMostAddends = 1 << 14; ///< as nn.exact_part says

class FunctionSums {
public:
  FunctionSums(func::FuncOp function, const MicroBatchRows &rows) : function(function), rows(rows) {}

  void rewrite() {
    SmallVector<OpOperand *> uses;
    for (Operation &op : function.getBody().front())
      for (OpOperand &use : op.getOpOperands())
        if (isa<RankedTensorType>(use.get().getType()) && isa<FloatType>(getElementTypeOrSelf(use.get().getType())) &&
            rows.isSum(use))
          uses.push_back(&use);
    for (OpOperand *use : uses)
      rewrite(*use);
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
      if (passed.contains(&op) && op.use_empty())
        op.erase(); // it would still round
  }

private:
  using Parts = std::array<Value, kNumParts>;

  void rewrite(OpOperand &use) {
    auto fence = dyn_cast<sbp::FenceOp>(use.getOwner());
    if (!fence) {
      Value &sum = sums[use.get()];
      if (!sum)
        sum = sumOf(use.get(), partsOf(unboxed(use.get())), use.getOwner());
      return use.set(sum);
    }
    OpBuilder b(fence);
    Parts fenced;
    for (auto [to, part] : llvm::zip(fenced, partsOf(unboxed(fence.getInput()))))
      to = b.create<sbp::FenceOp>(fence.getLoc(), part, fence.getScope());
    fence.getOutput().replaceAllUsesWith(sumOf(fence.getInput(), fenced, fence));
    fence.erase();
  }

  /// Where the value is made.
  const Parts &partsOf(Value value) {
    auto [known, isNew] = parts.try_emplace(value);
    if (isNew) {
      OpBuilder b(function.getContext());
      b.setInsertionPointAfterValue(value);
      for (int64_t part = 0; part < kNumParts; ++part)
        known->second[part] = b.create<nn::ExactPartOp>(value.getLoc(), value, part);
    }
    return known->second;
  }

  /// What was boxed: its parts are summed over ranks without rounding, but not what the boxing has made of it.
  Value unboxed(Value value) {
    while (auto boxing = value.getDefiningOp<sbp::BoxingOp>()) {
      passed.insert(boxing);
      value = boxing.getInput();
    }
    return value;
  }

  /// In place of the value, so with the signature that it was given.
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
  DenseMap<Value, Parts> parts;
  DenseMap<Value, Value> sums;              ///< of what is used in no scope
  llvm::SmallPtrSet<Operation *, 4> passed; ///< boxings of what has parts
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
  /// What the function says, or for one that updates by a gradient, the options.
  FailureOr<bool> takeDecision(func::FuncOp function) {
    Attribute said = function->removeAttr(sbp::kReproducibleName);
    const bool isStep = updatesByGradient(function);
    if (said && (!isa<BoolAttr>(said) || !isStep))
      return function.emitOpError() << "@" << function.getSymName() << " has " << sbp::kReproducibleName << " = "
                                    << said
                                    << ", which must be true or false, of a function that updates by a gradient";
    return said ? cast<BoolAttr>(said).getValue() : isStep && reproducible;
  }

  LogicalResult rewrite(func::FuncOp function, const sbp::Placement &placement) {
    if (auto schedule = scheduled.find(function.getSymName()); schedule != scheduled.end())
      return function.emitOpError() << "@" << function.getSymName() << " is to be reproducible, but it is run by @"
                                    << schedule->second << ", and what that adds up from run to run is rounded; say "
                                    << sbp::kReproducibleName
                                    << " = false of it, or leave the schedule to the compiler";
    auto said = function->getAttrOfType<IntegerAttr>(sbp::kMicroBatchesName);
    const int64_t count = !said ? microBatches.getValue() : said.getType().isSignlessInteger(64) ? said.getInt() : 0;
    const int64_t axisIndex = axis.empty() ? 0 : placement.axisIndex(axis);
    if (count < 1 || axisIndex < 0)
      return success(); // as 'sbp-split-steps' will say
    if (count > kMostAddends / placement.numPositions())
      return function.emitOpError() << "@" << function.getSymName() << " is to be reproducible in " << count
                                    << " micro-batches on " << placement.numPositions()
                                    << " ranks, but sums have no rounding up to " << kMostAddends
                                    << " addends only; make micro-batches larger";
    if (failed(verifyUnscaled(function)) || failed(verifyBatch(function, placement, count, axisIndex)))
      return failure();
    FailureOr<MicroBatchRows> rows = MicroBatchRows::of(function, count, axisIndex);
    if (failed(rows))
      return function.emitOpError() << "@" << function.getSymName()
                                    << " is to be reproducible, so what it needs of its batch must be there for each "
                                       "micro-batch, or be a sum over them; change that, or leave 'reproducible' out";
    FunctionSums(function, *rows).rewrite();
    function->setAttr(sbp::kExactSumsName, StringAttr::get(&getContext(), placement.axes[axisIndex].name));
    return success();
  }

  /// Exact sums have parts of fixed units, which a scale of the loss would move gradients out of.
  static LogicalResult verifyUnscaled(func::FuncOp function) {
    for (auto read : function.getOps<sbp::ReadOp>())
      if (read.getVariable() == kLossScaleName)
        return read.emitOpError() << "of @" << function.getSymName() << ", which is to be reproducible, has a scale of "
                                  << "the loss, by which gradients would leave what exact sums hold; leave out "
                                  << "'loss_scale', which f32 does not need, or 'reproducible'";
    return success();
  }

  /// Ranks and micro-batches have equally much of each argument that they split: else another number of ranks would
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
      for (auto [entry, of] : llvm::zip(entries, placement.axes))
        if (entry.isSplit() && entry.dim == dim) {
          parts *= of.size;
          unit = std::max(unit, entry.unit);
        }
      if (extent % (parts * unit) != 0)
        return function.emitOpError() << "@" << function.getSymName() << " is to be reproducible, but argument "
                                      << argument.getArgNumber() << " has " << extent << " elements along dimension "
                                      << dim << ", which " << parts << " addends (micro-batches times the ranks that "
                                      << "split it) do not divide; choose a divisor of " << extent;
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
