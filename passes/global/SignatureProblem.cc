#include "passes/global/SignatureProblem.h"

#include "dialects/ccl/algebra/TransportModel.h"
#include "dialects/nn/Nn.h"
#include "passes/global/ExactSumsCheck.h"
#include "passes/global/SameElements.h"

using namespace mlir;
using namespace splitcast;

sbp::ScopeOp splitcast::updateScopeOf(sbp::FenceOp fence) {
  auto scope = fence.getScope().getDefiningOp<sbp::ScopeOp>();
  return scope && scope.getVariable() ? scope : sbp::ScopeOp();
}

namespace {

/// Builds both versions of the problem of a function, op by op.
class ProblemBuilder {
public:
  ProblemBuilder(func::FuncOp function, sbp::PlacementAttr placement, SymbolTable &symbols, const ExactSumsCheck *check)
      : function(function), symbols(symbols), check(check), broadcast(placement.getNumAxes(), sbp::Sbp::broadcast()),
        elements(function.getBody().front()) {
    result.asWritten.placement = result.asStored.placement = placement.toAlgebra();
    result.asStored.cost = ccl::TransportModel().boxingCost();
  }

  FailureOr<SignatureProblem> build() {
    Block &body = function.getBody().front();
    for (BlockArgument argument : body.getArguments())
      if (isa<RankedTensorType>(argument.getType()))
        addTensor(argument, sbp::signatureOf(argument).toAlgebra());
    for (Operation &op : body.without_terminator()) {
      if (failed(add(&op)))
        return failure();
      for (Value value : op.getResults())
        noteElements(value);
    }
    addReturn(cast<func::ReturnOp>(body.getTerminator()));
    return std::move(result);
  }

private:
  LogicalResult add(Operation *op) {
    if (auto read = dyn_cast<sbp::ReadOp>(op)) {
      const sbp::NdSbp signature = sbp::signatureOf(read.getResult()).toAlgebra();
      addTensor(read.getResult(), signature);
      if (mayKeepSplits(read, signature))
        keepSplits(read.getResult());
      return success();
    }
    if (auto assign = dyn_cast<sbp::AssignOp>(op)) {
      auto variable = symbols.lookup<sbp::VariableOp>(assign.getVariable());
      if (variable.getAsMade()) {
        addDemand(assign.getValue(), {});
        return success();
      }
      addDemand(assign.getValue(), logicalOf(variable), variable.getStorageOrLogical().toAlgebra());
      return success();
    }
    if (auto boxing = dyn_cast<sbp::BoxingOp>(op)) {
      sbp::NdSbp wanted = sbp::signatureOf(boxing.getOutput()).toAlgebra();
      addDemand(boxing.getInput(), wanted);
      addTensor(boxing.getOutput(), wanted);
      return success();
    }
    if (auto fence = dyn_cast<sbp::FenceOp>(op))
      return addFence(fence);
    if (isa<sbp::ShardingOpInterface>(op)) {
      addOp(op);
      return success();
    }
    auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
    if (llvm::none_of(op->getOperandTypes(), isTensor) && llvm::none_of(op->getResultTypes(), isTensor))
      return success();
    return op->emitOpError() << "does not say which signatures it may have (ShardingOpInterface), or belongs to a pass "
                                "that has not run: nn.minimize needs 'nn-differentiate', nn.update "
                                "'nn-expand-optimizers'";
  }

  /// Notes which earlier tensor has the same elements, if there is one.
  void noteElements(Value value) {
    const Value original = elements.originalOf(value);
    if (original == value || !result.tensors.contains(value))
      return;
    for (sbp::Problem *problem : {&result.asWritten, &result.asStored})
      problem->tensors[result.tensors.lookup(value)].sameElements = result.tensors.lookup(original);
  }

  /// Whether a tensor of this type has the dimensions that the signature splits.
  static bool fits(const sbp::NdSbp &signature, RankedTensorType type) {
    return llvm::all_of(signature,
                        [&](const sbp::Sbp &entry) { return !entry.isSplit() || entry.dim < type.getRank(); });
  }

  LogicalResult addFence(sbp::FenceOp fence) {
    Value input = fence.getInput(), output = fence.getOutput();
    if (sbp::ScopeOp scope = updateScopeOf(fence)) {
      auto variable = symbols.lookup<sbp::VariableOp>(*scope.getVariable());
      const sbp::NdSbp written = logicalOf(variable), stored = variable.getUpdateOrLogical().toAlgebra();
      for (const sbp::NdSbp &signature : {written, stored})
        if (!fits(signature, fence.getType()))
          return fence.emitOpError() << "brings " << fence.getType() << " into the update of "
                                     << scope.getVariableAttr() << ", where it would be " << sbp::toString(signature)
                                     << "; it needs the dimension that is split, or to stay outside of the update";
      addDemand(input, written);
      result.asStored.demands.back().wanted = stored;
      const int tensor = addTensor(output, written);
      result.asStored.tensors[tensor].given = stored;
      updated.insert(output);
      return success();
    }
    if (free.contains(input)) { // each fence of a free value has a tensor of its own
      addTensor(output, broadcast);
      return success();
    }
    const int tensor = addTensor(output, {});
    for (sbp::Problem *problem : {&result.asWritten, &result.asStored})
      problem->tensors[tensor].sameAs = result.tensors.lookup(input);
    if (kept.contains(input))
      keepSplits(output);
    return success();
  }

  void addOp(Operation *op) {
    sbp::SignatureOp node;
    node.spec = cast<sbp::ShardingOpInterface>(op).getLoopSpec();
    keepPlacesWhole(op, node.spec);
    const SmallVector<Value> operands = sbp::tensorOperands(op);
    const bool isElementwise = sbp::isElementwise(node.spec);
    node.takesPartial = !isElementwise || llvm::none_of(operands, [&](Value v) { return updated.contains(v); });
    for (Value operand : operands)
      node.operands.push_back(result.tensors.lookup(operand));
    if (auto colocate = dyn_cast<sbp::ColocateOp>(op))
      node.beside = result.tensors.lookup(colocate.getBeside());
    if (check && node.takesPartial)
      node.stated = check->rowOf(op);
    bool isPinned = false;
    for (Value value : op->getResults()) {
      sbp::NdAttr pinned = sbp::signatureOf(value);
      isPinned |= pinned != nullptr;
      node.pinned.push_back(pinned ? pinned.toAlgebra() : sbp::NdSbp());
      node.results.push_back(addTensor(value, {}));
      if (!node.takesPartial)
        updated.insert(value);
    }
    const bool isMadeOfKept = isOfOneTensor(op) && llvm::any_of(operands, [&](Value v) { return kept.contains(v); });
    for (Value value : op->getResults())
      if (isMadeOfKept)
        keepSplits(value);
    auto mayBeFree = [&](Value operand) { return free.contains(operand) || sbp::shapeOf(operand.getType()).empty(); };
    if (isElementwise && !isPinned && node.beside < 0 && llvm::all_of(operands, mayBeFree))
      free.insert(op->getResult(0));
    result.numbers[op] = static_cast<int>(result.ops.size());
    result.ops.push_back(op);
    result.asWritten.ops.push_back(node);
    result.asStored.ops.push_back(std::move(node));
  }

  /// In a function that is to be reproducible, gathers a table that the user
  /// split along the axis of exact sums. Otherwise its ranks would look up the
  /// indices of other ranks.
  void keepPlacesWhole(Operation *op, sbp::LoopSpec &spec) {
    auto exactAxis = function->getAttrOfType<StringAttr>(sbp::kExactSumsName);
    auto lookup = dyn_cast<nn::EmbeddingOp>(op);
    if (!exactAxis || !lookup)
      return;
    Value table = lookup.getTable();
    while (isa_and_nonnull<sbp::FenceOp, nn::CastOp>(table.getDefiningOp()))
      table = table.getDefiningOp()->getOperand(0);
    auto read = table.getDefiningOp<sbp::ReadOp>();
    if (!read)
      return;
    for (auto [entry, axis] :
         llvm::zip(logicalOf(symbols.lookup<sbp::VariableOp>(read.getVariable())), result.asWritten.placement.axes))
      if (entry.isSplit() && entry.dim == 0 && axis.name == exactAxis.getValue())
        spec.factors[spec.operands[0][0].front()].kind = sbp::FactorKind::Whole;
  }

  static bool isOfOneTensor(Operation *op) {
    return llvm::count_if(sbp::tensorOperands(op), [](Value v) { return !sbp::shapeOf(v.getType()).empty(); }) == 1;
  }

  /// Whether the splits of the variable are kept. This holds if the user placed
  /// the variable at a coordinate: what belongs to a stage of a pipeline stays
  /// there. It also holds if the user split the variable, along no axis whose
  /// ranks are to share exact sums, and every use multiplies and adds up with
  /// it, as a layer does, or looks up rows, which are added up, too. A variable
  /// that is itself added to rows is moved wherever that costs least.
  bool mayKeepSplits(sbp::ReadOp read, const sbp::NdSbp &signature) {
    auto exactAxis = function->getAttrOfType<StringAttr>(sbp::kExactSumsName);
    bool isSplit = false, isPlaced = false;
    for (auto [entry, axis] : llvm::zip(signature, result.asWritten.placement.axes)) {
      if (entry.isSplit() && exactAxis && exactAxis.getValue() == axis.name)
        return false;
      isSplit |= entry.isSplit();
      isPlaced |= entry.isAt();
    }
    return !symbols.lookup<sbp::VariableOp>(read.getVariable()).getCarried() &&
           (isPlaced || (isSplit && isMultiplied(read.getResult())));
  }

  /// Whether all uses of the value, also behind casts, transposes and fences,
  /// add up products with it.
  static bool isMultiplied(Value value) {
    SmallVector<Value> open = {value};
    while (!open.empty())
      for (OpOperand &use : open.pop_back_val().getUses()) {
        if (sbp::isPlaceAlone(use))
          continue;
        Operation *user = use.getOwner();
        auto fence = dyn_cast<sbp::FenceOp>(user);
        auto sharding = dyn_cast<sbp::ShardingOpInterface>(user);
        if (fence ? !updateScopeOf(fence) : sharding && isOfOneTensor(user)) {
          llvm::append_range(open, user->getResults());
          continue;
        }
        if (sharding && !fence && llvm::none_of(sharding.getLoopSpec().factors, [](const sbp::Factor &factor) {
              return factor.kind == sbp::FactorKind::Sum;
            }))
          return false;
      }
    return true;
  }

  /// Marks a value as keeping its splits: the value of a variable that the user
  /// split, or one that is made of that alone (by casts and transposes).
  void keepSplits(Value value) {
    kept.insert(value);
    for (sbp::Problem *problem : {&result.asWritten, &result.asStored})
      problem->tensors[result.tensors.lookup(value)].keepsSplits = true;
  }

  void addReturn(func::ReturnOp op) {
    for (auto [operand, declared] : llvm::zip(op.getOperands(), function.getResultTypes())) {
      sbp::NdAttr wanted = sbp::signatureOf(declared);
      addDemand(operand, wanted ? wanted.toAlgebra() : sbp::NdSbp());
    }
  }

  int addTensor(Value value, const sbp::NdSbp &given) {
    const int number = static_cast<int>(result.asWritten.tensors.size());
    result.tensors[value] = number;
    sbp::TensorInfo info{sbp::shapeOf(value.getType()), sbp::elementBytes(value.getType()), given};
    result.asWritten.tensors.push_back(info);
    result.asStored.tensors.push_back(std::move(info));
    return number;
  }

  void addDemand(Value value, const sbp::NdSbp &wanted, const sbp::NdSbp &orAs = {}) {
    for (sbp::Problem *problem : {&result.asWritten, &result.asStored})
      problem->demands.push_back({result.tensors.lookup(value), wanted, orAs});
  }

  sbp::NdSbp logicalOf(sbp::VariableOp variable) {
    sbp::NdAttr signature = variable.getLogical();
    return signature ? signature.toAlgebra() : broadcast;
  }

  func::FuncOp function;
  SymbolTable &symbols;
  const ExactSumsCheck *check;
  const sbp::NdSbp broadcast;
  const SameElements elements;
  SignatureProblem result;
  DenseSet<Value> updated; ///< values in the scope of an update, and what elementwise ops make of them
  DenseSet<Value> free;    ///< values that may be free: constants and ops on scalars
  DenseSet<Value> kept;    ///< values that keep their splits
};

} // namespace

FailureOr<SignatureProblem> splitcast::signatureProblemOf(func::FuncOp function, sbp::PlacementAttr placement,
                                                          SymbolTable &symbols, const ExactSumsCheck *check) {
  return ProblemBuilder(function, placement, symbols, check).build();
}

namespace {

/// Finds the first tensor and dimension that runs over the loop. Returns false
/// if there is none.
bool findLoop(const std::vector<sbp::TensorFactors> &tensors, int factor, sbp::RowAxis &row) {
  for (const auto &[tensor, dims] : llvm::enumerate(tensors))
    for (const auto &[dim, factors] : llvm::enumerate(dims))
      if (llvm::is_contained(factors, factor)) {
        row.tensor = static_cast<int64_t>(tensor);
        row.dim = static_cast<int64_t>(dim);
        return true;
      }
  return false;
}

sbp::RowAxis rowOf(const sbp::LoopSpec &spec, const sbp::AxisReason &reason, StringAttr axis) {
  sbp::RowAxis row{axis};
  switch (reason.reason) {
  case sbp::OpSignature::Reason::Replicated:
    break;
  case sbp::OpSignature::Reason::FactorSplit:
    row.unit = reason.unit;
    row.kind = findLoop(spec.results, reason.factor, row) ? sbp::RowAxis::Kind::Splits : sbp::RowAxis::Kind::Sums;
    if (row.kind == sbp::RowAxis::Kind::Sums)
      findLoop(spec.operands, reason.factor, row);
    break;
  case sbp::OpSignature::Reason::Linear:
    row.kind = sbp::RowAxis::Kind::Linear;
    break;
  case sbp::OpSignature::Reason::FlatElementwise:
    row.kind = sbp::RowAxis::Kind::Slot;
    break;
  case sbp::OpSignature::Reason::At:
    row.kind = sbp::RowAxis::Kind::At;
    break;
  }
  return row;
}

} // namespace

sbp::RowAttr splitcast::reasonOfRow(const SignatureProblem &problem, const sbp::Phases &phases, int op,
                                    sbp::PlacementAttr placement) {
  // A row that the second phase had to keep was chosen in the first.
  const std::vector<sbp::AxisReason> &stored = phases.stored.assignment.ops[op].axes;
  const std::vector<sbp::AxisReason> &reasons = stored.empty() ? phases.logical.assignment.ops[op].axes : stored;
  SmallVector<sbp::RowAxis> rows;
  for (const auto &[reason, axis] : llvm::zip_equal(reasons, placement.getAxisNames()))
    rows.push_back(rowOf(problem.asStored.ops[op].spec, reason, axis));
  return sbp::RowAttr::get(placement.getContext(), rows);
}
