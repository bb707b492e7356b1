#include "tests/differential/GradientCheck.h"

#include "dialects/nn/Nn.h"
#include "tests/reference/GlobalInterpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "absl/strings/str_cat.h"

#include <cmath>
#include <random>

using namespace mlir;

namespace splitcast::differential {

namespace {

using Function = func::FuncOp;

void returnOnly(Function function, ValueRange values) {
  Operation *terminator = function.getBody().front().getTerminator();
  terminator->setOperands(values);
  function.removeResAttrsAttr();
  function.setFunctionType(FunctionType::get(function.getContext(), function.getArgumentTypes(), values.getTypes()));
}

/// The module with functions that return their loss, and minimize nothing.
OwningOpRef<ModuleOp> lossesOf(ModuleOp source) {
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(source->clone());
  for (auto function : module->getOps<Function>())
    for (auto minimize : llvm::make_early_inc_range(function.getOps<nn::MinimizeOp>())) {
      returnOnly(function, minimize.getLoss());
      minimize.erase();
    }
  return module;
}

/// The module with functions that return their gradients, after their results if these are kept, and update nothing;
/// `updates[function]` are the variables of the gradients.
OwningOpRef<ModuleOp> gradientsOf(ModuleOp differentiated, bool keepResults,
                                  std::map<std::string, std::vector<std::string>> &updates) {
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(differentiated->clone());
  for (auto function : module->getOps<Function>()) {
    SmallVector<Value> values;
    if (keepResults)
      llvm::append_range(values, function.getBody().front().getTerminator()->getOperands());
    for (auto update : llvm::make_early_inc_range(function.getOps<nn::UpdateOp>())) {
      updates[function.getName().str()].push_back(update.getVariable().str());
      values.push_back(update.getGradient());
      update.erase();
    }
    returnOnly(function, values);
  }
  return module;
}

absl::StatusOr<reference::GlobalInterpreter> interpret(ModuleOp module, const Variables &initial) {
  reference::InterpreterOptions options;
  options.precision = reference::Precision::F64;
  options.initializer = [](sbp::VariableOp variable, Tensor &tensor) {
    bool isConstant = isa_and_nonnull<sbp::ConstantInitAttr>(variable.getInitAttr());
    return isConstant ? reference::initializeConstants(variable, tensor) : absl::OkStatus();
  };
  absl::StatusOr<reference::GlobalInterpreter> interpreter = reference::GlobalInterpreter::create(module, options);
  if (interpreter.ok())
    for (const auto &[name, tensor] : initial)
      interpreter->variables()[name] = tensor;
  return interpreter;
}

} // namespace

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

namespace {

double uniform(std::mt19937_64 &random) { return static_cast<double>(random() >> 11) * 0x1p-52 - 1.0; }

/// Slopes at one place in one direction.
class SlopeCheck {
public:
  SlopeCheck(ModuleOp source, ModuleOp losses, ModuleOp gradients,
             const std::map<std::string, std::vector<std::string>> &updates, const Experiment &experiment,
             uint64_t seed)
      : losses(losses), gradients(gradients), updates(updates), random(seed) {
    for (auto variable : source.getOps<sbp::VariableOp>()) {
      std::string name = variable.getSymName().str();
      auto known = experiment.initial.find(name);
      if (known == experiment.initial.end() || !known->second.isFloat())
        continue;
      Tensor &value = place[name] = known->second, &step = direction[name] = known->second;
      // Off the grid of small integers, where ReLU has its kinks.
      for (double &element : value.floats)
        element += 0.25 * uniform(random);
      for (double &element : step.floats)
        element = variable.getFrozen() ? 0.0 : uniform(random);
    }
  }

  absl::Status check(const Call &call) {
    absl::StatusOr<double> after = lossAt(call, kStep), before = lossAt(call, -kStep), slope = slopeByGradients(call);
    for (const absl::Status &status : {after.status(), before.status(), slope.status()})
      if (!status.ok())
        return status;
    double quotient = (*after - *before) / (2 * kStep), scale = 1.0 + std::abs(quotient) + magnitude;
    if (std::abs(quotient - *slope) <= kTolerance * scale)
      return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("@", call.function, ": the loss has slope ", quotient, " where the gradients give ", *slope));
  }

private:
  static constexpr double kStep = 1e-5, kTolerance = 1e-4;

  absl::StatusOr<double> lossAt(const Call &call, double distance) {
    Variables at = place;
    for (auto &[name, tensor] : at)
      for (size_t i = 0; i < tensor.floats.size(); ++i)
        tensor.floats[i] += distance * direction[name].floats[i];
    absl::StatusOr<std::vector<Tensor>> results = runAt(losses, call, at);
    if (!results.ok())
      return results.status();
    return results->front().floats.front();
  }

  absl::StatusOr<double> slopeByGradients(const Call &call) {
    absl::StatusOr<std::vector<Tensor>> results = runAt(gradients, call, place);
    if (!results.ok())
      return results.status();
    double slope = 0.0;
    magnitude = 0.0;
    for (auto [name, gradient] : llvm::zip(updates.at(call.function), *results)) {
      const Tensor &step = direction[name];
      for (size_t i = 0; i < step.floats.size(); ++i) {
        slope += step.floats[i] * gradient.floats[i];
        magnitude += std::abs(step.floats[i] * gradient.floats[i]);
      }
    }
    return slope;
  }

  absl::StatusOr<std::vector<Tensor>> runAt(ModuleOp module, const Call &call, const Variables &at) {
    absl::StatusOr<reference::GlobalInterpreter> interpreter = interpret(module, at);
    if (!interpreter.ok())
      return interpreter.status();
    return interpreter->run(call.function, call.inputs);
  }

  ModuleOp losses, gradients;
  const std::map<std::string, std::vector<std::string>> &updates;
  std::mt19937_64 random;
  Variables place, direction;
  double magnitude = 0.0; ///< sum of the slope's addends, without signs
};

} // namespace

absl::Status checkGradients(ModuleOp source, ModuleOp differentiated, const Experiment &experiment) {
  std::map<std::string, std::vector<std::string>> updates;
  OwningOpRef<ModuleOp> losses = lossesOf(source), gradients = gradientsOf(differentiated, false, updates);
  for (const auto &function : updates) {
    auto call = llvm::find_if(experiment.calls, [&](const Call &c) { return c.function == function.first; });
    if (call == experiment.calls.end())
      continue;
    // A kink may lie between the two places of a quotient, but not at every place.
    absl::Status status;
    for (uint64_t seed = 0; seed < 4; ++seed) {
      status = SlopeCheck(source, *losses, *gradients, updates, experiment, seed).check(*call);
      if (status.ok())
        break;
    }
    if (!status.ok())
      return status;
  }
  return absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

namespace {

/// The optimizers by their papers' formulas, in double, one element after the other.
class ReferenceOptimizer {
public:
  explicit ReferenceOptimizer(Attribute attribute) : attribute(attribute) {}

  void beginStep() { ++step; }

  void update(const std::string &name, const Tensor &gradient, Tensor &parameter) {
    std::vector<double> &m = first[name], &v = second[name];
    m.resize(gradient.floats.size());
    v.resize(gradient.floats.size());
    for (size_t i = 0; i < gradient.floats.size(); ++i)
      parameter.floats[i] = updated(parameter.floats[i], gradient.floats[i], m[i], v[i]);
  }

private:
  static double number(FloatAttr attr) { return attr.getValueAsDouble(); }

  double updated(double p, double g, double &m, double &v) const {
    if (auto sgd = dyn_cast<nn::SgdAttr>(attribute))
      return p - number(sgd.getLr()) * g;
    if (auto momentum = dyn_cast<nn::MomentumAttr>(attribute)) {
      m = number(momentum.getMomentum()) * m + g;
      return p - number(momentum.getLr()) * m;
    }
    if (auto adam = dyn_cast<nn::AdamAttr>(attribute))
      return p - adamStep(adam, g, m, v);
    auto adamw = cast<nn::AdamWAttr>(attribute);
    return p - number(adamw.getLr()) * number(adamw.getWeightDecay()) * p - adamStep(adamw, g, m, v);
  }

  template <typename AdamT> double adamStep(AdamT adam, double g, double &m, double &v) const {
    double beta1 = number(adam.getBeta1()), beta2 = number(adam.getBeta2());
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    double unbiasedM = m / (1 - std::pow(beta1, step)), unbiasedV = v / (1 - std::pow(beta2, step));
    return number(adam.getLr()) * unbiasedM / (std::sqrt(unbiasedV) + number(adam.getEpsilon()));
  }

  Attribute attribute;
  int step = 0;
  std::map<std::string, std::vector<double>> first, second;
};

/// The one optimizer of the module.
Attribute optimizerOf(ModuleOp module) {
  Attribute optimizer;
  module.walk([&](nn::UpdateOp update) { optimizer = update.getOptimizer(); });
  return optimizer;
}

/// The variables after the calls, by formulas.
absl::StatusOr<Variables> runByFormulas(ModuleOp differentiated, const Experiment &experiment) {
  std::map<std::string, std::vector<std::string>> updates;
  OwningOpRef<ModuleOp> gradients = gradientsOf(differentiated, true, updates);
  absl::StatusOr<reference::GlobalInterpreter> interpreter = interpret(*gradients, experiment.initial);
  if (!interpreter.ok())
    return interpreter.status();
  ReferenceOptimizer optimizer(optimizerOf(differentiated));
  for (const Call &call : experiment.calls) {
    absl::StatusOr<std::vector<Tensor>> results = interpreter->run(call.function, call.inputs);
    if (!results.ok())
      return results.status();
    const std::vector<std::string> &names = updates[call.function];
    if (!names.empty())
      optimizer.beginStep();
    size_t firstGradient = results->size() - names.size();
    for (size_t i = 0; i < names.size(); ++i)
      optimizer.update(names[i], (*results)[firstGradient + i], interpreter->variables().at(names[i]));
  }
  return interpreter->variables();
}

} // namespace

absl::Status checkUpdates(ModuleOp differentiated, ModuleOp expanded, const Experiment &experiment) {
  absl::StatusOr<Variables> expected = runByFormulas(differentiated, experiment);
  if (!expected.ok())
    return expected.status();
  absl::StatusOr<Outcome> actual = runGlobal(expanded, experiment, reference::Precision::F64);
  if (!actual.ok())
    return actual.status();
  Outcome formulas{actual->results, *std::move(expected)};
  return compare(formulas, *actual, Agreement::Close);
}

} // namespace splitcast::differential
