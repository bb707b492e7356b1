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
//      micro-batch are recomputed. The last run of the last loop has a function of
//      its own, with everything that comes after: updates, assignments, results. So
//      reductions and updates overlap with its backward.
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

#include "dialects/sbp/algebra/Solver.h"
#include "passes/global/SignatureProblem.h"

#include "llvm/ADT/StringSet.h"

#include <map>

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_SPLITSTEPSPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

/// A value that is summed over micro-batches, for an update or for any other
/// use.
struct Sum {
  Value addend;
  sbp::FenceOp fence; ///< the fence of the update after which it is summed; null: it is summed where it is made
  int64_t level = 0;  ///< the loop that it ends
  sbp::VariableOp accumulator;
};

/// How a function is computed in micro-batches.
struct Steps {
  int64_t count = 1;
  sbp::AccumulateOrder order = sbp::AccumulateOrder::PerMicroBatch;
  int64_t axis = 0; ///< the axis whose splits of the inputs are cut
};

/// The accumulators of the gradients of a module: states of their variables.
/// Steps that update a variable in the same way share them.
class Accumulators {
public:
  Accumulators(ModuleOp module, SymbolTable &symbols) : symbols(symbols) {
    auto isTaken = [&](sbp::VariableOp variable) {
      return variable.getRole() && variable.getRole()->starts_with(role);
    };
    while (llvm::any_of(module.getOps<sbp::VariableOp>(), isTaken)) // a state that the user declared has this role
      role += "_";
  }

  /// Returns an accumulator of the variable. Several sums for a variable in one
  /// step have an accumulator each. So do steps that add up elements of
  /// different types: exact parts are f64, whatever the type of the variable
  /// is.
  sbp::VariableOp of(sbp::VariableOp variable, int64_t number, Type element) {
    SmallVector<sbp::VariableOp> &known = all[{variable, number}];
    for (sbp::VariableOp accumulator : known)
      if (accumulator.getTensorType().getElementType() == element)
        return accumulator;
    std::string own = number == 0 ? role : role + std::to_string(number);
    if (!known.empty())
      own += "_" + textOf(element);
    known.push_back(create(variable, (variable.getSymName() + "." + own).str(), variable.getTensorType().clone(element),
                           variable.getGroupOrPrefix()));
    known.back().setStateOf(variable.getSymName());
    known.back().setRole(own);
    return known.back();
  }

  /// Creates a carried variable beside a variable or function. If the name is
  /// taken, it gets another one.
  sbp::VariableOp create(Operation *beside, const std::string &name, Type type, StringRef group) {
    OpBuilder b(beside->getContext());
    isa<sbp::VariableOp>(beside) ? b.setInsertionPointAfter(beside) : b.setInsertionPoint(beside);
    auto made = b.create<sbp::VariableOp>(beside->getLoc(), name, type, /*init=*/nullptr, group);
    made.setCarried(true);
    symbols.insert(made);
    return made;
  }

  sbp::VariableOp variableOf(sbp::FenceOp fence) const {
    return symbols.lookup<sbp::VariableOp>(*updateScopeOf(fence).getVariable());
  }

private:
  static std::string textOf(Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  }

  SymbolTable &symbols;
  std::string role = "accumulated";
  std::map<std::pair<Operation *, int64_t>, SmallVector<sbp::VariableOp>> all; ///< by variable and number of the sum
};

/// The sums of a function, with their accumulators.
class Sums {
public:
  Sums(func::FuncOp function, const MicroBatchRows &rows, const Steps &steps, Accumulators &accumulators)
      : function(function), rows(rows), steps(steps), accumulators(accumulators) {
    for (Operation &op : function.getBody().front())
      for (OpOperand &use : op.getOpOperands())
        if (isa<RankedTensorType>(use.get().getType()) && rows.isSum(use))
          add(use);
    loops = countLoops();
    markAsMade();
  }

  /// Returns the number of loops: the last one ends with the last sum, or makes
  /// the last result that is a part for each micro-batch.
  int64_t numLoops() const { return loops; }
  const Sum &of(OpOperand &use) const { return all[numbers.lookup(keyOf(use))]; }
  ArrayRef<Sum> sums() const { return all; }

private:
  using Key = std::pair<Value, Operation *>;

  /// Returns the fence of the update that takes a use, or null.
  static sbp::FenceOp updateOf(OpOperand &use) {
    auto fence = dyn_cast<sbp::FenceOp>(use.getOwner());
    return fence && updateScopeOf(fence) ? fence : sbp::FenceOp();
  }

  /// Returns the key of a sum. Once per step, addends are added up before any
  /// update takes them, so that updates share the sum.
  Key keyOf(OpOperand &use) const {
    const bool isFenced = steps.order == sbp::AccumulateOrder::PerMicroBatch && updateOf(use);
    return {use.get(), isFenced ? use.getOwner() : nullptr};
  }

  int64_t countLoops() {
    int64_t count = 0;
    for (const Sum &sum : all)
      count = std::max(count, sum.level + 1);
    for (Value result : function.getBody().front().getTerminator()->getOperands())
      if (const std::optional<sbp::Sbp> entry = rows.made(result); entry && entry->isSplit())
        count = std::max(count, rows.level(result) + 1);
    return count;
  }

  void add(OpOperand &use) {
    const Key key = keyOf(use);
    if (!numbers.try_emplace(key, all.size()).second)
      return;
    Sum sum{use.get(), cast_or_null<sbp::FenceOp>(key.second), rows.level(use.get()), {}};
    sum.accumulator = accumulatorOf(sum, updateOf(use));
    all.push_back(sum);
  }

  /// Creates the accumulator of a sum. That of a gradient is a state of its
  /// variable. A sum of another shape, one for no update, and a gradient that
  /// ranks sum once per step have variables of their own.
  sbp::VariableOp accumulatorOf(const Sum &sum, sbp::FenceOp update) {
    const Type type = nn::undecided(sum.addend.getType());
    sbp::VariableOp variable = update ? accumulators.variableOf(update) : sbp::VariableOp();
    if (variable && sbp::shapeOf(variable.getType()) != sbp::shapeOf(type))
      variable = {};
    if (variable && sum.fence)
      return accumulators.of(variable, updates[variable]++, getElementTypeOrSelf(type));
    Operation *beside = variable ? variable.getOperation() : function.getOperation();
    const std::string name = variable ? (variable.getSymName() + ".accumulated").str()
                                      : (function.getSymName() + ".sum").str() + std::to_string(all.size());
    // A signature that the user gave is kept.
    sbp::VariableOp made = accumulators.create(beside, name, sum.addend.getType(),
                                               variable ? variable.getGroupOrPrefix() : function.getSymName());
    made.setFrozen(true);
    return made;
  }

  /// Marks the sums that one run after the last micro-batch reads: they are
  /// reduced there, so they are carried as they are made. A sum that a later
  /// loop reads would be reduced by each of its runs.
  void markAsMade() {
    for (Sum &sum : all)
      if (!sum.accumulator.getStateOf() && !sum.accumulator.getLogical() && sum.level + 1 == loops)
        sum.accumulator.setAsMade(true);
  }

  func::FuncOp function;
  const MicroBatchRows &rows;
  const Steps &steps;
  Accumulators &accumulators;
  SmallVector<Sum> all;
  int64_t loops = 0;
  DenseMap<Key, size_t> numbers;
  DenseMap<Operation *, int64_t> updates; ///< by variable: its sums so far
};

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
  PartBuilder(func::FuncOp step, const MicroBatchRows &rows, const Sums &sums, const Steps &steps, int64_t level,
              Part part)
      : step(step), rows(rows), sums(sums), microBatches(steps.count), level(level), part(part),
        isLastLoop(level + 1 == sums.numLoops()), b(step) {
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
    if (Attribute axis = step->getAttr(sbp::kExactSumsName))
      made->setAttr(sbp::kExactSumsName, axis);
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

  void want(OpOperand &use) {
    if (rows.isSum(use)) {
      if (isTotal(use))
        needed.insert(use.get());
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

  /// Emits a colocate op, or only its input if `beside` is not needed in this
  /// function.
  void emitColocate(sbp::ColocateOp op) {
    Value output = op.getOutput();
    if (needed.contains(output)) {
      values[output] = valueOf(op->getOpOperand(0));
      if (Value beside = values.lookup(op.getBeside()))
        values[output] = b.create<sbp::ColocateOp>(op.getLoc(), values[output], beside);
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
    freeValues[{op->getResult(0), dim}] = copy->getResult(0);
  }

  Value valueOf(OpOperand &use) {
    Value value = use.get();
    if (!isa<RankedTensorType>(value.getType()))
      return values.lookup(value);
    if (rows.isSum(use))
      return isTotal(use) ? totals.lookup(value) : read(sums.of(use));
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
  const Sums &sums;
  const int64_t microBatches, level;
  const Part part;
  const bool isLastLoop;
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
    const Sums sums(function, *rows, steps, accumulators);
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
        PartBuilder builder(function, *rows, sums, steps, level, part);
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
