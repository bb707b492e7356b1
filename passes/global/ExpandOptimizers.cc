// Updates as elementwise ops over variable, gradient and state.
#include "passes/global/Passes.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_EXPANDOPTIMIZERSPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

/// What the updates of one function share: values that are read and changed once per step.
class FunctionUpdates {
public:
  FunctionUpdates(SymbolTable &symbols) : symbols(symbols) {}

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
    auto variable =
        b.create<sbp::VariableOp>(like.getLoc(), b.getStringAttr(name), nullptr, TypeAttr::get(type), nullptr, nullptr,
                                  nullptr, init, b.getStringAttr("optimizer"), nullptr, nullptr, b.getUnitAttr());
    symbols.insert(variable);
    return variable;
  }

  SymbolTable &symbols;
  llvm::StringMap<Value> shared; ///< scalar values of this step, by the name of the variable
  llvm::StringMap<double> factors;
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
    Value result = optimizer.expand(*this, parameter, gradient);
    if (isWrong)
      return failure();
    opBuilder.create<sbp::AssignOp>(loc(), op.getVariableAttr(), result);
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
    std::string name = ("optimizer." + role).str();
    Value &value = function.shared[name];
    auto [known, isNew] = function.factors.try_emplace(name, factor);
    if (!isNew && known->second != factor)
      fail() << "multiplies @" << name << " by " << factor << " where another update multiplies it by " << known->second
             << "; give both one";
    if (!value) {
      sbp::VariableOp power = function.scalarVariable(name, opBuilder.getF64Type(), initial, variable);
      value = opBuilder.create<nn::ScaleOp>(loc(), read(opBuilder, loc(), power), factor);
      opBuilder.create<sbp::AssignOp>(loc(), FlatSymbolRefAttr::get(power.getSymNameAttr()), value);
    }
    return value;
  }

  Value learningRate() override {
    Type element = variable.getTensorType().getElementType();
    Value &rate = function.shared["optimizer.learning_rate"];
    double initial = cast<nn::OptimizerAttrInterface>(op.getOptimizer()).getInitialLearningRate();
    checkLearningRate(initial);
    if (!rate) {
      rate = read(opBuilder, loc(),
                  function.scalarVariable("optimizer.learning_rate", opBuilder.getF32Type(), initial, variable));
    }
    if (getElementTypeOrSelf(rate.getType()) == element)
      return rate;
    return opBuilder.create<nn::CastOp>(loc(), rate, element);
  }

private:
  InFlightDiagnostic fail() {
    isWrong = true;
    return op.emitOpError();
  }

  void checkLearningRate(double initial) {
    sbp::VariableOp known = function.find("optimizer.learning_rate");
    auto init = known ? dyn_cast_or_null<sbp::ConstantInitAttr>(known.getInitAttr()) : sbp::ConstantInitAttr();
    if (init && init.getValue().getValueAsDouble() != initial)
      fail() << "starts @optimizer.learning_rate at " << initial << ", but it is there with "
             << init.getValue().getValueAsDouble() << "; one module has one learning rate";
  }

  Value fenced(Value value) { return opBuilder.create<sbp::FenceOp>(loc(), value, op.getScope()); }

  sbp::VariableOp state(StringRef role) {
    std::string name = (variable.getSymName() + "." + role).str();
    if (sbp::VariableOp known = function.find(name)) {
      bool isOurs = known.getStateOf() == variable.getSymName() && known.getRole() == role &&
                    nn::undecided(known.getType()) == nn::undecided(variable.getType());
      if (isOurs)
        return known;
      fail() << "keeps its state in @" << name << ", but that is another variable; rename it";
      return variable; // of the right type, for what is built before the error is seen
    }
    OpBuilder b(variable->getContext());
    b.setInsertionPointAfter(variable);
    auto zero = sbp::ConstantInitAttr::get(b.getContext(), b.getF64FloatAttr(0.0));
    auto made =
        b.create<sbp::VariableOp>(variable.getLoc(), b.getStringAttr(name), nullptr, variable.getTypeAttr(), nullptr,
                                  nullptr, nullptr, zero, b.getStringAttr(variable.getGroupOrPrefix()),
                                  FlatSymbolRefAttr::get(variable.getSymNameAttr()), b.getStringAttr(role), nullptr);
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
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      FunctionUpdates shared(symbols);
      for (auto op : llvm::make_early_inc_range(function.getOps<nn::UpdateOp>()))
        if (failed(VariableUpdate(op, shared.find(op.getVariable()), shared).expand()))
          return signalPassFailure();
    }
  }
};

} // namespace
