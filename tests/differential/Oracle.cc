// Comparison, schedules, and the two levels that the reference runs. Plans: PlanRun.cc.
#include "tests/differential/Oracle.h"

#include "tests/differential/PlanRun.h"
#include "tests/differential/Schedules.h"
#include "tests/differential/Signatures.h"
#include "tests/reference/GlobalInterpreter.h"
#include "tests/reference/Layout.h"
#include "tests/reference/Simulator.h"

#include "absl/strings/str_cat.h"

#include <cmath>

using namespace mlir;

namespace splitcast::differential {

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

namespace {

double largestMagnitude(const Tensor &tensor) {
  double largest = 1.0;
  for (double element : tensor.floats)
    if (std::isfinite(element))
      largest = std::max(largest, std::abs(element));
  return largest;
}

bool agree(const Tensor &expected, const Tensor &actual, int64_t i, Agreement agreement, double most) {
  if (agreement == Agreement::Bits || !expected.isFloat())
    return reference::sameBits(expected, i, actual, i);
  double a = expected.floats[i], b = actual.floats[i];
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b);
  return a == b || (agreement == Agreement::Close && std::abs(a - b) <= most);
}

absl::Status compareTensors(const Tensor &expected, const Tensor &actual, Agreement agreement, double tolerance,
                            const std::string &what) {
  if (expected.shape != actual.shape || expected.elementType != actual.elementType)
    return absl::DataLossError(absl::StrCat(what, " has another shape or type"));
  double most = tolerance * largestMagnitude(expected);
  for (int64_t i = 0; i < expected.numElements(); ++i)
    if (!agree(expected, actual, i, agreement, most))
      return absl::DataLossError(absl::StrCat(what, ": element ", i, " is ", reference::elementText(actual, i),
                                              ", expected ", reference::elementText(expected, i)));
  return absl::OkStatus();
}

} // namespace

absl::Status compare(const Outcome &expected, const Outcome &actual, Agreement agreement, double tolerance) {
  if (expected.results.size() != actual.results.size())
    return absl::DataLossError("another number of calls");
  for (size_t call = 0; call < expected.results.size(); ++call) {
    if (expected.results[call].size() != actual.results[call].size())
      return absl::DataLossError(absl::StrCat("call ", call, " has another number of results"));
    for (size_t i = 0; i < expected.results[call].size(); ++i)
      if (absl::Status status = compareTensors(expected.results[call][i], actual.results[call][i], agreement, tolerance,
                                               absl::StrCat("result ", i, " of call ", call));
          !status.ok())
        return status;
  }
  for (const auto &[name, tensor] : expected.variables)
    if (auto other = actual.variables.find(name); other != actual.variables.end())
      if (absl::Status status =
              compareTensors(tensor, other->second, agreement, tolerance, absl::StrCat("variable @", name));
          !status.ok())
        return status;
  return absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// Global
//===----------------------------------------------------------------------===//

namespace {

/// Zeros where the experiment must say: an initializer that is no constant.
absl::Status initialize(sbp::VariableOp variable, Tensor &tensor) {
  bool isConstant = isa_and_nonnull<sbp::ConstantInitAttr>(variable.getInitAttr());
  return isConstant ? reference::initializeConstants(variable, tensor) : absl::OkStatus();
}

} // namespace

namespace {

absl::StatusOr<Outcome> runGlobalFunctions(ModuleOp module, const Experiment &experiment,
                                           reference::Precision precision) {
  reference::InterpreterOptions options;
  options.precision = precision;
  options.initializer = initialize;
  absl::StatusOr<reference::GlobalInterpreter> interpreter = reference::GlobalInterpreter::create(module, options);
  if (!interpreter.ok())
    return interpreter.status();
  for (const auto &[name, tensor] : experiment.initial)
    interpreter->variables()[name] = tensor;
  Outcome outcome;
  for (const Call &call : experiment.calls) {
    absl::StatusOr<std::vector<Tensor>> results = interpreter->run(call.function, call.inputs);
    if (!results.ok())
      return results.status();
    outcome.results.push_back(*std::move(results));
  }
  outcome.variables = interpreter->variables();
  return outcome;
}

/// The experiment, by what runs the calls of functions.
template <typename Runner>
absl::StatusOr<Outcome> runScheduled(ModuleOp module, const Experiment &experiment, Runner run) {
  absl::StatusOr<ScheduledCalls> calls = ScheduledCalls::of(module, experiment);
  if (!calls.ok())
    return calls.status();
  absl::StatusOr<Outcome> outcome = run(calls->experiment);
  if (!outcome.ok())
    return outcome.status();
  absl::StatusOr<std::vector<std::vector<Tensor>>> results = calls->join(std::move(outcome->results));
  if (!results.ok())
    return results.status();
  outcome->results = *std::move(results);
  return outcome;
}

} // namespace

absl::StatusOr<Outcome> runGlobal(ModuleOp module, const Experiment &experiment, reference::Precision precision) {
  return runScheduled(module, experiment,
                      [&](const Experiment &calls) { return runGlobalFunctions(module, calls, precision); });
}

//===----------------------------------------------------------------------===//
// Local
//===----------------------------------------------------------------------===//

namespace {

/// The pieces of a call's inputs, by rank.
absl::StatusOr<std::vector<std::vector<Tensor>>> cutInputs(const FunctionSignature &signature, const Call &call,
                                                           size_t ranks) {
  std::vector<std::vector<Tensor>> inputs(ranks);
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    absl::StatusOr<std::vector<Tensor>> pieces = cutToRanks(call.inputs[i], signature.inputs[i]);
    if (!pieces.ok())
      return pieces.status();
    for (size_t rank = 0; rank < ranks; ++rank)
      inputs[rank].push_back(std::move((*pieces)[rank]));
  }
  return inputs;
}

absl::StatusOr<std::vector<Tensor>> assembleResults(const FunctionSignature &signature,
                                                    const std::vector<std::vector<Tensor>> &byRank) {
  std::vector<Tensor> results;
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    std::vector<Tensor> pieces;
    for (const std::vector<Tensor> &rank : byRank)
      pieces.push_back(rank[i]);
    absl::StatusOr<Tensor> whole = assembleFromRanks(std::move(pieces), signature.outputs[i]);
    if (!whole.ok())
      return absl::Status(whole.status().code(), absl::StrCat("result ", i, ": ", whole.status().message()));
    results.push_back(*std::move(whole));
  }
  return results;
}

absl::StatusOr<std::vector<Tensor>> runCall(reference::Simulator &simulator, ModuleOp module, const Call &call) {
  absl::StatusOr<FunctionSignature> signature = signatureOfLocal(module, call.function);
  if (!signature.ok())
    return signature.status();
  absl::StatusOr<std::vector<std::vector<Tensor>>> inputs = cutInputs(*signature, call, simulator.numRanks());
  if (!inputs.ok())
    return inputs.status();
  absl::StatusOr<std::vector<std::vector<Tensor>>> results = simulator.run(call.function, *std::move(inputs));
  if (!results.ok())
    return results.status();
  return assembleResults(*signature, *results);
}

absl::StatusOr<Outcome> runLocalFunctions(ArrayRef<ModuleOp> modules, const Experiment &experiment) {
  absl::StatusOr<reference::Simulator> simulator = reference::Simulator::create(modules.vec());
  if (!simulator.ok())
    return simulator.status();
  absl::StatusOr<Variables> initial =
      reference::initialVariables(modules.front(), initialize, reference::Precision::F32);
  if (!initial.ok())
    return initial.status();
  for (const auto &[name, tensor] : experiment.initial)
    (*initial)[name] = tensor;
  if (absl::Status status = simulator->setVariables(*initial); !status.ok())
    return status;
  Outcome outcome;
  for (const Call &call : experiment.calls) {
    absl::StatusOr<std::vector<Tensor>> results = runCall(*simulator, modules.front(), call);
    if (!results.ok())
      return results.status();
    outcome.results.push_back(*std::move(results));
    if (absl::Status status = simulator->checkPadding(); !status.ok())
      return status;
  }
  absl::StatusOr<Variables> variables = simulator->getVariables();
  if (!variables.ok())
    return variables.status();
  outcome.variables = *std::move(variables);
  return outcome;
}

} // namespace

absl::StatusOr<Outcome> runLocal(ArrayRef<ModuleOp> modules, const Experiment &experiment) {
  return runScheduled(modules.front(), experiment,
                      [&](const Experiment &calls) { return runLocalFunctions(modules, calls); });
}

absl::StatusOr<Outcome> runPlans(ArrayRef<ModuleOp> modules, const Experiment &experiment,
                                 const std::string &objectCacheDir) {
  return runScheduled(modules.front(), experiment,
                      [&](const Experiment &calls) { return runPlanFunctions(modules, calls, objectCacheDir); });
}

} // namespace splitcast::differential
