// Splits a step into micro-batches: functions that compute a part of its
// inputs, and a schedule that runs them one after the other.
//
//   1. MicroBatchRows.h says which values of a function are parts of a micro-batch
//      (S), addends of each (P), or the same for all (B).
//   2. Where a sum over micro-batches is needed, a loop over all of them ends, and
//      the ops that need the sum come after it. Each sum has a variable: the first
//      run of the loop assigns its addend, and the next runs add theirs.
//   3. A loop becomes a function for its first run and one for the next runs, with
//      only the ops that these need; values that an earlier loop computed of a
//      micro-batch are recomputed. A value brings its original along, and a
//      gradient the value that it lies beside, since later passes decide by them.
//      The last run of the last loop has a function of its own, with everything
//      that comes after: updates, assignments, results. So reductions and updates
//      overlap with its backward.
//
//   before   func.func @train(%x: tensor<12x4xf32, #S0>) { %g = <backward of %x>  %gf = sbp.fence %g in %update ... }
//   after    sbp.variable @w.accumulated ... state_of @w role "accumulated" carried
//            func.func @train.first(%x: tensor<4x4xf32, #S0>) { %g = ...  sbp.assign @w.accumulated, (fence %g) }
//            func.func @train.next ... { %g = ...  sbp.assign @w.accumulated, (fence @w.accumulated) + (fence %g) }
//            func.func @train.last ... { %g = ...  %gf = (fence @w.accumulated) + (fence %g) ... }
//            sbp.schedule @train of 3 { sbp.run @train.first from 0 to 1 takes [0] cut [0] ... }
//
// An accumulator is a state of its variable. So it lies as the gradient does
// where the variable is updated, whatever the stage, and in one range with the
// other accumulators of its bucket; each micro-batch reduces its gradients into
// it. Other sums lie as they are made, P where ranks have addends, and the last
// run, which reads them, reduces them. (A sum that a later loop reads is B.) In
// the order `per-step`, gradients are such sums: each rank adds up its own,
// whole.
//
//   per-step  sbp.variable @w.accumulated ... carried as_made
//             @train.last   { %g = ...  %t = @w.accumulated + %g  %gf = sbp.fence %t in %update ... }
#include "passes/global/MicroBatchRows.h"
#include "passes/global/Passes.h"
#include "passes/global/SameElements.h"
#include "passes/global/StepSums.h"

#include "dialects/sbp/algebra/Solver.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_SPLITSTEPSPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

/// Returns the type that a value with this entry along micro-batches has for
/// one of them.
RankedTensorType partOf(Type type, const sbp::Sbp &entry, int64_t microBatches) {
  auto whole = cast<RankedTensorType>(type);
  if (!entry.isSplit())
    return whole;
  SmallVector<int64_t> shape(whole.getShape());
  shape[entry.dim] /= microBatches;
  auto part = RankedTensorType::get(shape, whole.getElementType());
  sbp::NdAttr signature = sbp::signatureOf(type);
  if (!signature)
    return part;
  const sbp::Placement placement = signature.getPlacement().toAlgebra();
  sbp::NdSbp fitted = sbp::withUnitsFitted(sbp::shapeOf(part), signature.toAlgebra(), placement);
  return sbp::withSignature(part, sbp::NdAttr::get(signature.getPlacement(), fitted));
}

/// The runs of a loop for which a function is built.
enum class Part { First, Next, Last };

/// Builds the function for a part of the runs of a loop.
class PartBuilder {
public:
  PartBuilder(func::FuncOp step, const MicroBatchRows &rows, const SameElements &elements, const StepSums &sums,
              const Steps &steps, int64_t level, Part part)
      : step(step), rows(rows), elements(elements), sums(sums), microBatches(steps.count), level(level), part(part),
        isLastLoop(level + 1 == sums.numLoops()), statesRows(step->hasAttr(sbp::kExactSumsName)), b(step) {
    for (const Sum &sum : sums.sums())
      if (!sum.fence && sum.level == level)
        ended[sum.addend] = &sum;
  }

  FailureOr<func::FuncOp> build(StringRef name) {
    mark();
    if (part != Part::Last && failed(verifyReads()))
      return failure();
    SmallVector<Type> inputs;
    for (BlockArgument argument : step.getArguments()) // the last run also takes arguments that nothing needs
      if (needed.contains(argument) || (isLastLoop && part == Part::Last)) {
        taken.push_back(argument.getArgNumber());
        inputs.push_back(typeOf(argument));
      }
    if (isNumbered())
      inputs.push_back(RankedTensorType::get({}, b.getI64Type()));
    made = b.create<func::FuncOp>(step.getLoc(), name, b.getFunctionType(inputs, {}));
    made.setVisibility(step.getVisibility());
    if (Attribute axis = step->getAttr(sbp::kExactSumsName)) {
      made->setAttr(sbp::kExactSumsName, axis);
      made->setAttr(kBatchRowsName, b.getUnitAttr());
    }
    Block *body = made.addEntryBlock();
    SmallVector<DictionaryAttr> attributes(inputs.size()); // all at once: each change makes a list of all of them
    for (auto [to, number] : llvm::enumerate(taken)) {
      values[step.getArgument(number)] = body->getArgument(to);
      attributes[to] = step.getArgAttrDict(number);
    }
    made.setAllArgAttrs(attributes);
    b.setInsertionPointToEnd(body);
    for (Operation &op : step.getBody().front())
      emit(&op);
    if (statesRows)
      stateRest();
    return made;
  }

  /// Adds the run of the function that was built.
  void addRun(OpBuilder &at, int64_t begin, int64_t end) {
    auto dims = [](ArrayRef<int64_t> numbers, auto entryOf) {
      return llvm::map_to_vector(numbers, [&](int64_t number) {
        const std::optional<sbp::Sbp> entry = entryOf(number);
        return entry && entry->isSplit() ? entry->dim : int64_t{-1};
      });
    };
    Operation *terminator = step.getBody().front().getTerminator();
    auto cuts = dims(taken, [&](int64_t number) { return rows.made(step.getArgument(number)); });
    auto joins = dims(given, [&](int64_t number) { return rows.made(terminator->getOperand(number)); });
    at.create<sbp::RunOp>(step.getLoc(), made.getSymName(), begin, end, taken, cuts, isNumbered(), given, joins);
  }

private:
  using Free = std::pair<Value, int64_t>; ///< a value that depends on no input, and its dimension; -1: whole

  RankedTensorType typeOf(Value value) const {
    return partOf(value.getType(), rows.made(value).value_or(sbp::Sbp::broadcast()), microBatches);
  }

  //===--------------------------------------------------------------------===//
  // Needed values, from the end to the beginning
  //===--------------------------------------------------------------------===//

  void mark() {
    if (part != Part::Last)
      for (Sum sum : sums.sums())
        if (sum.level == level)
          needed.insert(sum.fence ? sum.fence.getOutput() : sum.addend);
    for (Operation &op : llvm::reverse(step.getBody().front())) {
      if (auto end = dyn_cast<func::ReturnOp>(op))
        markResults(end);
      else if (isa<sbp::AssignOp>(op) && part == Part::Last)
        want(op.getOpOperand(0));
      else if (isNeeded(&op))
        markOperands(&op);
    }
  }

  /// Marks results as needed. All runs of the last loop give a result that is a
  /// part for each micro-batch; only the last run gives any other result.
  void markResults(func::ReturnOp end) {
    for (OpOperand &use : end->getOpOperands()) {
      const std::optional<sbp::Sbp> entry = rows.made(use.get());
      if (!isLastLoop || (part != Part::Last && !(entry && entry->isSplit())))
        continue;
      given.push_back(use.getOperandNumber());
      want(use);
    }
  }

  bool isNeeded(Operation *op) const {
    return llvm::any_of(op->getResults(), [&](Value v) { return needed.contains(v) || freeWanted.contains(v); });
  }

  void markOperands(Operation *op) {
    markPartners(op);
    if (op->getNumResults() != 1 || rows.made(op->getResult(0)) || !isa<sbp::ShardingOpInterface>(op)) {
      for (OpOperand &use : op->getOpOperands())
        if (!sbp::isPlaceAlone(use))
          isa<RankedTensorType>(use.get().getType()) ? want(use) : void(needed.insert(use.get()));
      return;
    }
    for (int64_t dim : SmallVector<int64_t>(freeWanted.lookup(op->getResult(0)).getArrayRef()))
      for (OpOperand &use : op->getOpOperands())
        if (Value operand = use.get(); !sbp::isPlaceAlone(use))
          rows.made(operand) ? void(needed.insert(operand))
                             : void(freeWanted[operand].insert(operandDim(op, operand, dim)));
  }

  /// Marks the values by which later passes decide where the op's results lie:
  /// those that are computed first, and the one beside which a result is.
  void markPartners(Operation *op) {
    for (Value value : op->getResults())
      if (const Value original = elements.originalOf(value); needed.contains(value) && rows.made(original))
        needed.insert(original);
    if (auto colocate = dyn_cast<sbp::ColocateOp>(op); colocate && hasPlace(colocate.getBeside()))
      needed.insert(colocate.getBeside());
  }

  /// Whether this loop can compute the value, and it is not made wherever its
  /// uses want it.
  bool hasPlace(Value value) const { return rows.made(value) && rows.level(value) <= level; }

  void want(OpOperand &use) {
    if (rows.isSum(use)) {
      if (isTotal(use))
        needed.insert(sums.of(use).addend);
    } else if (rows.made(use.get()) || !isa<RankedTensorType>(use.get().getType())) {
      needed.insert(use.get());
    } else {
      freeWanted[use.get()].insert(rows.wanted(use).dim);
    }
  }

  /// Whether this loop adds up the sum; an earlier loop has added up any other
  /// sum.
  bool isTotal(OpOperand &use) const { return sums.of(use).level == level; }

  static int64_t operandDim(Operation *op, Value operand, int64_t dim) {
    if (dim < 0)
      return -1;
    const size_t index = llvm::find(op->getOperands(), operand) - op->operand_begin();
    return sbp::operandOfElementwise(cast<sbp::ShardingOpInterface>(op).getLoopSpec(), index, sbp::Sbp::split(dim)).dim;
  }

  /// Verifies that no micro-batch reads a variable after its assignment:
  /// assignments run in the last run, after everything that the others read.
  LogicalResult verifyReads() {
    llvm::StringMap<Operation *> assigned;
    for (Operation &op : step.getBody().front()) {
      if (auto assign = dyn_cast<sbp::AssignOp>(op))
        assigned[assign.getVariable()] = &op;
      auto read = dyn_cast<sbp::ReadOp>(op);
      if (!read || !assigned.contains(read.getVariable()) || !needed.contains(read.getResult()))
        continue;
      InFlightDiagnostic diag = read.emitOpError()
                                << "reads @" << read.getVariable()
                                << " after its assignment, for each micro-batch, but the last micro-batch assigns it; "
                                   "read it before, or compute the step in one micro-batch";
      diag.attachNote(assigned[read.getVariable()]->getLoc()) << "assigned here";
      return diag;
    }
    return success();
  }

  //===--------------------------------------------------------------------===//
  // The ops
  //===--------------------------------------------------------------------===//

  void emit(Operation *op) {
    if (auto end = dyn_cast<func::ReturnOp>(op))
      return emitReturn(end);
    if (auto fence = dyn_cast<sbp::FenceOp>(op); fence && needed.contains(fence.getOutput()) &&
                                                 rows.isSum(fence->getOpOperand(0)) &&
                                                 sums.of(fence->getOpOperand(0)).fence)
      return emitFencedSum(fence);
    if (auto colocate = dyn_cast<sbp::ColocateOp>(op))
      return emitColocate(colocate);
    if (isa<sbp::AssignOp>(op) ? part == Part::Last : needsClone(op))
      clone(op);
    for (Value result : op->getResults())
      if (freeWanted.contains(result) && !rows.made(result))
        for (int64_t dim : freeWanted.lookup(result))
          emitFree(op, dim);
    for (Value result : op->getResults())
      if (const Sum *sum = ended.lookup(result); sum && needed.contains(result))
        totals[result] = accumulate(*sum, values.lookup(result), {});
  }

  using Entries = SmallVector<std::optional<sbp::Sbp>>;

  /// States how the batch cuts the results and operands of a copy, where sums
  /// are exact: as the step's own op makes and wants them.
  void stateRows(Operation *copy, Operation *of) {
    Entries entries = llvm::map_to_vector(of->getResults(), [&](Value v) { return rows.made(v); });
    for (OpOperand *use : tensorUses(of))
      entries.push_back(rows.wanted(*use));
    entries.resize(of->getNumResults() + tensorUses(copy).size(),
                   sbp::Sbp::broadcast()); // and its place, if it has one
    stateEntries(copy, entries);
  }

  /// States the same of arguments, and that all other values are whole: they
  /// are sums over micro-batches, variables and places, or are made as their
  /// uses want.
  void stateRest() {
    for (BlockArgument argument : made.getArguments()) {
      const size_t number = argument.getArgNumber();
      const std::optional<sbp::Sbp> entry =
          number < taken.size() ? rows.made(step.getArgument(taken[number])) : sbp::Sbp::broadcast();
      made.setArgAttr(number, kBatchRowsName, MicroBatchRows::statement(b.getContext(), microBatches, entry));
    }
    for (Operation &op : made.getBody().front())
      if (op.getNumResults() > 0 && !op.hasAttr(kBatchRowsName))
        stateEntries(&op, Entries(op.getNumResults() + tensorUses(&op).size(), sbp::Sbp::broadcast()));
  }

  void stateEntries(Operation *op, const Entries &entries) {
    if (statesRows)
      op->setAttr(kBatchRowsName, MicroBatchRows::statement(b.getContext(), microBatches, entries));
  }

  /// Emits a colocate op, or only its input if `beside` has no place in this loop: a later loop computes it, or its
  /// uses decide where it is made. This loop then adds up the input where it lies.
  void emitColocate(sbp::ColocateOp op) {
    Value output = op.getOutput();
    if (needed.contains(output)) {
      values[output] = valueOf(op->getOpOperand(0));
      if (hasPlace(op.getBeside())) {
        auto copy = b.create<sbp::ColocateOp>(op.getLoc(), values[output], values.lookup(op.getBeside()));
        stateRows(copy, op);
        values[output] = copy;
      }
    }
    for (int64_t dim : SmallVector<int64_t>(freeWanted.lookup(output).getArrayRef()))
      freeValues[{output, dim}] =
          rows.made(op.getInput()) ? values.lookup(op.getInput()) : freeValues.at({op.getInput(), dim});
    if (const Sum *sum = ended.lookup(output); sum && needed.contains(output))
      totals[output] = accumulate(*sum, values.lookup(output), {});
  }

  bool needsClone(Operation *op) const {
    return llvm::any_of(op->getResults(), [&](Value v) { return needed.contains(v); });
  }

  void clone(Operation *op) {
    OperationState state(op->getLoc(), op->getName(),
                         llvm::map_to_vector(op->getOpOperands(), [&](OpOperand &use) { return valueOf(use); }),
                         llvm::map_to_vector(op->getResults(),
                                             [&](Value v) -> Type {
                                               return isa<RankedTensorType>(v.getType()) ? Type(typeOf(v))
                                                                                         : v.getType();
                                             }),
                         op->getAttrs());
    Operation *copy = b.create(state);
    for (auto [from, to] : llvm::zip(op->getResults(), copy->getResults()))
      values[from] = to;
    if (auto placed = dyn_cast<nn::PlacedOpInterface>(op))
      place(copy, placed.getPlaced(), rows.made(placed.getPlaced()).value_or(sbp::Sbp::broadcast()));
    stateRows(copy, op);
  }

  /// Whether the function needs the number of its micro-batch: an op computes a
  /// part of the batch, and depends on where in the batch that part is.
  bool isNumbered() const {
    return llvm::any_of(func::FuncOp(step).getBody().front(), [&](Operation &op) {
      auto placed = dyn_cast<nn::PlacedOpInterface>(op);
      if (!placed)
        return false;
      if (!placed.canBePart()) // such an op is never a part
        return false;
      const std::optional<sbp::Sbp> entry = rows.made(op.getResult(0));
      if (entry)
        return entry->isSplit() && needed.contains(op.getResult(0));
      return llvm::any_of(freeWanted.lookup(op.getResult(0)), [](int64_t dim) { return dim >= 0; });
    });
  }

  /// Tells an op whose elements depend on their place which part of `whole` it computes.
  void place(Operation *op, Value whole, const sbp::Sbp &entry) {
    auto placed = dyn_cast<nn::PlacedOpInterface>(op);
    if (!placed || !entry.isSplit() || !placed.isPlacedAlong(entry.dim))
      return;
    const sbp::Shape shape = sbp::shapeOf(whole.getType());
    placed.setPlace(SmallVector<int64_t>(shape.size(), 0), shape);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(op);
    placed.setPart(b, made.getArgument(made.getNumArguments() - 1), entry.dim);
  }

  void emitFree(Operation *op, int64_t dim) {
    const sbp::Sbp entry = dim < 0 ? sbp::Sbp::broadcast() : sbp::Sbp::split(dim);
    auto operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) {
      return rows.made(operand) ? values.lookup(operand) : freeValues.at({operand, operandDim(op, operand, dim)});
    });
    OperationState state(op->getLoc(), op->getName(), operands,
                         {partOf(op->getResult(0).getType(), entry, microBatches)}, op->getAttrs());
    Operation *copy = b.create(state);
    place(copy, op->getResult(0), entry);
    Entries entries(1 + tensorUses(copy).size(), sbp::Sbp::broadcast());
    entries.front() = entry;
    stateEntries(copy, entries);
    freeValues[{op->getResult(0), dim}] = copy->getResult(0);
  }

  Value valueOf(OpOperand &use) {
    Value value = use.get();
    if (!isa<RankedTensorType>(value.getType()))
      return values.lookup(value);
    if (rows.isSum(use))
      return isTotal(use) ? totals.lookup(sums.of(use).addend) : read(sums.of(use));
    return rows.made(value) ? values.lookup(value) : freeValues.at({value, rows.wanted(use).dim});
  }

  Value read(const Sum &sum) {
    sbp::VariableOp variable = sum.accumulator;
    const Type type = variable.getStateOf() ? nn::undecided(variable.getType()) : Type(variable.getType());
    return b.create<sbp::ReadOp>(step.getLoc(), type, variable.getSymName());
  }

  /// Adds the addend of this run to the sum, and assigns the result for the
  /// next run. `scope` is that of the update, or null.
  Value accumulate(const Sum &sum, Value addend, Value scope) {
    sbp::VariableOp variable = sum.accumulator;
    Location loc = sum.addend.getLoc();
    auto fenced = [&](Value value) { return scope ? Value(b.create<sbp::FenceOp>(loc, value, scope)) : value; };
    Value total = fenced(addend);
    if (scope)
      stateEntries(total.getDefiningOp(), {rows.made(sum.addend), rows.made(sum.addend)});
    if (part != Part::First)
      total = b.create<nn::AddOp>(loc, fenced(read(sum)), total);
    total.setType(sum.addend.getType()); // keeps the signature that a user gave
    if (part != Part::Last)
      b.create<sbp::AssignOp>(loc, FlatSymbolRefAttr::get(variable.getSymNameAttr()), total);
    return total;
  }

  void emitFencedSum(sbp::FenceOp fence) {
    OpOperand &use = fence->getOpOperand(0);
    Value scope = values.lookup(fence.getScope());
    if (isTotal(use))
      values[fence.getOutput()] = accumulate(sums.of(use), values.lookup(fence.getInput()), scope);
    else
      values[fence.getOutput()] = b.create<sbp::FenceOp>(fence.getLoc(), read(sums.of(use)), scope);
  }

  void emitReturn(func::ReturnOp end) {
    SmallVector<Value> results;
    SmallVector<Type> types;
    for (int64_t number : given) {
      OpOperand &use = end->getOpOperand(number);
      results.push_back(valueOf(use));
      const sbp::Sbp entry = rows.made(use.get()).value_or(sbp::Sbp::broadcast());
      types.push_back(partOf(step.getResultTypes()[number], entry, microBatches));
    }
    b.create<func::ReturnOp>(end.getLoc(), results);
    made.setFunctionType(b.getFunctionType(made.getArgumentTypes(), types));
    SmallVector<DictionaryAttr> attributes;
    for (int64_t number : given)
      attributes.push_back(step.getResultAttrDict(number));
    made.setAllResultAttrs(attributes);
  }

  func::FuncOp step, made;
  const MicroBatchRows &rows;
  const SameElements &elements;
  const StepSums &sums;
  const int64_t microBatches, level;
  const Part part;
  const bool isLastLoop;
  const bool statesRows; ///< whether the sums of the step are exact
  OpBuilder b;
  DenseSet<Value> needed;                                       ///< tensors and scopes
  DenseMap<Value, llvm::SmallSetVector<int64_t, 2>> freeWanted; ///< by free value: the dimensions of its parts
  DenseMap<Value, const Sum *> ended; ///< by addend: the sums for no update that this loop ends
  DenseMap<Value, Value> values, totals;
  SmallVector<int64_t> taken, given; ///< numbers of the arguments and results of the step
  DenseMap<Free, Value> freeValues;
};

struct SplitSteps : splitcast::impl::SplitStepsPassBase<SplitSteps> {
  using SplitStepsPassBase::SplitStepsPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(verifyModule(module)))
      return signalPassFailure();
    if (microBatches < 1 || microBatches > sbp::kMostMicroBatches) {
      module.emitError() << "'sbp-split-steps' got micro-batches=" << microBatches.getValue()
                         << "; there must be at least one, and at most " << sbp::kMostMicroBatches;
      return signalPassFailure();
    }
    if (!sbp::parseAccumulateOrder(order.getValue())) {
      module.emitError() << "'sbp-split-steps' got order=" << order.getValue()
                         << "; it must be per-micro-batch or per-step";
      return signalPassFailure();
    }
    sbp::PlacementAttr placement = sbp::placementOf(module);
    const int64_t axisIndex = !placement || axis.empty() ? 0 : placement.toAlgebra().axisIndex(axis);
    SymbolTable symbols(module);
    Accumulators accumulators(module, symbols);
    llvm::StringSet<> scheduled; // functions that a schedule of the user runs
    for (auto schedule : module.getOps<sbp::ScheduleOp>())
      for (auto run : schedule.getBody().front().getOps<sbp::RunOp>())
        scheduled.insert(run.getFunction());
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      FailureOr<Steps> steps = stepsOf(function, axisIndex);
      if (failed(steps))
        return signalPassFailure();
      if (scheduled.contains(function.getSymName())) {
        if (steps->count == 1)
          continue;
        function.emitOpError() << "@" << function.getSymName() << " is to be computed in " << steps->count
                               << " micro-batches, but a schedule already says how it runs; leave the schedule out, or "
                                  "compute the function in one ("
                               << sbp::kMicroBatchesName << " = 1)";
        return signalPassFailure();
      }
      if (steps->count == 1 || !placement)
        continue;
      if (steps->count < 1 || steps->count > sbp::kMostMicroBatches || axisIndex < 0) {
        function.emitOpError() << "@" << function.getSymName() << " is to be computed in " << steps->count
                               << " micro-batches, cut along "
                               << (axis.empty() ? "the first axis" : "axis '" + axis.getValue() + "'")
                               << "; there must be at least one, and at most " << sbp::kMostMicroBatches
                               << ", and the axis must be one of the placement";
        return signalPassFailure();
      }
      if (failed(split(function, *steps, symbols, accumulators)))
        return signalPassFailure();
    }
  }

  /// Returns how the function is computed: as its attributes say, or, if it
  /// updates by a gradient, as the options do.
  FailureOr<Steps> stepsOf(func::FuncOp function, int64_t axisIndex) {
    Attribute saidCount = function->removeAttr(sbp::kMicroBatchesName),
              saidOrder = function->removeAttr(sbp::kAccumulateOrderName);
    const bool isStep = updatesByGradient(function);
    auto count = dyn_cast_or_null<IntegerAttr>(saidCount);
    if (saidCount && (!count || !count.getType().isSignlessInteger(64) || !isStep))
      return function.emitOpError()
             << "@" << function.getSymName() << " has " << sbp::kMicroBatchesName << " = " << saidCount
             << "; it must be an i64, and only a function that updates by a gradient may have it";
    auto text = dyn_cast_or_null<StringAttr>(saidOrder);
    const std::optional<sbp::AccumulateOrder> order =
        sbp::parseAccumulateOrder(text ? text.getValue().str() : this->order.getValue());
    if (!order || (saidOrder && (!text || !isStep)))
      return function.emitOpError()
             << "@" << function.getSymName() << " has " << sbp::kAccumulateOrderName << " = " << saidOrder
             << "; it must be \"per-micro-batch\" or \"per-step\", and only a function that updates by "
                "a gradient may have it";
    return Steps{count ? count.getInt() : isStep ? microBatches.getValue() : 1, *order, axisIndex};
  }

  static bool hasBatch(func::FuncOp function, const MicroBatchRows &rows) {
    return llvm::any_of(function.getArguments(), [&](Value argument) { return rows.made(argument)->isSplit(); });
  }

  static LogicalResult emitNoBatch(func::FuncOp function, const Steps &steps) {
    auto placement = sbp::placementOf(function->getParentOfType<ModuleOp>());
    return function.emitOpError() << "@" << function.getSymName() << " is to be computed in " << steps.count
                                  << " micro-batches, but ranks split none of its arguments along axis \""
                                  << placement.getAxisNames()[steps.axis].getValue()
                                  << "\"; compute it in one, or name the axis that splits the batch";
  }

  LogicalResult split(func::FuncOp function, const Steps &steps, SymbolTable &symbols, Accumulators &accumulators) {
    const int64_t count = steps.count;
    FailureOr<MicroBatchRows> rows = MicroBatchRows::of(function, count, steps.axis);
    if (failed(rows))
      return failure();
    const SameElements elements(function.getBody().front());
    const StepSums sums(function, *rows, elements, steps, accumulators);
    if (sums.numLoops() == 0) // nothing depends on the batch, if there is one
      return hasBatch(function, *rows) ? success() : emitNoBatch(function, steps);
    OpBuilder b(function);
    b.setInsertionPointAfter(function);
    auto schedule = b.create<sbp::ScheduleOp>(function.getLoc(), function.getSymName(), nullptr, count);
    OpBuilder runs = OpBuilder::atBlockBegin(&schedule.getBody().emplaceBlock());
    for (int64_t level = 0; level < sums.numLoops(); ++level) {
      const bool isLastLoop = level + 1 == sums.numLoops();
      const int64_t rest = isLastLoop ? count - 1 : count;
      const std::string prefix =
          (function.getSymName() + (isLastLoop ? "." : ".sums" + std::to_string(level) + ".")).str();
      auto add = [&](Part part, StringRef name, int64_t begin, int64_t end) -> LogicalResult {
        if (begin == end)
          return success();
        PartBuilder builder(function, *rows, elements, sums, steps, level, part);
        FailureOr<func::FuncOp> made = builder.build(prefix + name.str());
        if (failed(made))
          return failure();
        symbols.insert(*made);
        builder.addRun(runs, begin, end);
        return success();
      };
      if (failed(add(Part::First, "first", 0, 1)) || failed(add(Part::Next, "next", 1, rest)) ||
          (isLastLoop && failed(add(Part::Last, "last", rest, count))))
        return failure();
    }
    symbols.remove(function);
    symbols.insert(schedule); // it has the name of the step, so no part of another step may take it
    function.erase();
    return success();
  }
};

} // namespace
