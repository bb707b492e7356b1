// Gives values the signatures that the solver chooses
// (dialects/sbp/algebra/Solver.h), and inserts boxings where two differ.
//
//   1. SignatureProblem.h describes a function as a problem without MLIR: its
//      tensors, the ops that have a choice, and what fences, assigns and returns
//      want.
//   2. The solver chooses a row per op.
//   3. In the order of the ops, each operand is boxed to the signature of its row,
//      once per value and signature. Constants and broadcasts of scalars are cloned
//      once per signature that a use wants. The location of each op then has the
//      reason for its row, and that of each boxing the use that wanted it.
//
//   %y = nn.matmul %x, %w : (tensor<8x4xf32, #S0_>, tensor<4x2xf32, #S0_>) -> tensor<8x2xf32>            // before
//   %0 = sbp.boxing %w : tensor<4x2xf32, #S0_> -> tensor<4x2xf32, #B>                                    // after
//   %y = nn.matmul %x, %0 : (tensor<8x4xf32, #S0_>, tensor<4x2xf32, #B>) -> tensor<8x2xf32, #S0_>
#include "passes/global/ExactSumsCheck.h"
#include "passes/global/Passes.h"
#include "passes/global/SameElements.h"
#include "passes/global/SignatureProblem.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_PROPAGATEPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

/// Decides the signatures in one function.
class FunctionPropagation {
public:
  FunctionPropagation(func::FuncOp function, sbp::PlacementAttr placement, SymbolTable &symbols, bool lookAhead)
      : function(function), placement(placement), algebra(placement.toAlgebra()), symbols(symbols),
        lookAhead(lookAhead), broadcast(sbp::NdAttr::broadcast(placement)) {}

  LogicalResult run() {
    Block &body = function.getBody().front();
    for (BlockArgument argument : body.getArguments())
      if (isUndecided(argument))
        decide(argument, broadcast);
    for (auto read : body.getOps<sbp::ReadOp>()) {
      decideVariable(symbols.lookup<sbp::VariableOp>(read.getVariable()), broadcast); // nothing has assigned it yet
      if (isUndecided(read.getResult()))
        decide(read.getResult(), logical(read.getVariable()));
    }
    FailureOr<std::optional<ExactSumsCheck>> check = ExactSumsCheck::of(function, placement);
    if (failed(check) || failed(choose(*check ? &**check : nullptr)))
      return failure();
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
      if (auto assign = dyn_cast<sbp::AssignOp>(op); assign && failed(checkAddends(assign)))
        return failure();
      apply(&op);
      if (auto colocate = dyn_cast<sbp::ColocateOp>(op); colocate && failed(checkPlace(colocate)))
        return failure();
    }
    applyReturn(cast<func::ReturnOp>(body.getTerminator()));
    if (failed(verifyRepeats(body))) // while originals that only the choice for their repeats needed are there
      return failure();
    eraseUnused(body);
    return *check ? (*check)->verify(body) : success();
  }

private:
  static bool isUndecided(Value value) { return isa<RankedTensorType>(value.getType()) && !sbp::signatureOf(value); }

  void decide(Value value, sbp::NdAttr signature) { value.setType(sbp::withSignature(value.getType(), signature)); }

  static void decideVariable(sbp::VariableOp variable, sbp::NdAttr signature) {
    if (variable.getLogical())
      return;
    variable.setAsMade(false);
    variable.setTypeAttr(TypeAttr::get(sbp::withSignature(variable.getType(), signature)));
  }

  /// Returns the signature in which a value is carried: the one in which it is
  /// made, but never a slot.
  sbp::NdAttr carriedAs(Value value) {
    sbp::NdAttr made = sbp::signatureOf(value);
    sbp::NdSbp signature = (made ? made : broadcast).toAlgebra();
    for (sbp::Sbp &entry : signature)
      entry = entry.isFlat() ? sbp::Sbp::broadcast() : entry;
    return attr(signature);
  }

  /// Verifies that a variable that holds addends is assigned addends
  /// everywhere, since no boxing makes them.
  LogicalResult checkAddends(sbp::AssignOp assign) {
    const sbp::NdAttr of = symbols.lookup<sbp::VariableOp>(assign.getVariable()).getLogical(),
                      made = sbp::signatureOf(assign.getValue());
    if (!of || !made)
      return success();
    for (auto [index, entry] : llvm::enumerate(of.toAlgebra()))
      if (entry.isPartial() && !made.toAlgebra()[index].isPartial())
        return assign.emitOpError() << "assigns @" << assign.getVariable() << " a value that is "
                                    << sbp::toString(made.toAlgebra()) << ", but its type, or the value that another "
                                    << "function assigns, is P along axis \"" << algebra.axes[index].name
                                    << "\"; assign values that are P there in all functions, or use another variable";
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Choice
  //===--------------------------------------------------------------------===//

  /// Chooses a row for each op, in two phases. The first takes the program as
  /// written, with the volume of boxings as the cost: here ops that are not
  /// elementwise get their signatures, and every sum its place, whatever ZeRO,
  /// its options and the transport are. The second chooses the rest, with
  /// variables as they are stored. In a step whose sums are exact, each rank
  /// computes its own rows of the batch.
  LogicalResult choose(const ExactSumsCheck *check) {
    FailureOr<SignatureProblem> built = signatureProblemOf(function, placement, symbols, check);
    if (failed(built))
      return failure();
    problem = std::move(*built);
    phases = sbp::solveInPhases(problem.asWritten, problem.asStored, lookAhead ? sbp::solve : sbp::walk);
    if (!phases.stored.failure) {
      for (Value value : function.getBody().front().getTerminator()->getOperands())
        returned.push_back(
            sbp::summed(phases.logical.assignment.tensors[problem.tensors.lookup(value)], algebra.axes.size()));
      return success();
    }
    return refuse(problem.ops[phases.stored.failure->op], phases.stored.failure->axis);
  }

  LogicalResult refuse(Operation *op, int64_t axis) {
    const std::string &name = algebra.axes[axis].name;
    InFlightDiagnostic diag = op->emitOpError();
    auto isPartial = [axis](Value value) {
      sbp::NdAttr written = sbp::signatureOf(value);
      return written && written.toAlgebra()[axis].isPartial();
    };
    if (llvm::any_of(op->getResults(), isPartial))
      diag << "has a result that is written as P along axis \"" << name
           << "\", but no row that makes P from signatures to which its operands can be boxed; "
           << "leave out the signature of the result, or write B or S";
    else
      diag << "has no signature along axis \"" << name << "\" that its operands can be boxed to; box its operands to B";
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      if (isa<RankedTensorType>(operand.getType()))
        noteOrigin(diag, operand, index);
    return diag;
  }

  /// Adds notes for the ops that an operand has come through, back to where a
  /// signature was written.
  static void noteOrigin(InFlightDiagnostic &diag, Value value, size_t index) {
    constexpr int kMostHops = 8;
    for (int hops = 0; hops < kMostHops && isUndecided(value); ++hops) {
      Operation *maker = value.getDefiningOp();
      diag.attachNote(maker->getLoc()) << "operand " << index << " comes by way of '" << maker->getName() << "' here";
      const SmallVector<Value> operands = sbp::tensorOperands(maker);
      if (operands.empty())
        return;
      value = operands.front();
    }
    if (sbp::NdAttr written = sbp::signatureOf(value))
      diag.attachNote(value.getLoc()) << "operand " << index << " comes from a value that is "
                                      << sbp::toString(written.toAlgebra()) << " here";
  }

  sbp::NdAttr attr(const sbp::NdSbp &signature) { return sbp::NdAttr::get(placement, signature); }

  //===--------------------------------------------------------------------===//
  // Application
  //===--------------------------------------------------------------------===//

  void apply(Operation *op) {
    if (auto assign = dyn_cast<sbp::AssignOp>(op)) {
      auto variable = symbols.lookup<sbp::VariableOp>(assign.getVariable());
      decideVariable(variable, carriedAs(assign.getValue()));
      if (sbp::signatureOf(assign.getValue()) != variable.getStorageOrLogical())
        require(assign->getOpOperand(0), logical(assign.getVariable()), variable.getSlotAttr(),
                {sbp::Wanted::Kind::Assign, assign.getVariableAttr().getAttr()});
    } else if (auto boxing = dyn_cast<sbp::BoxingOp>(op)) {
      resolve(boxing->getOpOperand(0), sbp::signatureOf(boxing.getOutput()));
    } else if (auto fence = dyn_cast<sbp::FenceOp>(op)) {
      applyFence(fence);
    } else if (auto colocate = dyn_cast<sbp::ColocateOp>(op)) {
      applyColocate(colocate);
    } else if (auto number = problem.numbers.find(op); number != problem.numbers.end()) {
      applyRow(op, number->second);
    }
  }

  sbp::NdAttr logical(StringRef variable) {
    sbp::NdAttr signature = symbols.lookup<sbp::VariableOp>(variable).getLogical();
    return signature ? signature : broadcast;
  }

  /// Applies a fence. In the scope of an update, its value takes the update
  /// signature of the variable; elsewhere, a fence changes nothing.
  void applyFence(sbp::FenceOp fence) {
    OpOperand &input = fence->getOpOperand(0);
    sbp::ScopeOp scope = updateScopeOf(fence);
    if (!scope) {
      resolve(input, broadcast);
      decide(fence.getOutput(), sbp::signatureOf(fence.getInput()));
      return;
    }
    auto variable = symbols.lookup<sbp::VariableOp>(*scope.getVariable());
    sbp::NdAttr update = variable.getUpdate().value_or(logical(*scope.getVariable()));
    resolve(input, update);
    const sbp::Wanted wanted{sbp::Wanted::Kind::Update, variable.getSymNameAttr()};
    sbp::NdAttr current = sbp::signatureOf(fence.getInput());
    if (current == update || variable.getPolicyOrDefault().reducesEarly() || !current.hasPartial()) {
      // A gradient is boxed where it is made, so that a bucket is reduced as soon as backward has filled it.
      if (current != update && current.hasPartial() && fence.getInput().getDefiningOp())
        input.set(box(fence.getInput(), update, variable.getSlotAttr(), wanted));
      else
        require(input, update, variable.getSlotAttr(), wanted);
      decide(fence.getOutput(), update);
      return;
    }
    decide(fence.getOutput(), current);
    OpBuilder builder(fence->getContext());
    builder.setInsertionPointAfter(fence);
    auto boxed =
        builder.create<sbp::BoxingOp>(locationOf(fence.getLoc(), wanted), sbp::withSignature(fence.getType(), update),
                                      fence.getOutput(), variable.getSlotAttr());
    fence.getOutput().replaceAllUsesExcept(boxed, boxed);
  }

  /// Replaces the op by its input, which is boxed, unless it is made in the
  /// signature that its users want.
  void applyColocate(sbp::ColocateOp op) {
    const sbp::OpChoice &choice = phases.stored.assignment.ops[problem.numbers.lookup(op)];
    OpOperand &input = op->getOpOperand(0);
    if (!choice.isFree)
      require(input, attr(choice.row.operands.front()), {}, sbp::Wanted::by(input));
    op.getOutput().replaceAllUsesWith(input.get()); // the op has no users now, and eraseUnused erases it
  }

  /// Verifies that a colocated value is at each coordinate at which the value beside it is.
  static LogicalResult checkPlace(sbp::ColocateOp op) {
    const sbp::NdAttr own = sbp::signatureOf(op.getInput()), place = sbp::signatureOf(op.getBeside());
    if (!own || !place) // its uses decide where it is made
      return success();
    for (auto [is, there] : llvm::zip(own.toAlgebra(), place.toAlgebra()))
      if (there.isAt() && is != there)
        return op.emitOpError() << "has a value that is " << sbp::toString(own.toAlgebra()) << ", beside one that is "
                                << sbp::toString(place.toAlgebra())
                                << "; box it to these coordinates, or leave the colocation out";
    return success();
  }

  void applyRow(Operation *op, int number) {
    const sbp::OpChoice &choice = phases.stored.assignment.ops[number];
    if (choice.isFree)
      return; // its users decide
    size_t index = 0;
    for (OpOperand &operand : op->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType()))
        require(operand, attr(choice.row.operands[index++]), {}, sbp::Wanted::by(operand));
    op->setLoc(sbp::withReason(op->getLoc(), reasonOfRow(problem, phases, number, placement)));
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    for (auto [made, value] : llvm::zip(choice.row.results, op->getResults())) {
      Type declared = value.getType();
      sbp::NdAttr pinned = sbp::signatureOf(declared);
      decide(value, attr(made));
      if (!pinned || pinned == sbp::signatureOf(value))
        continue;
      const sbp::Wanted wanted{sbp::Wanted::Kind::Result, op->getName().getIdentifier(), value.getResultNumber()};
      auto boxed = builder.create<sbp::BoxingOp>(locationOf(op->getLoc(), wanted), declared, value, nullptr);
      value.replaceAllUsesExcept(boxed, boxed);
    }
  }

  void applyReturn(func::ReturnOp op) {
    SmallVector<Type> results;
    for (auto [operand, own, declared] : llvm::zip(op->getOpOperands(), returned, function.getResultTypes())) {
      sbp::NdAttr wanted = sbp::signatureOf(declared);
      require(operand, wanted ? wanted : attr(own), {}, sbp::Wanted::by(operand));
      results.push_back(operand.get().getType());
    }
    function.setFunctionType(FunctionType::get(function.getContext(), function.getBody().getArgumentTypes(), results));
  }

  /// Erases ops without users: those whose signatures were never decided, and
  /// originals that only the choice for their repeats needed.
  static void eraseUnused(Block &body) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

  sbp::NdAttr splitsOf(sbp::NdAttr signature) {
    sbp::NdSbp sbp = signature.toAlgebra();
    for (sbp::Sbp &entry : sbp)
      if (!entry.isSplit() && !entry.isAt())
        entry = sbp::Sbp::broadcast();
    return sbp::NdAttr::get(placement, sbp);
  }

  //===--------------------------------------------------------------------===//
  // Constants and broadcasts of scalars
  //===--------------------------------------------------------------------===//

  /// Gives an undecided operand the signature that this use wants. Other uses
  /// may want other ones.
  void resolve(OpOperand &use, sbp::NdAttr signature) {
    if (isUndecided(use.get()))
      use.set(madeAs(use.get(), splitsOf(signature)));
  }

  /// Returns a clone of an undecided value in this signature, together with
  /// clones of the undecided values that it is computed from. Uses that want
  /// the same signature share the clone. The signature is neither P, of which
  /// the sum would be too large, nor a slot, whose padding must be zero: such
  /// uses box a clone that is B.
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

  /// Returns the undecided operands of a value, with the signatures that they
  /// need so that the value has this one.
  SmallVector<std::pair<Value, sbp::NdAttr>> undecidedOperands(Value value, sbp::NdAttr signature) {
    SmallVector<std::pair<Value, sbp::NdAttr>> result;
    sbp::LoopSpec spec = cast<sbp::ShardingOpInterface>(value.getDefiningOp()).getLoopSpec();
    for (auto [index, operand] : llvm::enumerate(sbp::tensorOperands(value.getDefiningOp())))
      if (isUndecided(operand))
        result.push_back({operand, operandSignature(spec, index, signature)});
    return result;
  }

  /// Clones the op that makes a value, after clones of its operands have been
  /// made.
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
        operand.set(OpBuilder(op).create<sbp::BoxingOp>(locationOf(op->getLoc(), sbp::Wanted::by(operand)),
                                                        sbp::withSignature(operand.get().getType(), wanted),
                                                        operand.get(), nullptr));
    }
  }

  /// Returns the signature of operand `index` if the result of an elementwise
  /// or broadcasting op has this one.
  sbp::NdAttr operandSignature(const sbp::LoopSpec &spec, size_t index, sbp::NdAttr result) {
    sbp::NdSbp entries = result.toAlgebra();
    for (sbp::Sbp &entry : entries)
      entry = sbp::operandOfElementwise(spec, index, entry);
    return sbp::NdAttr::get(placement, entries);
  }

  //===--------------------------------------------------------------------===//
  // Boxing
  //===--------------------------------------------------------------------===//

  void require(OpOperand &operand, sbp::NdAttr signature, sbp::SlotAttr slot, const sbp::Wanted &wanted) {
    resolve(operand, signature);
    if (sbp::signatureOf(operand.get()) != signature)
      operand.set(box(operand.get(), signature, slot, wanted, operand.getOwner()));
  }

  /// Boxes the value: before the user, or right after it is made if there is no
  /// user.
  Value box(Value value, sbp::NdAttr signature, sbp::SlotAttr slot, const sbp::Wanted &wanted,
            Operation *user = nullptr) {
    Value &known = boxed[{value, signature}];
    if (known)
      return known;
    OpBuilder builder(function.getContext());
    if (user)
      builder.setInsertionPoint(user);
    else
      builder.setInsertionPointAfter(value.getDefiningOp());
    bool isFlat = signature.getFlatSlot().has_value();
    known = builder.create<sbp::BoxingOp>(locationOf(value.getLoc(), wanted),
                                          sbp::withSignature(value.getType(), signature), value,
                                          isFlat ? sbp::SlotAttr() : slot);
    return known;
  }

  static Location locationOf(Location made, const sbp::Wanted &wanted) {
    return sbp::withReason(made, sbp::WantedAttr::get(made.getContext(), wanted));
  }

  func::FuncOp function;
  sbp::PlacementAttr placement;
  sbp::Placement algebra;
  SymbolTable &symbols;
  bool lookAhead;
  sbp::NdAttr broadcast;
  SignatureProblem problem;
  sbp::Phases phases;
  SmallVector<sbp::NdSbp> returned; ///< the signatures of results whose types have none: as without ZeRO, and summed
  DenseMap<std::pair<Value, Attribute>, Value> boxed;
  DenseMap<std::pair<Value, Attribute>, Value> madeFrom; ///< by undecided value and signature
};

struct Propagate : splitcast::impl::PropagatePassBase<Propagate> {
  using PropagatePassBase::PropagatePassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(verifyModule(module)))
      return signalPassFailure();
    sbp::PlacementAttr placement = sbp::placementOf(module);
    if (!placement) {
      module.emitError() << "'sbp-propagate' found no placement; give a variable or an argument a signature, or the "
                            "module an attribute sbp.placement";
      return signalPassFailure();
    }
    if (placement.getNumAxes() == 0) {
      module.emitError() << "'sbp-propagate' found the placement " << placement
                         << ", which has no axis; one rank is an axis of size 1, such as [dp = 1]";
      return signalPassFailure();
    }
    decideVariables(/*ofMade=*/false, placement);
    SymbolTable symbols(module);
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal() || !function.getBody().hasOneBlock()) {
        function.emitOpError() << "must have a body of one block";
        return signalPassFailure();
      }
      // Erase unused ops first: they would have values boxed that nobody needs.
      // (The values that gradients are put beside are used.)
      eraseUnneeded(function.getBody().front());
      if (failed(FunctionPropagation(function, placement, symbols, lookAhead).run()))
        return signalPassFailure();
    }
    decideVariables(/*ofMade=*/true, placement); // variables that nothing reads or assigns
  }

  /// Gives variables without a signature the signature B, but those with
  /// `as_made` only if `ofMade`.
  void decideVariables(bool ofMade, sbp::PlacementAttr placement) {
    for (auto variable : getOperation().getOps<sbp::VariableOp>()) {
      if (variable.getLogical() || (variable.getAsMade() && !ofMade))
        continue;
      variable.setTypeAttr(TypeAttr::get(sbp::withSignature(variable.getType(), sbp::NdAttr::broadcast(placement))));
      variable.setAsMade(false);
    }
  }
};

} // namespace
