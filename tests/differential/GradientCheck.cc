#include "tests/differential/GradientCheck.h"

#include "dialects/nn/Nn.h"
#include "tests/differential/OptimizerAs.h"
#include "tests/differential/Schedules.h"
#include "tests/reference/GlobalInterpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
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

/// The gradient as if the loss had not been scaled.
Value divided(nn::UpdateOp update) {
  OpBuilder b(update);
  const nn::Expr gradient(b, update.getLoc(), update.getGradient());
  if (!update.getScale())
    return gradient.value();
  return (gradient / nn::Expr(b, update.getLoc(), update.getScale()).as(gradient)).value();
}

/// The module with functions that return their gradients, and update nothing; `updates[function]` are the variables of
/// the gradients.
OwningOpRef<ModuleOp> gradientsOf(ModuleOp differentiated, std::map<std::string, std::vector<std::string>> &updates) {
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(differentiated->clone());
  for (auto function : module->getOps<Function>()) {
    SmallVector<Value> values;
    for (auto update : llvm::make_early_inc_range(function.getOps<nn::UpdateOp>())) {
      updates[function.getName().str()].push_back(update.getVariable().str());
      values.push_back(divided(update));
      update.erase();
    }
    returnOnly(function, values);
  }
  return module;
}

absl::StatusOr<reference::GlobalInterpreter> interpret(ModuleOp module, const Variables &initial,
                                                       decltype(reference::InterpreterOptions::update) update = {}) {
  reference::InterpreterOptions options;
  options.update = std::move(update);
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
  OwningOpRef<ModuleOp> losses = lossesOf(source), gradients = gradientsOf(differentiated, updates);
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

/// Schedules of the learning rate by their formulas, in double. What counts is how often functions that update by a
/// schedule have run.
class ReferenceRates {
public:
  double factor(Attribute schedule, nn::UpdateOp op) {
    Counts &counts = ofSchedule[schedule.getAsOpaquePointer()];
    FunctionRuns &runs = counts.functions[op->getParentOp()];
    if (!runs.first)
      runs.first = op;
    if (runs.first == op) // of a new run
      runs.now = counts.total++;
    return factorAt(schedule, runs.now);
  }

private:
  struct FunctionRuns {
    Operation *first = nullptr; ///< update of the function by this schedule
    int64_t now = 0;            ///< runs before this one
  };
  struct Counts {
    int64_t total = 0;
    std::map<Operation *, FunctionRuns> functions;
  };

  template <typename T> static std::optional<T> as(Attribute schedule) {
    return optimizerAs<T, nn::RateScheduleAttr>(schedule);
  }

  static double factorAt(Attribute schedule, int64_t run) {
    if (auto constant = as<ConstantRate>(schedule))
      return warmed(*constant, run, [](double) { return 1.0; });
    if (auto linear = as<LinearRate>(schedule))
      return warmed(*linear, run, [&](double t) { return 1 + (linear->end - 1) * share(*linear, t); });
    if (auto cosine = as<CosineRate>(schedule))
      return warmed(*cosine, run, [&](double t) {
        return cosine->end + (1 - cosine->end) * (1 + std::cos(std::acos(-1) * share(*cosine, t))) / 2;
      });
    if (auto polynomial = as<PolynomialRate>(schedule))
      return warmed(*polynomial, run, [&](double t) {
        return polynomial->end + (1 - polynomial->end) * std::pow(1 - share(*polynomial, t), polynomial->power);
      });
    if (auto step = as<StepRate>(schedule))
      return warmed(*step, run, [&](double t) { return std::pow(step->gamma, std::floor(t / step->every)); });
    const ExponentialRate exponential = *as<ExponentialRate>(schedule);
    return warmed(exponential, run, [&](double t) { return std::pow(exponential.gamma, t); });
  }

  template <typename T> static double share(const T &rate, double t) {
    return std::min(1.0, t / (rate.steps - rate.warmup));
  }
  template <typename T, typename Factor> static double warmed(const T &rate, int64_t run, Factor factor) {
    const double t = static_cast<double>(run);
    return t < rate.warmup ? (t + 1) / rate.warmup : factor(t - rate.warmup);
  }

  std::map<const void *, Counts> ofSchedule;
};

/// The optimizers by their papers' formulas, in double, one element after the other. Each variable has state and counts
/// of its own; the power of a beta is the product of those that its updates had.
class ReferenceOptimizer {
public:
  void update(nn::UpdateOp op, reference::ValueOf valueOf, Tensor &parameter) {
    State &state = states[op.getVariable().str()];
    const std::vector<double> gradient = clipped(op, valueOf);
    state.resize(gradient.size());
    if (isLeftOut(op, valueOf))
      return;
    if (auto adam = optimizerAs<Adam>(op.getOptimizer()))
      state.count(*adam);
    if (auto adamw = optimizerAs<AdamW>(op.getOptimizer()))
      state.count(*adamw);
    const Attribute optimizer = atRate(op);
    for (size_t i = 0; i < gradient.size(); ++i)
      parameter.floats[i] = updated(optimizer, parameter.floats[i], gradient[i], i, state);
  }

private:
  struct State {
    std::vector<double> momentum, sum, first, second;
    double power1 = 1, power2 = 1;

    void resize(size_t elements) {
      for (std::vector<double> *all : {&momentum, &sum, &first, &second})
        all->resize(elements);
    }
    template <typename AdamT> void count(const AdamT &adam) {
      power1 *= adam.beta1;
      power2 *= adam.beta2;
    }
  };

  /// As if the loss had not been scaled.
  static std::vector<double> gradientOf(nn::UpdateOp op, reference::ValueOf valueOf) {
    std::vector<double> gradient = valueOf(op.getGradient()).floats;
    if (op.getScale())
      for (double &element : gradient)
        element /= valueOf(op.getScale()).floats.front();
    return gradient;
  }

  /// Whether one of the gradients of a scaled loss, whose updates follow each other, is not finite.
  static bool isLeftOut(nn::UpdateOp op, reference::ValueOf valueOf) {
    if (!op.getScale())
      return false;
    Operation *first = op;
    while (isa_and_nonnull<nn::UpdateOp, sbp::ScopeOp>(first->getPrevNode()))
      first = first->getPrevNode();
    for (Operation *next = first; isa<nn::UpdateOp, sbp::ScopeOp>(next); next = next->getNextNode())
      if (auto update = dyn_cast<nn::UpdateOp>(next))
        for (double element : gradientOf(update, valueOf))
          if (!std::isfinite(element))
            return true;
    return false;
  }

  static std::vector<double> clipped(nn::UpdateOp op, reference::ValueOf valueOf) {
    std::vector<double> gradient = gradientOf(op, valueOf);
    if (FloatAttr most = op.getClipValueAttr())
      for (double &element : gradient)
        element = std::clamp(element, -most.getValueAsDouble(), most.getValueAsDouble());
    if (FloatAttr most = op.getClipNormAttr()) {
      const double coefficient = std::min(1.0, most.getValueAsDouble() / (normWith(op, valueOf) + 1e-6));
      for (double &element : gradient)
        element *= coefficient;
    }
    return gradient;
  }

  /// Of the gradients of all updates that share it.
  static double normWith(nn::UpdateOp op, reference::ValueOf valueOf) {
    double squares = 0;
    for (auto update : op->getBlock()->getOps<nn::UpdateOp>())
      if (update.getClipSetAttr() == op.getClipSetAttr())
        for (double element : gradientOf(update, valueOf))
          squares += element * element;
    return std::sqrt(squares);
  }

  /// The optimizer with the learning rate that the schedule gives it in this run of the function.
  Attribute atRate(nn::UpdateOp op) {
    auto optimizer = cast<nn::OptimizerAttr>(op.getOptimizer());
    if (!op.getSchedule())
      return optimizer;
    std::vector<double> numbers = optimizer.getValues().asArrayRef().vec();
    numbers.front() *= rates.factor(*op.getSchedule(), op);
    auto values = DenseF64ArrayAttr::get(op.getContext(), numbers);
    return nn::OptimizerAttr::get(op.getContext(), optimizer.getName(), values);
  }

  static double updated(Attribute optimizer, double p, double g, size_t i, State &state) {
    double &m = state.momentum[i], &v = state.second[i];
    if (auto sgd = optimizerAs<Sgd>(optimizer))
      return p - sgd->lr * g;
    if (auto momentum = optimizerAs<Momentum>(optimizer)) {
      m = momentum->momentum * m + g;
      return p - momentum->lr * m;
    }
    if (auto nesterov = optimizerAs<Nesterov>(optimizer)) {
      m = nesterov->momentum * m + g;
      return p - nesterov->lr * (g + nesterov->momentum * m);
    }
    if (auto adam = optimizerAs<Adam>(optimizer))
      return p - adamStep(*adam, g, i, state);
    if (auto adamw = optimizerAs<AdamW>(optimizer))
      return p - adamw->lr * adamw->weightDecay * p - adamStep(*adamw, g, i, state);
    if (auto adagrad = optimizerAs<Adagrad>(optimizer)) {
      double &sum = state.sum[i];
      sum += g * g;
      return p - adagrad->lr * g / (std::sqrt(sum) + adagrad->epsilon);
    }
    if (auto rmsProp = optimizerAs<RmsProp>(optimizer)) {
      v = rmsProp->alpha * v + (1 - rmsProp->alpha) * g * g;
      const double step = g / (std::sqrt(v) + rmsProp->epsilon);
      if (rmsProp->momentum == 0) // and no state of it
        return p - rmsProp->lr * step;
      m = rmsProp->momentum * m + step;
      return p - rmsProp->lr * m;
    }
    const Lion lion = *optimizerAs<Lion>(optimizer);
    double &average = state.first[i];
    const double mixed = lion.beta1 * average + (1 - lion.beta1) * g;
    average = lion.beta2 * average + (1 - lion.beta2) * g;
    return p - lion.lr * ((mixed > 0) - (mixed < 0) + lion.weightDecay * p);
  }

  template <typename AdamT> static double adamStep(const AdamT &adam, double g, size_t i, State &state) {
    double &m = state.first[i], &v = state.second[i];
    m = adam.beta1 * m + (1 - adam.beta1) * g;
    v = adam.beta2 * v + (1 - adam.beta2) * g * g;
    double unbiasedM = m / (1 - state.power1), unbiasedV = v / (1 - state.power2);
    return adam.lr * unbiasedM / (std::sqrt(unbiasedV) + adam.epsilon);
  }

  std::map<std::string, State> states;
  ReferenceRates rates;
};

/// The calls, with formulas in place of updates.
absl::StatusOr<Outcome> runByFormulas(ModuleOp differentiated, const Experiment &experiment) {
  ReferenceOptimizer optimizer;
  absl::StatusOr<reference::GlobalInterpreter> interpreter =
      interpret(differentiated, experiment.initial, [&](nn::UpdateOp op, reference::ValueOf valueOf, Tensor &variable) {
        optimizer.update(op, valueOf, variable);
      });
  if (!interpreter.ok())
    return interpreter.status();
  absl::StatusOr<ScheduledCalls> scheduled = ScheduledCalls::of(differentiated, experiment);
  if (!scheduled.ok())
    return scheduled.status();
  std::vector<std::vector<Tensor>> all;
  for (const Call &call : scheduled->experiment.calls) {
    absl::StatusOr<std::vector<Tensor>> results = interpreter->run(call.function, call.inputs);
    if (!results.ok())
      return results.status();
    all.push_back(*std::move(results));
  }
  absl::StatusOr<std::vector<std::vector<Tensor>>> joined = scheduled->join(std::move(all));
  if (!joined.ok())
    return joined.status();
  return Outcome{*std::move(joined), interpreter->variables()};
}

} // namespace

absl::Status checkUpdates(ModuleOp differentiated, ModuleOp expanded, const Experiment &experiment) {
  absl::StatusOr<Outcome> expected = runByFormulas(differentiated, experiment);
  if (!expected.ok())
    return expected.status();
  absl::StatusOr<Outcome> actual = runGlobal(expanded, experiment, reference::Precision::F64);
  if (!actual.ok())
    return actual.status();
  for (Outcome *outcome : {&*expected, &*actual})
    outcome->variables.erase("optimizer.loss_scale"); // which changes nothing here, and only the latter changes it
  return compare(*expected, *actual, Agreement::Close);
}

} // namespace splitcast::differential
