// Updates as elementwise ops over variable, gradient and state.
//
// The optimizer's own attribute says what is computed (OptimizerAttrInterface); it asks the builder here for states,
// the learning rate and powers of betas. A state is a variable beside its own, made at its first use; what an update
// reads is fenced in the update's scope, so that ZeRO can decide where it is computed. Powers of betas count updates:
// variables share them when the same functions update them by the same optimizers (UpdateSets), since a variable that
// a second function updates, too, is further on than the others.
//
//   before   nn.update @w, %g in %s with #nn.momentum<lr = 0.5, momentum = 0.9>
//   after    sbp.variable @w.momentum ... state_of @w role "momentum"
//            %2 = sbp.fence (sbp.read @w) in %s       %3 = sbp.fence %g in %s
//            %5 = sbp.fence (sbp.read @w.momentum) in %s
//            %7 = nn.scale %5 {value = 0.9}           %8 = nn.add %7, %3
//            sbp.assign @w.momentum, %8
//            %9 = nn.mul (sbp.read @optimizer.learning_rate), %8
//            %10 = nn.sub %2, %9
//            sbp.assign @w, %10
#include "passes/global/Passes.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <map>

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_EXPANDOPTIMIZERSPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

/// Which variables have had equally many updates whatever functions have run: those whose updates are the same, by the
/// same optimizers in the same functions. They share what counts updates; no others do.
class UpdateSets {
public:
  explicit UpdateSets(ModuleOp module) {
    llvm::MapVector<StringRef, History> histories; // by variable, in the order of first updates
    for (auto function : module.getOps<func::FuncOp>())
      for (auto op : function.getOps<nn::UpdateOp>())
        if (cast<nn::OptimizerAttrInterface>(op.getOptimizer()).countsSteps())
          histories[op.getVariable()].add(function, op.getOptimizer());
    std::map<std::vector<const void *>, std::string> prefixes;
    for (const auto &[variable, history] : histories)
      prefixes[history.updates];
    llvm::StringSet<> taken;
    for (const auto &[variable, history] : histories) {
      std::string &prefix = prefixes[history.updates];
      if (prefix.empty())
        prefix = prefixes.size() == 1 ? "optimizer." : nameAfterFunctions(history, taken);
      prefixOf[variable] = prefix;
    }
  }

  /// What names of counters of a variable begin with.
  const std::string &prefix(StringRef variable) const { return prefixOf.find(variable)->second; }

private:
  struct History {
    std::vector<const void *> updates; ///< function and optimizer of each
    llvm::SetVector<StringRef> functions;

    void add(func::FuncOp function, Attribute optimizer) {
      updates.push_back(function.getAsOpaquePointer());
      updates.push_back(optimizer.getAsOpaquePointer());
      functions.insert(function.getSymName());
    }
  };

  static std::string nameAfterFunctions(const History &history, llvm::StringSet<> &taken) {
    std::string name = "optimizer." + llvm::join(history.functions, ".") + ".", numbered = name;
    for (int number = 1; !taken.insert(numbered).second; ++number)
      numbered = name + std::to_string(number) + ".";
    return numbered;
  }

  llvm::StringMap<std::string> prefixOf;
};

/// What the updates of one function share: values that are read and changed once per step.
class FunctionUpdates {
public:
  FunctionUpdates(func::FuncOp function, SymbolTable &symbols, const UpdateSets &sets) : symbols(symbols), sets(sets) {
    for (auto assign : function.getOps<sbp::AssignOp>())
      if (assign.getVariable() == kLearningRate)
        rateAssigns.push_back(assign);
  }

  sbp::VariableOp find(StringRef name) { return symbols.lookup<sbp::VariableOp>(name); }

  /// A scalar variable of the module, made when it is not there.
  sbp::VariableOp scalarVariable(StringRef name, Type element, double initial, sbp::VariableOp like) {
    if (auto known = find(name))
      return known;
    OpBuilder b(like);
    sbp::NdAttr signature =
        like.getLogical() ? sbp::NdAttr::broadcast(like.getLogical().getPlacement()) : sbp::NdAttr();
    auto type = RankedTensorType::get({}, element, signature);
    auto init = sbp::ConstantInitAttr::get(b.getContext(), b.getF64FloatAttr(initial));
    auto variable = b.create<sbp::VariableOp>(like.getLoc(), name, type, init, "optimizer");
    variable.setFrozen(true);
    symbols.insert(variable);
    return variable;
  }

  void noteAssigned(StringRef variable) {
    if (variable == kLearningRate)
      learningRate = {};
  }

  /// The read of the learning rate that has its value at `op`; null: none has yet.
  Value &learningRateAt(Operation *op) {
    for (; nextAssign < rateAssigns.size() && rateAssigns[nextAssign]->isBeforeInBlock(op); ++nextAssign)
      learningRate = {};
    return learningRate;
  }

  static constexpr llvm::StringLiteral kLearningRate = "optimizer.learning_rate";

  SymbolTable &symbols;
  const UpdateSets &sets;
  std::map<std::pair<std::string, int64_t>, Value> powers; ///< by name, after so many updates of a variable
  llvm::StringMap<int64_t> countedUpdates;                 ///< so far, by variable

private:
  SmallVector<Operation *> rateAssigns; ///< by the user, in their order
  size_t nextAssign = 0;                ///< of these, the first that has not been passed
  Value learningRate;
};

/// `value` with the signature left out: what updates are built of is undecided until 'sbp-propagate'.
Value read(OpBuilder &b, Location loc, sbp::VariableOp variable) {
  return b.create<sbp::ReadOp>(loc, nn::undecided(variable.getType()),
                               FlatSymbolRefAttr::get(variable.getSymNameAttr()));
}

class VariableUpdate : public nn::UpdateBuilder {
public:
  VariableUpdate(nn::UpdateOp op, sbp::VariableOp variable, FunctionUpdates &function)
      : op(op), variable(variable), function(function), opBuilder(op) {}

  LogicalResult expand() {
    auto optimizer = cast<nn::OptimizerAttrInterface>(op.getOptimizer());
    Value parameter = fenced(read(opBuilder, loc(), variable));
    Value gradient = fenced(op.getGradient());
    if (optimizer.countsSteps())
      ++function.countedUpdates[op.getVariable()];
    Value result = optimizer.expand(*this, parameter, gradient);
    if (isWrong)
      return failure();
    opBuilder.create<sbp::AssignOp>(loc(), op.getVariableAttr(), result);
    function.noteAssigned(op.getVariable());
    op.erase();
    return success();
  }

  OpBuilder &builder() override { return opBuilder; }
  Location loc() override { return op.getLoc(); }

  Value readState(StringRef role) override { return fenced(read(opBuilder, loc(), state(role))); }

  void assignState(StringRef role, Value value) override {
    opBuilder.create<sbp::AssignOp>(loc(), FlatSymbolRefAttr::get(state(role).getSymNameAttr()), value);
  }

  Value sharedPower(StringRef role, double initial, double factor) override {
    std::string name = function.sets.prefix(op.getVariable()) + role.str();
    Value &value = function.powers[{name, function.countedUpdates[op.getVariable()]}];
    if (!value) {
      sbp::VariableOp power = scalarVariable(name, opBuilder.getF64Type(), initial);
      value = opBuilder.create<nn::ScaleOp>(loc(), read(opBuilder, loc(), power), factor);
      opBuilder.create<sbp::AssignOp>(loc(), FlatSymbolRefAttr::get(power.getSymNameAttr()), value);
    }
    return value;
  }

  Value learningRate() override {
    Type element = variable.getTensorType().getElementType();
    Value &rate = function.learningRateAt(op);
    double initial = cast<nn::OptimizerAttrInterface>(op.getOptimizer()).getInitialLearningRate();
    checkLearningRate(initial);
    if (!rate)
      rate = read(opBuilder, loc(), scalarVariable(FunctionUpdates::kLearningRate, opBuilder.getF32Type(), initial));
    if (getElementTypeOrSelf(rate.getType()) == element)
      return rate;
    return opBuilder.create<nn::CastOp>(loc(), rate, element);
  }

private:
  InFlightDiagnostic fail() {
    isWrong = true;
    return op.emitOpError();
  }

  sbp::VariableOp scalarVariable(StringRef name, Type element, double initial) {
    sbp::VariableOp scalar = function.scalarVariable(name, element, initial, variable);
    bool isOurs = scalar.getSymName() == name && nn::undecided(scalar.getType()) == RankedTensorType::get({}, element);
    if (isOurs)
      return scalar;
    fail() << "keeps a scalar in @" << name << ", but that is something else; rename it";
    OpBuilder b(variable); // of the right type, for what is built before the error is seen
    return b.create<sbp::VariableOp>(loc(), name, RankedTensorType::get({}, element));
  }

  void checkLearningRate(double initial) {
    sbp::VariableOp known = function.find(FunctionUpdates::kLearningRate);
    auto init = known ? dyn_cast_or_null<sbp::ConstantInitAttr>(known.getInitAttr()) : sbp::ConstantInitAttr();
    // Compared as what it is, an f32; NaN is no number to begin with.
    if (init && static_cast<float>(init.getValue().getValueAsDouble()) != static_cast<float>(initial))
      fail() << "starts @optimizer.learning_rate at " << initial << ", but it is there with "
             << init.getValue().getValueAsDouble() << "; one module has one learning rate";
  }

  Value fenced(Value value) { return opBuilder.create<sbp::FenceOp>(loc(), value, op.getScope()); }

  sbp::VariableOp state(StringRef role) {
    std::string name = (variable.getSymName() + "." + role).str();
    if (Operation *taken = function.symbols.lookup(name)) {
      auto known = dyn_cast<sbp::VariableOp>(taken);
      bool isOurs = known && known.getStateOf() == variable.getSymName() && known.getRole() == role &&
                    nn::undecided(known.getType()) == nn::undecided(variable.getType());
      if (isOurs)
        return known;
      fail() << "keeps its state in @" << name << ", but that is " << (known ? "another" : "no")
             << " variable; rename it";
      return variable; // of the right type, for what is built before the error is seen
    }
    OpBuilder b(variable->getContext());
    b.setInsertionPointAfter(variable);
    auto zero = sbp::ConstantInitAttr::get(b.getContext(), b.getF64FloatAttr(0.0));
    auto made =
        b.create<sbp::VariableOp>(variable.getLoc(), name, variable.getType(), zero, variable.getGroupOrPrefix());
    made.setStateOf(variable.getSymName());
    made.setRole(role);
    function.symbols.insert(made);
    return made;
  }

  nn::UpdateOp op;
  sbp::VariableOp variable;
  FunctionUpdates &function;
  OpBuilder opBuilder;
  bool isWrong = false;
};

struct ExpandOptimizers : splitcast::impl::ExpandOptimizersPassBase<ExpandOptimizers> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    UpdateSets sets(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      FunctionUpdates shared(function, symbols, sets);
      for (auto op : llvm::make_early_inc_range(function.getOps<nn::UpdateOp>()))
        if (failed(VariableUpdate(op, shared.find(op.getVariable()), shared).expand()))
          return signalPassFailure();
    }
  }
};

} // namespace
