// Chooses signatures by cost, op by op.
#include "passes/global/Passes.h"

#include <tuple>

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_PROPAGATEPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

/// Signatures of an op's tensors, operands as they are wanted.
struct Choice {
  std::vector<sbp::NdSbp> operands, results;
};

/// How much a row asks for along one axis; less is better, field by field.
struct Cost {
  int64_t bytes = 0;
  int64_t changedOperands = 0;
  int64_t unsplitResults = 0;
  bool operator<(const Cost &other) const {
    return std::tie(bytes, changedOperands, unsplitResults) <
           std::tie(other.bytes, other.changedOperands, other.unsplitResults);
  }
};

class FunctionPropagation {
public:
  FunctionPropagation(func::FuncOp function, sbp::PlacementAttr placement, SymbolTable &symbols, bool reduceEarly)
      : function(function), placement(placement), algebra(placement.toAlgebra()), symbols(symbols),
        reduceEarly(reduceEarly), broadcast(sbp::NdAttr::broadcast(placement)) {}

  LogicalResult run() {
    Block &body = function.getBody().front();
    for (BlockArgument argument : body.getArguments())
      if (isUndecided(argument))
        decide(argument, broadcast);
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator()))
      if (failed(visit(&op)))
        return failure();
    visitReturn(cast<func::ReturnOp>(body.getTerminator()));
    eraseUnused(body);
    return success();
  }

private:
  static bool isUndecided(Value value) { return isa<RankedTensorType>(value.getType()) && !sbp::signatureOf(value); }

  void decide(Value value, sbp::NdAttr signature) { value.setType(sbp::withSignature(value.getType(), signature)); }

  //===--------------------------------------------------------------------===//
  // Ops
  //===--------------------------------------------------------------------===//

  LogicalResult visit(Operation *op) {
    if (auto read = dyn_cast<sbp::ReadOp>(op)) {
      if (isUndecided(read.getResult()))
        decide(read.getResult(), logical(read.getVariable()));
      return success();
    }
    if (auto assign = dyn_cast<sbp::AssignOp>(op)) {
      auto variable = symbols.lookup<sbp::VariableOp>(assign.getVariable());
      if (sbp::signatureOf(assign.getValue()) != variable.getStorageOrLogical())
        require(assign->getOpOperand(0), logical(assign.getVariable()), variable.getSlotAttr());
      return success();
    }
    if (auto boxing = dyn_cast<sbp::BoxingOp>(op)) {
      resolve(boxing->getOpOperand(0),
              boxing.getType().getEncoding() ? sbp::signatureOf(boxing.getOutput()) : broadcast);
      return success();
    }
    if (auto fence = dyn_cast<sbp::FenceOp>(op))
      return visitFence(fence);
    if (isa<sbp::ShardingOpInterface>(op))
      return visitSharding(op);
    bool hasTensors = llvm::any_of(
        llvm::concat<Value>(llvm::to_vector(op->getOperands()), llvm::to_vector_of<Value>(op->getResults())),
        [](Value v) { return isa<RankedTensorType>(v.getType()); });
    if (hasTensors)
      return op->emitOpError()
             << "does not say which signatures it may have (ShardingOpInterface), or belongs to a pass "
                "that has not run: nn.minimize needs 'nn-differentiate', nn.update "
                "'nn-expand-optimizers'";
    return success();
  }

  sbp::NdAttr logical(StringRef variable) {
    sbp::NdAttr signature = symbols.lookup<sbp::VariableOp>(variable).getLogical();
    return signature ? signature : broadcast;
  }

  /// In the scope of an update, values take the update signature of its variable; elsewhere, a fence changes nothing.
  LogicalResult visitFence(sbp::FenceOp fence) {
    auto scope = fence.getScope().getDefiningOp<sbp::ScopeOp>();
    OpOperand &input = fence->getOpOperand(0);
    if (!scope || !scope.getVariable()) {
      resolve(input, broadcast);
      decide(fence.getOutput(), sbp::signatureOf(fence.getInput()));
      return success();
    }
    auto variable = symbols.lookup<sbp::VariableOp>(*scope.getVariable());
    sbp::NdAttr update = variable.getUpdate().value_or(logical(*scope.getVariable()));
    resolve(input, update);
    sbp::NdAttr current = sbp::signatureOf(fence.getInput());
    if (current == update || reduceEarly || !current.hasPartial()) {
      // A gradient is boxed where it is made, so that a bucket is reduced as soon as backward has filled it.
      if (current != update && current.hasPartial() && fence.getInput().getDefiningOp()) {
        Value boxed = box(fence.getInput(), update, variable.getSlotAttr(), /*atDefinition=*/true);
        input.set(boxed);
      } else {
        require(input, update, variable.getSlotAttr());
      }
      decide(fence.getOutput(), update);
      noteUpdated(fence.getOutput(), logical(*scope.getVariable()));
      return success();
    }
    decide(fence.getOutput(), current);
    OpBuilder builder(fence->getContext());
    builder.setInsertionPointAfter(fence);
    auto boxed = builder.create<sbp::BoxingOp>(fence.getLoc(), sbp::withSignature(fence.getType(), update),
                                               fence.getOutput(), variable.getSlotAttr());
    fence.getOutput().replaceAllUsesExcept(boxed, boxed);
    noteUpdated(boxed, logical(*scope.getVariable()));
    return success();
  }

  void visitReturn(func::ReturnOp op) {
    SmallVector<Type> results;
    for (auto [operand, declared] : llvm::zip(op->getOpOperands(), function.getResultTypes())) {
      sbp::NdAttr wanted = sbp::signatureOf(declared);
      if (!wanted) {
        resolve(operand, broadcast);
        wanted = unshardedOf(operand.get());
        if (wanted.hasPartial())
          wanted = withoutPartial(wanted);
      }
      require(operand, wanted, {});
      results.push_back(operand.get().getType());
    }
    function.setFunctionType(FunctionType::get(function.getContext(), function.getBody().getArgumentTypes(), results));
  }

  /// What nobody uses was never decided.
  void eraseUnused(Block &body) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (op.use_empty() && llvm::any_of(op.getResults(), isUndecided))
        op.erase();
  }

  sbp::NdAttr splitsOf(sbp::NdAttr signature) {
    sbp::NdSbp sbp = signature.toAlgebra();
    for (sbp::Sbp &entry : sbp)
      if (!entry.isSplit())
        entry = sbp::Sbp::broadcast();
    return sbp::NdAttr::get(placement, sbp);
  }

  sbp::NdAttr withoutPartial(sbp::NdAttr signature) {
    sbp::NdSbp sbp = signature.toAlgebra();
    for (sbp::Sbp &entry : sbp)
      if (entry.isPartial())
        entry = sbp::Sbp::broadcast();
    return sbp::NdAttr::get(placement, sbp);
  }

  //===--------------------------------------------------------------------===//
  // Choice of a row
  //===--------------------------------------------------------------------===//

  LogicalResult visitSharding(Operation *op) {
    if (isMadeFromNothing(op, sbp::tensorOperands(op)))
      return success(); // its users say
    bool isElementwise = isElementwiseOrBroadcast(op);
    if (!isElementwise)
      useUnsharded(op);
    SmallVector<Value> operands = sbp::tensorOperands(op);
    bool isUpdate = isElementwise && llvm::any_of(operands, [&](Value operand) { return updated.contains(operand); });
    std::vector<sbp::NdSbp> current, stageless, pinned(op->getNumResults());
    for (Value operand : operands) {
      current.push_back(isUndecided(operand) ? sbp::NdSbp() : sbp::signatureOf(operand).toAlgebra());
      stageless.push_back(isUndecided(operand) ? sbp::NdSbp() : unshardedOf(operand).toAlgebra());
    }
    for (auto [index, result] : llvm::enumerate(op->getResults()))
      if (sbp::NdAttr signature = sbp::signatureOf(result))
        pinned[index] = signature.toAlgebra();
    std::optional<Choice> choice = choose(op, operands, current, pinned, isUpdate);
    if (!choice)
      return failure();
    std::optional<Choice> without;
    if (isUpdate) {
      without = stageless == current ? choice : choose(op, operands, stageless, pinned, isUpdate);
      if (!without)
        return failure();
    }
    apply(op, *choice, pinned);
    for (auto [index, result] : llvm::enumerate(op->getResults()))
      if (without && pinned[index].empty())
        noteUpdated(result, sbp::NdAttr::get(placement, without->results[index]));
    return success();
  }

  /// The cheapest signature of the op, axis by axis; nothing, after an error, when there is none. An update is computed
  /// with values, never with addends: at stage 0 it could be, where its parameter is B, but not where that is split.
  std::optional<Choice> choose(Operation *op, ArrayRef<Value> operands, const std::vector<sbp::NdSbp> &current,
                               const std::vector<sbp::NdSbp> &pinned, bool isUpdate) {
    Choice choice{current, std::vector<sbp::NdSbp>(op->getNumResults())};
    for (sbp::NdSbp &entries : choice.operands)
      entries.resize(algebra.axes.size());
    sbp::LoopSpec spec = cast<sbp::ShardingOpInterface>(op).getLoopSpec();
    for (size_t axis = 0; axis < algebra.axes.size(); ++axis) {
      std::optional<sbp::OpSignature> row =
          cheapestRow(op, spec, axis, operands, current, choice.operands, pinned, isUpdate);
      if (!row) {
        op->emitOpError() << "has no signature along axis \"" << algebra.axes[axis].name
                          << "\" that its operands can be boxed to; box its operands to B";
        return std::nullopt;
      }
      for (size_t i = 0; i < operands.size(); ++i)
        choice.operands[i][axis] = row->operands[i];
      for (size_t i = 0; i < choice.results.size(); ++i)
        choice.results[i].push_back(row->results[i]);
      sbp::splitLoops(spec, *row, algebra.axes[axis].size);
    }
    return choice;
  }

  std::optional<sbp::OpSignature> cheapestRow(Operation *op, const sbp::LoopSpec &spec, size_t axis,
                                              ArrayRef<Value> operands, const std::vector<sbp::NdSbp> &current,
                                              const std::vector<sbp::NdSbp> &wanted,
                                              const std::vector<sbp::NdSbp> &pinned, bool isUpdate) {
    auto alongAxis = [&](const std::vector<sbp::NdSbp> &tensors) {
      std::vector<sbp::Sbp> entries;
      for (const sbp::NdSbp &tensor : tensors)
        entries.push_back(tensor.empty() ? sbp::Sbp::broadcast() : tensor[axis]);
      return entries;
    };
    std::vector<sbp::OpSignature> rows =
        sbp::deriveSignatures(spec, algebra.axes[axis].size, alongAxis(current), alongAxis(pinned));
    for (const sbp::NdSbp &entries : current)
      if (!entries.empty() && entries[axis].isFlat())
        if (sbp::OpSignature flat = sbp::flatSignature(spec, entries[axis].slot); !flat.results.empty())
          rows.push_back(flat);
    std::optional<sbp::OpSignature> best;
    Cost bestCost;
    for (const sbp::OpSignature &row : rows) {
      if (isUpdate && llvm::any_of(row.operands, [](const sbp::Sbp &entry) { return entry.isPartial(); }))
        continue;
      if (!keepsSlots(row, axis, current, wanted))
        continue;
      std::optional<Cost> cost = costOf(row, axis, operands, current, wanted, pinned, op);
      if (cost && (!best || *cost < bestCost)) {
        best = row;
        bestCost = *cost;
      }
    }
    return best;
  }

  /// A slot lies in the range of its bucket as the piece that the other axes leave of its variable. So where an op runs
  /// on slots, these axes stay as they are.
  static bool keepsSlots(const sbp::OpSignature &row, size_t axis, const std::vector<sbp::NdSbp> &current,
                         const std::vector<sbp::NdSbp> &wanted) {
    for (size_t i = 0; i < current.size(); ++i)
      for (size_t earlier = 0; !current[i].empty() && earlier < axis; ++earlier) {
        bool isSlot = wanted[i][earlier].isFlat() && current[i][earlier].isFlat(),
             becomesSlot = row.operands[i].isFlat();
        bool isSummed = current[i][axis].isPartial() && row.operands[i].isBroadcast();
        if ((isSlot && row.operands[i] != current[i][axis] && !isSummed) ||
            (becomesSlot && current[i][axis].isFlat() && wanted[i][earlier] != current[i][earlier]))
          return false;
      }
    return true;
  }

  /// Nothing when an operand cannot be boxed to the row.
  std::optional<Cost> costOf(const sbp::OpSignature &row, size_t axis, ArrayRef<Value> operands,
                             const std::vector<sbp::NdSbp> &current, const std::vector<sbp::NdSbp> &wanted,
                             const std::vector<sbp::NdSbp> &pinned, Operation *op) {
    Cost cost;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (current[i].empty()) { // made from nothing, in whatever signature, but never as addends
        if (row.operands[i].isPartial())
          return std::nullopt;
        continue;
      }
      sbp::NdSbp from = wanted[i], to = wanted[i];
      for (size_t later = axis; later < algebra.axes.size(); ++later)
        from[later] = to[later] = current[i][later];
      to[axis] = row.operands[i];
      sbp::Shape shape = sbp::shapeOf(operands[i].getType());
      for (size_t later = axis + 1; later < algebra.axes.size(); ++later)
        if (to[later].unit > 1 && !sbp::unitsFit(shape, to, algebra)) // this row takes the unit from a later axis
          to[later] = sbp::Sbp::broadcast();
      if (from == to)
        continue;
      if (!sbp::isLegalBoxing(from, to))
        return std::nullopt;
      cost.bytes += boxingBytes(operands[i].getType(), axis, from, to);
      ++cost.changedOperands;
    }
    for (size_t i = 0; i < row.results.size(); ++i) {
      if (!row.results[i].isSplit() && !row.results[i].isFlat())
        ++cost.unsplitResults;
      if (pinned[i].empty() || pinned[i][axis] == row.results[i])
        continue;
      if (pinned[i][axis].isPartial())
        return std::nullopt;
      sbp::NdSbp from = pinned[i], to = pinned[i];
      from[axis] = row.results[i];
      cost.bytes += boxingBytes(op->getResult(i).getType(), axis, from, to);
      ++cost.changedOperands;
    }
    return cost;
  }

  /// Of a change of `axis` alone. On an axis of size 1 all entries are the same bytes.
  int64_t boxingBytes(Type type, size_t axis, const sbp::NdSbp &from, const sbp::NdSbp &to) {
    if (algebra.axes[axis].size == 1)
      return 0;
    return sbp::boxingBytes(sbp::shapeOf(type), sbp::elementBytes(type), from, to, algebra);
  }

  void apply(Operation *op, const Choice &choice, const std::vector<sbp::NdSbp> &pinned) {
    size_t index = 0;
    for (OpOperand &operand : op->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType()))
        require(operand, sbp::NdAttr::get(placement, choice.operands[index++]), {});
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      Type declared = result.getType();
      decide(result, sbp::NdAttr::get(placement, choice.results[i]));
      if (pinned[i].empty() || pinned[i] == choice.results[i])
        continue;
      auto boxed = builder.create<sbp::BoxingOp>(op->getLoc(), declared, result, nullptr);
      result.replaceAllUsesExcept(boxed, boxed);
    }
  }

  //===--------------------------------------------------------------------===//
  // What comes out of an update
  //===--------------------------------------------------------------------===//

  // A stage may not change a bit, so it may not change what an op sums over: an op that is more than elementwise gets
  // the signatures that it would have had at stage 0.

  sbp::NdAttr unshardedOf(Value value) {
    auto known = unsharded.find(value);
    return known == unsharded.end() ? sbp::signatureOf(value) : known->second;
  }

  /// `signature` is the value's at stage 0.
  void noteUpdated(Value value, sbp::NdAttr signature) {
    updated.insert(value);
    if (signature != sbp::signatureOf(value))
      unsharded[value] = signature;
  }

  void useUnsharded(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (unsharded.contains(operand.get()))
        require(operand, unshardedOf(operand.get()), {});
  }

  //===--------------------------------------------------------------------===//
  // What is made from nothing
  //===--------------------------------------------------------------------===//

  /// Ops whose result may have any signature at no cost: their operands, if any, are undecided themselves or broadcast
  /// scalars. A scalar result is simply B.
  bool isMadeFromNothing(Operation *op, ArrayRef<Value> operands) {
    if (op->getNumResults() != 1 || !isUndecided(op->getResult(0)))
      return false;
    auto isFree = [&](Value operand) {
      return isUndecided(operand) ||
             (sbp::signatureOf(operand) == broadcast && sbp::shapeOf(operand.getType()).empty());
    };
    if (!llvm::all_of(operands, isFree))
      return false;
    if (!sbp::shapeOf(op->getResult(0).getType()).empty())
      return isElementwiseOrBroadcast(op);
    if (!operands.empty())
      return false;
    decide(op->getResult(0), broadcast);
    return true;
  }

  /// Every loop is parallel and runs over the result.
  static bool isElementwiseOrBroadcast(Operation *op) {
    sbp::LoopSpec spec = cast<sbp::ShardingOpInterface>(op).getLoopSpec();
    auto hasOneEach = [](const sbp::TensorFactors &tensor) {
      return llvm::all_of(tensor, [](const std::vector<int> &dim) { return dim.size() <= 1; });
    };
    return llvm::all_of(spec.factors, [](const sbp::Factor &f) { return f.kind == sbp::FactorKind::Parallel; }) &&
           llvm::all_of(spec.operands, hasOneEach) &&
           llvm::all_of(spec.results.front(), [](const std::vector<int> &dim) { return dim.size() == 1; });
  }

  /// Gives an undecided operand the signature that this use wants; other uses may want others.
  void resolve(OpOperand &use, sbp::NdAttr signature) {
    if (isUndecided(use.get()))
      use.set(madeAs(use.get(), splitsOf(signature)));
  }

  /// The value in this signature, with what it is made of: made once, however many uses want it so. Neither P, whose
  /// sum would be as many times too large, nor a slot, whose padding is zero: these are boxed from B.
  Value madeAs(Value value, sbp::NdAttr signature) {
    SmallVector<std::pair<Value, sbp::NdAttr>> open = {{value, signature}};
    while (!open.empty()) {
      auto [next, wanted] = open.back();
      size_t before = open.size();
      if (!madeFrom.count({next, wanted}))
        for (auto [operand, ofOperand] : undecidedOperands(next, wanted))
          if (!madeFrom.count({operand, ofOperand}))
            open.push_back({operand, ofOperand});
      if (open.size() > before)
        continue;
      make(next, wanted);
      open.pop_back();
    }
    return madeFrom.at({value, signature});
  }

  /// What a value is made of that has no signature yet, with those that it needs to have this one.
  SmallVector<std::pair<Value, sbp::NdAttr>> undecidedOperands(Value value, sbp::NdAttr signature) {
    SmallVector<std::pair<Value, sbp::NdAttr>> result;
    sbp::LoopSpec spec = cast<sbp::ShardingOpInterface>(value.getDefiningOp()).getLoopSpec();
    for (auto [index, operand] : llvm::enumerate(sbp::tensorOperands(value.getDefiningOp())))
      if (isUndecided(operand))
        result.push_back({operand, operandSignature(spec, index, signature)});
    return result;
  }

  /// A copy of what makes a value, whose operands have been made.
  void make(Value value, sbp::NdAttr signature) {
    Value &made = madeFrom[{value, signature}];
    if (made)
      return;
    Operation *original = value.getDefiningOp(), *op = OpBuilder(original).clone(*original);
    made = op->getResult(0);
    decide(made, signature);
    sbp::LoopSpec spec = cast<sbp::ShardingOpInterface>(original).getLoopSpec();
    size_t index = 0;
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<RankedTensorType>(operand.get().getType()))
        continue;
      sbp::NdAttr wanted = operandSignature(spec, index++, signature);
      if (isUndecided(operand.get()))
        operand.set(madeFrom.at({operand.get(), wanted}));
      if (sbp::signatureOf(operand.get()) != wanted)
        operand.set(OpBuilder(op).create<sbp::BoxingOp>(
            op->getLoc(), sbp::withSignature(operand.get().getType(), wanted), operand.get(), nullptr));
    }
  }

  /// The signature of operand `index` when the result of an elementwise or broadcasting op has this one.
  sbp::NdAttr operandSignature(const sbp::LoopSpec &spec, size_t index, sbp::NdAttr result) {
    sbp::NdSbp entries = result.toAlgebra();
    const sbp::TensorFactors &operand = spec.operands[index], &loops = spec.results.front();
    for (sbp::Sbp &entry : entries) {
      if (entry.isFlat() && operand.empty())
        entry = sbp::Sbp::broadcast();
      if (!entry.isSplit())
        continue;
      auto carries = [&](const std::vector<int> &dim) { return dim == loops[entry.dim]; };
      auto at = llvm::find_if(operand, carries);
      entry = at == operand.end() ? sbp::Sbp::broadcast() : sbp::Sbp::split(at - operand.begin(), entry.unit);
    }
    return sbp::NdAttr::get(placement, entries);
  }

  //===--------------------------------------------------------------------===//
  // Boxing
  //===--------------------------------------------------------------------===//

  void require(OpOperand &operand, sbp::NdAttr signature, sbp::SlotAttr slot) {
    resolve(operand, signature);
    if (sbp::signatureOf(operand.get()) != signature)
      operand.set(box(operand.get(), signature, slot, /*atDefinition=*/false, operand.getOwner()));
  }

  Value box(Value value, sbp::NdAttr signature, sbp::SlotAttr slot, bool atDefinition, Operation *user = nullptr) {
    Value &known = boxed[{value, signature}];
    if (known)
      return known;
    OpBuilder builder(function.getContext());
    if (atDefinition)
      builder.setInsertionPointAfter(value.getDefiningOp());
    else
      builder.setInsertionPoint(user);
    bool isFlat = signature.getFlatSlot().has_value();
    known = builder.create<sbp::BoxingOp>(value.getLoc(), sbp::withSignature(value.getType(), signature), value,
                                          isFlat ? sbp::SlotAttr() : slot);
    return known;
  }

  func::FuncOp function;
  sbp::PlacementAttr placement;
  sbp::Placement algebra;
  SymbolTable &symbols;
  bool reduceEarly;
  sbp::NdAttr broadcast;
  DenseMap<std::pair<Value, Attribute>, Value> boxed;
  DenseMap<std::pair<Value, Attribute>, Value> madeFrom; ///< of undecided values, by signature
  DenseSet<Value> updated;                ///< values in an update's scope, and what is made of them element by element
  DenseMap<Value, sbp::NdAttr> unsharded; ///< of updated values whose signature is another than at stage 0: that one
};

struct Propagate : splitcast::impl::PropagatePassBase<Propagate> {
  using PropagatePassBase::PropagatePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (reduce != "early" && reduce != "late") {
      module.emitError() << "'sbp-propagate' got reduce=" << reduce.getValue() << "; it is early or late";
      return signalPassFailure();
    }
    if (failed(verifyModule(module)))
      return signalPassFailure();
    sbp::PlacementAttr placement = sbp::placementOf(module);
    if (!placement) {
      module.emitError() << "'sbp-propagate' found no placement; give a variable or an argument a signature, or the "
                            "module an attribute sbp.placement";
      return signalPassFailure();
    }
    for (auto variable : module.getOps<sbp::VariableOp>())
      if (!variable.getLogical())
        variable.setTypeAttr(TypeAttr::get(sbp::withSignature(variable.getType(), sbp::NdAttr::broadcast(placement))));
    SymbolTable symbols(module);
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal() || !function.getBody().hasOneBlock()) {
        function.emitOpError() << "must have a body of one block";
        return signalPassFailure();
      }
      if (failed(FunctionPropagation(function, placement, symbols, reduce == "early").run()))
        return signalPassFailure();
    }
  }
};

} // namespace
