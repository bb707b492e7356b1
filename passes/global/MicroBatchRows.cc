#include "passes/global/MicroBatchRows.h"

#include "dialects/nn/Nn.h"

#include "dialects/sbp/algebra/Solver.h"
#include "passes/global/SameElements.h"
#include "passes/global/SignatureProblem.h"

#include <numeric>
#include <set>

using namespace mlir;
using namespace splitcast;

namespace splitcast {

/// The cost of a boxing along micro-batches. A sum costs 1. Everything else is
/// impossible for one micro-batch alone; it costs so much that it is chosen
/// only where nothing else is legal, and is then refused.
static int64_t costOf(const sbp::Shape &, int64_t, const sbp::NdSbp &from, const sbp::NdSbp &to,
                      const sbp::Placement &) {
  constexpr int64_t kSum = 1, kNotThere = int64_t{1} << 32;
  if (from == to)
    return 0;
  return from.front().isPartial() && to.front().isBroadcast() ? kSum : kNotThere;
}

/// How ops that do not depend on the batch are treated.
struct Way {
  bool keepsWhole = true;    ///< they are not divided, even if they are constants
  bool cutsRepeated = false; ///< a broadcast to as many rows as the batch has is a part of the batch
};

/// Builds the problem of a function for the solver, and reads the solution.
class MicroBatchProblem {
public:
  MicroBatchProblem(func::FuncOp function, int64_t microBatches, int64_t axis, const Way &way)
      : function(function), microBatches(microBatches), axis(axis), way(way), elements(function.getBody().front()) {
    // On an axis of size 1 all signatures are equal, and no value would be a
    // sum.
    problem.placement = {"", {{"micro-batches", microBatches > 1 ? microBatches : leastDivisor()}}, {}};
    problem.cost = costOf;
  }

  FailureOr<MicroBatchRows> solve() {
    Block &body = function.getBody().front();
    for (BlockArgument argument : body.getArguments())
      if (failed(addArgument(argument)))
        return failure();
    for (Operation &op : body.without_terminator())
      add(&op);
    const sbp::Solution solution = sbp::walk(problem);
    if (solution.failure)
      return ops[solution.failure->op]->emitOpError()
             << "has no row of signatures that takes each operand as the part of one micro-batch, or whole; "
                "compute the step in one micro-batch";
    for (auto [value, number] : numbers) {
      const sbp::NdSbp &seen = solution.assignment.tensors[number];
      rows.ofValues[value] = seen.empty() ? std::nullopt : std::optional(seen.front());
    }
    for (Operation &op : body)
      if (failed(follow(&op, solution)))
        return failure();
    return std::move(rows);
  }

private:
  /// Returns the least common divisor, from 2 on, of all extents that are
  /// split, so that parts are equal, as those of ranks and micro-batches are; 2
  /// if none is found.
  int64_t leastDivisor() {
    int64_t common = 0;
    for (BlockArgument argument : function.getArguments())
      if (sbp::NdAttr signature = sbp::signatureOf(argument))
        if (const sbp::Sbp entry = signature.getEntries()[axis].toAlgebra(); entry.isSplit())
          common = std::gcd(common, sbp::shapeOf(argument.getType())[entry.dim]);
    constexpr int64_t kMost = 1 << 16;
    for (int64_t divisor = 2; divisor <= std::min(common, kMost); ++divisor)
      if (common % divisor == 0)
        return divisor;
    return 2;
  }

  LogicalResult addArgument(BlockArgument argument) {
    sbp::NdAttr signature = sbp::signatureOf(argument);
    sbp::Sbp entry = signature ? signature.getEntries()[axis].toAlgebra() : sbp::Sbp::broadcast();
    if (!entry.isSplit())
      entry = sbp::Sbp::broadcast();
    const sbp::Shape shape = sbp::shapeOf(argument.getType());
    if (entry.isSplit() && shape[entry.dim] % microBatches != 0)
      return function.emitOpError() << "@" << function.getSymName() << " takes argument " << argument.getArgNumber()
                                    << " with " << shape[entry.dim] << " elements along dimension " << entry.dim
                                    << ", which " << microBatches
                                    << " micro-batches do not divide; choose a divisor of " << shape[entry.dim];
    if (entry.isSplit()) {
      ofBatch.insert(argument);
      batchExtents.insert(shape[entry.dim]);
    }
    addTensor(argument, {entry.isSplit() ? sbp::Sbp::split(entry.dim) : entry});
    return success();
  }

  void add(Operation *op) {
    if (auto fence = dyn_cast<sbp::FenceOp>(op); fence && updateScopeOf(fence))
      return addTensor(fence.getOutput(), {sbp::Sbp::broadcast()});
    if (isa<sbp::FenceOp, sbp::BoxingOp>(op)) {
      addTensor(op->getResult(0), {});
      problem.tensors.back().sameAs = numbers.lookup(op->getOperand(0));
      if (ofBatch.contains(op->getOperand(0)))
        ofBatch.insert(op->getResult(0));
      return;
    }
    if (isa<sbp::ReadOp>(op))
      return addTensor(op->getResult(0), {sbp::Sbp::broadcast()});
    if (std::optional<int64_t> dim = dimRepeatedForBatch(op)) {
      ofBatch.insert(op->getResult(0));
      return addTensor(op->getResult(0), {sbp::Sbp::split(*dim)});
    }
    auto sharded = dyn_cast<sbp::ShardingOpInterface>(op);
    if (!sharded)
      return;
    sbp::SignatureOp node;
    node.spec = sharded.getLoopSpec();
    keepWhole(op, node.spec);
    for (Value operand : sbp::tensorOperands(op))
      node.operands.push_back(numbers.lookup(operand));
    for (Value result : op->getResults()) {
      node.results.push_back(static_cast<int>(problem.tensors.size()));
      addTensor(result, {});
    }
    ops.push_back(op);
    problem.ops.push_back(std::move(node));
  }

  /// Returns the dimension along which a broadcast repeats a value as often as
  /// the batch has rows, such as a mean that is compared with all rows, or its
  /// gradient. A sum is then completed first, and repeated for the rows of a
  /// micro-batch. Such a broadcast is no op of the problem: there, the value
  /// would stay a sum until something else is wanted.
  std::optional<int64_t> dimRepeatedForBatch(Operation *op) {
    auto broadcast = dyn_cast<nn::BroadcastOp>(op);
    if (!broadcast || !way.cutsRepeated)
      return std::nullopt;
    for (int64_t dim : broadcast.getDims())
      if (batchExtents.count(sbp::shapeOf(broadcast.getType())[dim]) > 0)
        return dim;
    return std::nullopt;
  }

  /// Marks the loops of the op that micro-batches do not divide. If none of the
  /// operands depends on the batch, these are all loops, else those that have
  /// no equal parts. (Ranks may divide them differently.) Constants and
  /// broadcasts of scalars are whole or a part, as their uses want.
  void keepWhole(Operation *op, sbp::LoopSpec &spec) {
    auto operands = sbp::tensorOperands(op);
    const bool isOfBatch = llvm::any_of(operands, [&](Value operand) { return ofBatch.contains(operand); });
    const bool isFree =
        op->getNumResults() == 1 && sbp::isElementwise(spec) && llvm::all_of(operands, [&](Value operand) {
          return free.contains(operand) || cast<RankedTensorType>(operand.getType()).getRank() == 0;
        });
    if (isOfBatch)
      ofBatch.insert(op->result_begin(), op->result_end());
    else if (isFree)
      free.insert(op->getResult(0));
    for (sbp::Factor &factor : spec.factors)
      if (isOfBatch || !way.keepsWhole ? factor.extent % microBatches != 0 && !isFree : !isFree)
        factor.kind = sbp::FactorKind::Whole;
    if (auto placed = dyn_cast<nn::PlacedOpInterface>(op); placed && !placed.canBePart())
      for (auto [dim, factors] : llvm::enumerate(factorsOf(placed.getPlaced(), op, spec)))
        for (int factor : factors)
          if (placed.isPlacedAlong(static_cast<int64_t>(dim)))
            spec.factors[factor].kind = sbp::FactorKind::Whole;
  }

  /// Returns the factors of an operand, or of the first result, of an op.
  static const sbp::TensorFactors &factorsOf(Value value, Operation *op, const sbp::LoopSpec &spec) {
    for (auto [operand, factors] : llvm::zip(sbp::tensorOperands(op), spec.operands))
      if (operand == value)
        return factors;
    return spec.results.front();
  }

  void addTensor(Value value, const sbp::NdSbp &given) {
    numbers[value] = static_cast<int>(problem.tensors.size());
    problem.tensors.push_back({sbp::shapeOf(value.getType()), sbp::elementBytes(value.getType()), given});
    if (const Value original = elements.originalOf(value); original != value)
      problem.tensors.back().sameElements = numbers.lookup(original);
  }

  //===--------------------------------------------------------------------===//
  // The solution
  //===--------------------------------------------------------------------===//

  LogicalResult follow(Operation *op, const sbp::Solution &solution) {
    const sbp::OpChoice *choice = nullptr;
    if (next < ops.size() && ops[next] == op)
      choice = &solution.assignment.ops[next++];
    int64_t level = 0;
    size_t index = 0;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<RankedTensorType>(operand.get().getType()))
        continue;
      sbp::Sbp &wanted = rows.ofUses[&operand] = wantedBy(operand, choice, index++);
      const std::optional<sbp::Sbp> made = rows.made(operand.get());
      if (made && *made != wanted && !rows.isSum(operand))
        return refuse(operand, *made, wanted);
      if (!sbp::isPlaceAlone(operand))
        level = std::max(level, rows.level(operand.get()) + rows.isSum(operand));
    }
    for (Value result : op->getResults())
      rows.levels[result] = level;
    return success();
  }

  sbp::Sbp wantedBy(OpOperand &operand, const sbp::OpChoice *choice, size_t index) {
    sbp::Sbp whole = sbp::Sbp::broadcast();
    if (sbp::isPlaceAlone(operand))
      return rows.made(operand.get()).value_or(whole);
    if (choice) // operands of a free op are like its result, which its users decide
      return choice->isFree ? rows.made(operand.get()).value_or(whole) : choice->row.operands[index].front();
    Operation *user = operand.getOwner();
    auto fence = dyn_cast<sbp::FenceOp>(user);
    if (isa<sbp::AssignOp>(user) || (fence && updateScopeOf(fence)) || dimRepeatedForBatch(user))
      return whole;
    const sbp::Sbp made = rows.made(operand.get()).value_or(whole);
    return isa<func::ReturnOp>(user) && made.isPartial() ? whole : made;
  }

  LogicalResult refuse(OpOperand &operand, const sbp::Sbp &made, const sbp::Sbp &wanted) {
    InFlightDiagnostic diag = operand.getOwner()->emitOpError();
    if (made.isBroadcast())
      diag << "takes a part of operand " << operand.getOperandNumber()
           << " for each micro-batch, but the operand is whole";
    else
      diag << "needs operand " << operand.getOperandNumber() << " of all micro-batches at once, but these are computed "
           << "one after the other";
    return diag << " (it is " << toString(made) << " along micro-batches, and wanted as " << toString(wanted)
                << "); compute the step in one micro-batch, or split the input that it comes from in another way";
  }

  func::FuncOp function;
  const int64_t microBatches, axis;
  const Way way;
  const SameElements elements;
  sbp::Problem problem;
  llvm::MapVector<Value, int> numbers;
  DenseSet<Value> ofBatch, free;  ///< values that depend on a part of the batch; constants and ops on scalars
  std::set<int64_t> batchExtents; ///< the extents of the inputs' split dimensions
  SmallVector<Operation *> ops;   ///< the ops of the problem
  size_t next = 0;                ///< the next of these to follow
  MicroBatchRows rows;
};

} // namespace splitcast

bool splitcast::updatesByGradient(func::FuncOp function) {
  return !function.isExternal() && function.getBody().hasOneBlock() &&
         llvm::any_of(function.getBody().front().getOps<sbp::FenceOp>(),
                      [](sbp::FenceOp fence) { return updateScopeOf(fence); });
}

bool MicroBatchRows::isSum(OpOperand &use) const {
  const std::optional<sbp::Sbp> from = made(use.get());
  return from && from->isPartial() && wanted(use).isBroadcast();
}

ArrayAttr MicroBatchRows::statement(MLIRContext *context, int64_t microBatches,
                                    ArrayRef<std::optional<sbp::Sbp>> made) {
  auto placement = sbp::PlacementAttr::fromAlgebra(context, {"turns", {{"micro_batches", microBatches}}, {}});
  return ArrayAttr::get(context, llvm::map_to_vector(made, [&](const std::optional<sbp::Sbp> &entry) -> Attribute {
                          return entry ? Attribute(sbp::NdAttr::get(placement, {*entry})) : UnitAttr::get(context);
                        }));
}

SmallVector<OpOperand *> splitcast::tensorUses(Operation *op) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : op->getOpOperands())
    if (isa<RankedTensorType>(use.get().getType()) && !sbp::isPlaceAlone(use))
      uses.push_back(&use);
  return uses;
}

FailureOr<MicroBatchRows> MicroBatchRows::takeStated(func::FuncOp function) {
  MicroBatchRows rows;
  auto take = [&](ValueRange values, ArrayRef<OpOperand *> uses, Attribute said) {
    auto entries = dyn_cast_or_null<ArrayAttr>(said);
    if (!entries || entries.size() != values.size() + uses.size())
      return false;
    for (auto [value, entry] : llvm::zip_first(values, entries))
      if (auto made = dyn_cast<sbp::NdAttr>(entry))
        rows.ofValues[value] = made.toAlgebra().front();
    for (auto [use, entry] : llvm::zip(uses, entries.getValue().drop_front(values.size())))
      if (auto wanted = dyn_cast<sbp::NdAttr>(entry))
        rows.ofUses[use] = wanted.toAlgebra().front();
    return true;
  };
  const auto name = StringAttr::get(function.getContext(), kBatchRowsName);
  for (BlockArgument argument : function.getArguments())
    if (!take(argument, {}, function.removeArgAttr(argument.getArgNumber(), name)))
      return function.emitOpError() << "@" << function.getSymName() << " does not say how the batch cuts argument "
                                    << argument.getArgNumber() << " (" << kBatchRowsName << "); run 'sbp-split-steps'";
  for (Operation &op : function.getBody().front())
    if (Attribute said = op.removeAttr(name); op.getNumResults() > 0 && !take(op.getResults(), tensorUses(&op), said))
      return op.emitOpError() << "does not say how the batch cuts its results (" << kBatchRowsName
                              << "); run 'sbp-split-steps'";
  function->removeAttr(name);
  return rows;
}

FailureOr<MicroBatchRows> MicroBatchRows::of(func::FuncOp function, int64_t microBatches, int64_t axis) {
  // The ways are tried from the strictest on. A gradient that depends on no
  // batch, made by ops that are not elementwise, may have to be a part after
  // all; so may a repeated value that the solver leaves as a sum, or whole.
  for (Way way : {Way{true, false}, Way{false, false}, Way{true, true}, Way{false, true}}) {
    ScopedDiagnosticHandler quiet(function.getContext(), [](Diagnostic &) { return success(); });
    if (FailureOr<MicroBatchRows> rows = MicroBatchProblem(function, microBatches, axis, way).solve(); succeeded(rows))
      return rows;
  }
  return MicroBatchProblem(function, microBatches, axis, Way()).solve(); // reports the error
}
