#include "tests/differential/EveryPass.h"

#include "dialects/exec/Exec.h"
#include "dialects/nn/Nn.h"
#include "passes/local/Passes.h"
#include "tests/differential/ExactParts.h"
#include "tests/differential/GradientCheck.h"

#include "absl/strings/str_cat.h"

using namespace mlir;

namespace splitcast::differential {

namespace {

using Modules = std::vector<OwningOpRef<ModuleOp>>;

std::vector<ModuleOp> borrowed(const Modules &modules) {
  std::vector<ModuleOp> result;
  for (const OwningOpRef<ModuleOp> &module : modules)
    result.push_back(const_cast<OwningOpRef<ModuleOp> &>(module).get());
  return result;
}

template <typename OpT> bool holds(ModuleOp module) {
  return module.walk([](OpT) { return WalkResult::interrupt(); }).wasInterrupted();
}

template <typename OpT> int64_t count(ModuleOp module) {
  int64_t ops = 0;
  module.walk([&](OpT) { ++ops; });
  return ops;
}

bool canRun(ModuleOp module) { return !holds<nn::MinimizeOp>(module) && !holds<nn::UpdateOp>(module); }

class EveryPassCheck {
public:
  EveryPassCheck(ModuleOp source, const Experiment &experiment, const Configuration &configuration,
                 const EveryPassOptions &options)
      : source(source), experiment(experiment), configuration(configuration), options(options) {}

  absl::StatusOr<LevelOutcomes> run() {
    for (const auto &level :
         {&EveryPassCheck::runGlobalLevel, &EveryPassCheck::runLocalLevel, &EveryPassCheck::runPlanLevel})
      if (absl::Status status = (this->*level)(); !status.ok())
        return located(status);
    dropCarried();
    return std::move(outcomes);
  }

private:
  /// What is carried has been compared; other ways to compile the graph carry other things by the same names.
  void dropCarried() {
    for (auto variable : modules.front()->getOps<sbp::VariableOp>()) {
      if (!variable.getCarried())
        continue;
      const std::string name = variable.getSymName().str();
      outcomes.global.variables.erase(name);
      outcomes.local.variables.erase(name);
      if (outcomes.plan)
        outcomes.plan->variables.erase(name);
    }
  }

  //===--------------------------------------------------------------------===//
  // Global
  //===--------------------------------------------------------------------===//

  absl::Status runGlobalLevel() {
    modules.emplace_back(cast<ModuleOp>(source->clone()));
    if (canRun(source))
      if (absl::Status status = setBaseline(source); !status.ok())
        return status;
    for (const std::string &name : withCleaning(globalPasses(configuration))) {
      OwningOpRef<ModuleOp> before = cast<ModuleOp>((*modules.front())->clone());
      if (absl::Status status = runOnAll(name); !status.ok())
        return status;
      if (absl::Status status = checkGlobal(*before, *modules.front()); !status.ok())
        return status;
    }
    return absl::OkStatus();
  }

  absl::Status setBaseline(ModuleOp module) {
    absl::StatusOr<Outcome> outcome = runGlobal(module, experiment);
    if (!outcome.ok())
      return outcome.status();
    outcomes.global = *std::move(outcome);
    baseline = cast<ModuleOp>(module->clone());
    return absl::OkStatus();
  }

  absl::Status checkGlobal(ModuleOp before, ModuleOp after) {
    absl::StatusOr<OwningOpRef<ModuleOp>> parsed = reparse(after);
    if (!parsed.ok())
      return parsed.status();
    if (options.checksGradients && holds<nn::MinimizeOp>(before) && !holds<nn::MinimizeOp>(after))
      if (absl::Status status = checkGradients(before, **parsed, experiment); !status.ok())
        return status;
    if (options.checksUpdates && !holds<nn::UpdateOp>(before) && holds<nn::UpdateOp>(after))
      withUpdates = cast<ModuleOp>((*parsed)->clone());
    if (options.checksUpdates && holds<nn::UpdateOp>(before) && !holds<nn::UpdateOp>(after))
      if (absl::Status status = checkUpdates(withUpdates ? *withUpdates : before, **parsed, experiment); !status.ok())
        return status;
    if (!canRun(after))
      return absl::OkStatus();
    if (!baseline)
      return setBaseline(**parsed);
    absl::StatusOr<Outcome> outcome = runGlobal(**parsed, experiment);
    if (!outcome.ok())
      return outcome.status();
    const bool isAddedUpOtherwise = count<sbp::ScheduleOp>(before) < count<sbp::ScheduleOp>(after) ||
                                    (!holds<nn::ExactSumOp>(before) && holds<nn::ExactSumOp>(after)) ||
                                    (!holds<nn::TakeOp>(before) && holds<nn::TakeOp>(after));
    if (!isAddedUpOtherwise)
      return compare(outcomes.global, *outcome, Agreement::Bits);
    if (carriedParts.empty()) // later, buckets stand between what is carried and its sum
      carriedParts = carriedPartsOf(*parsed.value());
    // Micro-batches are added up in their order, which is another than that of the batch, exact sums are rounded only
    // once, and losses of divided classes sum parts first; from here on it stays.
    absl::Status status = compareWithGlobal(*outcome);
    wide.reset();
    return status.ok() ? setBaseline(**parsed) : status;
  }

  //===--------------------------------------------------------------------===//
  // Local
  //===--------------------------------------------------------------------===//

  absl::Status runLocalLevel() {
    pass = "sbp-localize";
    absl::StatusOr<Modules> localized = localizeAll(*modules.front());
    if (!localized.ok())
      return localized.status();
    modules = *std::move(localized);
    if (options.afterPass)
      options.afterPass(pass, borrowed(modules));
    absl::StatusOr<Outcome> first = runLocalModules();
    if (!first.ok())
      return first.status();
    outcomes.local = *std::move(first);
    if (absl::Status status = compareWithGlobal(outcomes.local); !status.ok())
      return status;
    std::vector<std::string> passes = withCleaning(localPasses(configuration));
    if (options.cleansBetween) // after 'sbp-localize'
      passes.insert(passes.begin(), {"cse", "canonicalize"});
    for (const std::string &name : passes) {
      const int64_t kept = countKeptStatistics();
      absl::Status status = runOnAll(name);
      if (!status.ok())
        return status;
      absl::StatusOr<Outcome> outcome = runLocalModules();
      if (!outcome.ok())
        return outcome.status();
      // A gradient of attention that takes what forward kept adds up other numbers.
      const bool isAddedUpOtherwise = countKeptStatistics() > kept;
      status = isAddedUpOtherwise ? compareWithGlobal(*outcome) : compare(outcomes.local, *outcome, Agreement::Bits);
      if (!status.ok())
        return status;
      outcomes.local = *std::move(outcome);
    }
    return absl::OkStatus();
  }

  int64_t countKeptStatistics() const {
    int64_t kept = 0;
    for (ModuleOp module : borrowed(modules))
      module.walk([&](nn::AttentionGradOp gradient) { kept += gradient.getStatistics() ? 1 : 0; });
    return kept;
  }

  absl::StatusOr<Outcome> runLocalModules() {
    Modules parsed;
    for (ModuleOp module : borrowed(modules)) {
      absl::StatusOr<OwningOpRef<ModuleOp>> again = reparse(module);
      if (!again.ok())
        return again.status();
      parsed.push_back(*std::move(again));
    }
    std::string message;
    ScopedDiagnosticHandler handler(source.getContext(), [&](Diagnostic &d) { message += d.str(); });
    if (failed(verifyCollectiveSequence(borrowed(parsed))))
      return absl::FailedPreconditionError(message);
    return runLocal(borrowed(parsed), experiment);
  }

  absl::Status compareWithGlobal(const Outcome &found) {
    const Outcome expected = joinParts(outcomes.global, carriedParts), outcome = joinParts(found, carriedParts);
    if (options.isExact)
      return compare(expected, outcome, Agreement::Values);
    absl::Status status = compare(expected, outcome, Agreement::Close);
    if (!status.ok() && compareWithWide(outcome).ok())
      return absl::OkStatus();
    if (status.ok() || options.tolerance <= kTolerance)
      return status;
    outcomes.isRoundedApart = true;
    return compare(expected, outcome, Agreement::Close, options.tolerance);
  }

  /// The global level rounds, too, where it adds thousands of nearly equal numbers one by one. In f64 it does not, and
  /// what is as near to that is right.
  absl::Status compareWithWide(const Outcome &outcome) {
    if (!wide) {
      absl::StatusOr<Outcome> inF64 = runGlobal(*baseline, experiment, reference::Precision::F64);
      if (!inF64.ok())
        return inF64.status();
      wide = *std::move(inF64);
    }
    return compare(joinParts(*wide, carriedParts), outcome, Agreement::Close);
  }

  //===--------------------------------------------------------------------===//
  // Plan
  //===--------------------------------------------------------------------===//

  absl::Status runPlanLevel() {
    if (!options.runsPlan)
      return absl::OkStatus();
    for (const std::string &name : planPasses()) {
      if (absl::Status status = runOnAll(name); !status.ok())
        return status;
      if (outcomes.plan && !hasSharedSpace())
        continue; // it changed nothing
      absl::StatusOr<Outcome> outcome = runPlans(borrowed(modules), experiment, options.objectCacheDir);
      if (!outcome.ok())
        return outcome.status();
      outcomes.plan = *std::move(outcome);
      if (absl::Status status = compareWithGlobal(*outcomes.plan); !status.ok())
        return status;
    }
    return absl::OkStatus();
  }

  bool hasSharedSpace() {
    return llvm::any_of(borrowed(modules), [](ModuleOp module) {
      return llvm::any_of(module.getOps<exec::SpaceOp>(), [](exec::SpaceOp space) { return space.getGroup(); });
    });
  }

  //===--------------------------------------------------------------------===//
  // Passes
  //===--------------------------------------------------------------------===//

  /// Not before there is a backward: where two ops are merged, their gradients are added before they are
  /// differentiated, which is another sum.
  std::vector<std::string> withCleaning(const std::vector<std::string> &passes) const {
    if (!options.cleansBetween)
      return passes;
    std::vector<std::string> result;
    for (const std::string &name : passes) {
      result.push_back(name);
      if (!StringRef(name).starts_with("nn-mixed-precision"))
        result.insert(result.end(), {"cse", "canonicalize"});
    }
    return result;
  }

  absl::Status runOnAll(const std::string &name) {
    pass = name;
    for (ModuleOp module : borrowed(modules))
      if (absl::Status status = runPass(module, name); !status.ok())
        return status;
    if (options.afterPass)
      options.afterPass(name, borrowed(modules));
    return absl::OkStatus();
  }

  absl::Status located(const absl::Status &status) const {
    std::string text = absl::StrCat("after '", pass, "' (", configuration.text(), "): ", status.message(), "\n");
    for (auto [rank, module] : llvm::enumerate(borrowed(modules)))
      absl::StrAppend(&text, "// what it made, module ", rank, "\n", textOf(module), "\n");
    return absl::Status(status.code(), text);
  }

  ModuleOp source;
  const Experiment &experiment;
  const Configuration &configuration;
  const EveryPassOptions &options;
  Modules modules; ///< one global, then one per rank
  std::string pass = "nothing";
  OwningOpRef<ModuleOp> baseline;    ///< the first global module that could run
  OwningOpRef<ModuleOp> withUpdates; ///< the first that had nn.update
  LevelOutcomes outcomes;
  std::vector<CarriedParts> carriedParts; ///< of the baseline
  std::optional<Outcome> wide;            ///< of the baseline, in f64
};

} // namespace

absl::StatusOr<LevelOutcomes> checkEveryPass(ModuleOp source, const Experiment &experiment,
                                             const Configuration &configuration, const EveryPassOptions &options) {
  return EveryPassCheck(source, experiment, configuration, options).run();
}

static absl::StatusOr<bool> agreeInF32AndF64(ModuleOp source, const Experiment &experiment, Agreement agreement,
                                             double tolerance) {
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(source->clone());
  for (const char *name : {"nn-differentiate", "nn-expand-optimizers"})
    if (absl::Status status = runPass(*module, name); !status.ok())
      return status;
  absl::StatusOr<Outcome> rounded = runGlobal(*module, experiment, reference::Precision::F32);
  absl::StatusOr<Outcome> wide = runGlobal(*module, experiment, reference::Precision::F64);
  if (!rounded.ok())
    return rounded.status();
  return wide.ok() && compare(*wide, *rounded, agreement, tolerance).ok();
}

absl::StatusOr<bool> isExactInF32(ModuleOp source, const Experiment &experiment) {
  return agreeInF32AndF64(source, experiment, Agreement::Values, 0);
}

absl::StatusOr<bool> isNearInF32(ModuleOp source, const Experiment &experiment) {
  return agreeInF32AndF64(source, experiment, Agreement::Close, kTolerance / 4);
}

} // namespace splitcast::differential
