#include "tests/property/GraphCheck.h"

#include "dialects/ccl/Ccl.h"
#include "dialects/nn/Nn.h"
#include "tests/differential/EveryPass.h"
#include "tests/differential/OptimizerAs.h"
#include "tests/property/GraphGenerator.h"
#include "tests/property/SessionTurns.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "llvm/Support/PrettyStackTrace.h"

using namespace mlir;

namespace splitcast::property {

namespace {

/// The calls before the second that updates by a gradient.
differential::Experiment upToSecondStep(ModuleOp module, differential::Experiment experiment) {
  auto minimizes = [&](const differential::Call &call) {
    auto updates = [&](StringRef function) {
      auto minimized = module.lookupSymbol<func::FuncOp>(function).getOps<nn::MinimizeOp>();
      return minimized.begin() != minimized.end();
    };
    auto schedule = module.lookupSymbol<sbp::ScheduleOp>(call.function);
    return schedule ? llvm::any_of(schedule.getBody().front().getOps<sbp::RunOp>(),
                                   [&](sbp::RunOp run) { return updates(run.getFunction()); })
                    : updates(call.function);
  };
  auto &calls = experiment.calls;
  auto first = llvm::find_if(calls, minimizes);
  if (first != calls.end())
    calls.erase(std::find_if(std::next(first), calls.end(), minimizes), calls.end());
  return experiment;
}

/// What it updates by integers are numbers of few bits: rates, and what gradients are clipped to, are powers of two.
bool isExactlyLinear(nn::MinimizeOp op) {
  using differential::optimizerAs;
  const Attribute optimizer = op.getOptimizer();
  return !op.getSchedule() && !op.getClipNormAttr() &&
         (optimizerAs<Sgd>(optimizer) || optimizerAs<Momentum>(optimizer) || optimizerAs<Nesterov>(optimizer));
}

/// Sums are those of the gradients; updates of the first step are elementwise, so that SGD may stand for others.
absl::StatusOr<bool> isExact(GeneratedGraph &graph) {
  OwningOpRef<ModuleOp> module = cast<ModuleOp>((*graph.module)->clone());
  bool isRounded = false; // by what updates compute
  bool usesUpdated = false;
  module->walk([&](nn::MinimizeOp op) {
    for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
      usesUpdated |= isa<sbp::ReadOp>(next);
    isRounded |= !isExactlyLinear(op);
    if (isRounded)
      op.setOptimizerAttr(nn::OptimizerAttr::get(
          op.getContext(), Sgd{cast<nn::OptimizerAttr>(op.getOptimizer()).model()->learningRate()}));
    op.removeScheduleAttr();
    op.removeClipNormAttr();
  });
  if (!graph.isOfIntegers || (isRounded && usesUpdated))
    return false;
  differential::Experiment oneStep = upToSecondStep(*module, graph.experiment);
  if (isRounded) // what it updates is not exact for those who read it
    oneStep.calls.resize(1);
  absl::StatusOr<bool> exact = differential::isExactInF32(*module, isRounded ? oneStep : graph.experiment);
  if (!isRounded && exact.ok() && !*exact) // fewer bits: try one step
    exact = differential::isExactInF32(*module, oneStep);
  else if (!isRounded)
    return exact;
  if (exact.ok() && *exact)
    graph.experiment = std::move(oneStep);
  return exact;
}

/// Runs what needs nothing of the wait before it.
void runBefore(ccl::WaitOp wait) {
  auto isThere = [&](Value operand) {
    return !operand.getDefiningOp() || operand.getDefiningOp()->isBeforeInBlock(wait);
  };
  for (Operation *next = wait->getNextNode(), *op = next; op; op = next) {
    next = op->getNextNode();
    if (isMemoryEffectFree(op) && !op->hasTrait<OpTrait::IsTerminator>() && llvm::all_of(op->getOperands(), isThere))
      op->moveBefore(wait);
  }
}

/// Waits for each collective just before its result is used, and runs all else before, as no pass of ours does: so that
/// kernels run beside collectives of all kinds, and find out whether anything of these is given away early. Who
/// receives nothing waits where it did: nothing that uses a result says how long what it sends stays as it is.
void waitLate(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    for (auto wait : llvm::to_vector(function.getOps<ccl::WaitOp>())) {
      if (cast<RankedTensorType>(wait.getResult().getType()).getNumElements() == 0)
        continue;
      Operation *first = function.getBody().front().getTerminator();
      for (Operation *user : wait->getUsers())
        first = user->isBeforeInBlock(first) ? user : first;
      wait->moveBefore(first);
      runBefore(wait);
    }
  }
}

class GraphCheck {
public:
  GraphCheck(uint64_t seed, const GraphCheckOptions &options, GeneratedGraph graph)
      : seed(seed), options(options), graph(std::move(graph)) {}

  GraphCheckResult run() {
    result.status = check();
    return std::move(result);
  }
  std::string text() const { return differential::textOf(const_cast<OwningOpRef<ModuleOp> &>(graph.module).get()); }

private:
  absl::Status check() {
    absl::StatusOr<OwningOpRef<ModuleOp>> source = differential::reparse(*graph.module);
    if (!source.ok())
      return source.status();
    absl::StatusOr<bool> exact = isExact(graph);
    if (!exact.ok())
      return exact.status();
    result.isExact = *exact;
    for (const Refusal &refusal : graph.refusals)
      if (absl::Status status = checkRefusal(refusal); !status.ok())
        return status;
    std::optional<differential::LevelOutcomes> first;
    for (const differential::Configuration &configuration : graph.configurations) {
      if (!configuration.ownPolicies)
        differential::dropPolicies(**source);
      absl::StatusOr<differential::LevelOutcomes> outcomes =
          differential::checkEveryPass(**source, graph.experiment, configuration, optionsFor(!first));
      absl::Status status = outcomes.ok() && first ? compareWays(*first, *outcomes) : outcomes.status();
      if (!status.ok())
        return status;
      result.isRoundedApart |= outcomes->isRoundedApart;
      if (!first)
        first = *std::move(outcomes);
    }
    if (absl::Status status = checkExpected(first->global); !status.ok())
      return status;
    return graph.sessions ? checkSessionTurns(*graph.sessions, options.objectCacheDir) : absl::OkStatus();
  }

  /// All levels agree with this outcome, and all ways to compile with each other.
  absl::Status checkExpected(const differential::Outcome &outcome) const {
    for (const Expectation &expectation : graph.expected)
      if (absl::Status status =
              differential::compare({{{expectation.value}}, {}}, {{{outcome.results.front()[expectation.result]}}, {}},
                                    differential::Agreement::Close);
          !status.ok())
        return absl::DataLossError(absl::StrCat("all levels agree, but not with what is expected of result ",
                                                expectation.result, ": ", status.message()));
    return absl::OkStatus();
  }

  absl::Status checkRefusal(const Refusal &refusal) {
    OwningOpRef<ModuleOp> module = cast<ModuleOp>((*const_cast<OwningOpRef<ModuleOp> &>(refusal.module))->clone());
    absl::Status status;
    for (const std::string &pass : differential::globalPasses(graph.configurations.front()))
      if (status.ok())
        status = differential::runPass(*module, pass);
    if (!status.ok() && absl::StrContains(status.message(), refusal.says))
      return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("the global level takes, or refuses in words that lack '", refusal.says, "' (", status.message(),
                     "):\n", differential::textOf(*const_cast<OwningOpRef<ModuleOp> &>(refusal.module))));
  }

  differential::EveryPassOptions optionsFor(bool isFirst) {
    differential::EveryPassOptions every;
    every.isExact = result.isExact;
    every.runsPlan = options.runsPlan;
    every.tolerance = graph.tolerance();
    // Before what the configuration says. Quotients know one step, no variable that is assigned by hand, and no
    // gradient that is stopped.
    every.checksGradients = isFirst && graph.isPlainModel();
    every.checksUpdates = isFirst;
    every.cleansBetween = !isFirst && seed % 4 == 0;
    every.objectCacheDir = options.objectCacheDir;
    if (seed % 2 == 1) // of the fast suite's, every third of which is run as a plan, too
      every.afterPass = [](const std::string &pass, ArrayRef<ModuleOp> modules) {
        if (pass == "ccl-verify-local")
          llvm::for_each(modules, waitLate);
      };
    return every;
  }

  absl::Status compareWays(const differential::LevelOutcomes &a, const differential::LevelOutcomes &b) const {
    auto located = [&](const char *level, const absl::Status &status) {
      return status.ok() ? status
                         : absl::DataLossError(
                               absl::StrCat("on the ", level, " level, '", graph.configurations[0].text(), "' and '",
                                            graph.configurations[1].text(), "' differ: ", status.message()));
    };
    absl::Status status = located("local", differential::compare(a.local, b.local, differential::Agreement::Bits));
    if (status.ok() && a.plan && b.plan)
      status = located("plan", differential::compare(*a.plan, *b.plan, differential::Agreement::Bits));
    return status;
  }

  uint64_t seed;
  const GraphCheckOptions &options;
  GeneratedGraph graph;
  GraphCheckResult result;
};

GraphCheckResult checkOne(uint64_t seed, const GraphCheckOptions &options, GeneratedGraph graph) {
  GraphCheck check(seed, options, std::move(graph));
  GraphCheckResult result = check.run();
  if (!result.status.ok())
    result.status = absl::Status(result.status.code(), absl::StrCat("seed ", seed, ": ", result.status.message(),
                                                                    "\n// the graph\n", check.text()));
  return result;
}

} // namespace

GraphCheckResult checkGraph(uint64_t seed, const GraphCheckOptions &options) {
  llvm::EnablePrettyStackTrace(); // should a pass crash
  llvm::PrettyStackTraceFormat crash("checking the graph of seed %llu", static_cast<unsigned long long>(seed));
  const std::unique_ptr<MLIRContext> context = differential::createContext();
  GraphCheckResult result = checkOne(seed, options, generateGraph(seed, *context));
  if (std::optional<GeneratedGraph> beside; result.status.ok() && (beside = generateBeside(seed, *context)))
    result.status = checkOne(seed, options, *std::move(beside)).status;
  return result;
}

namespace {

class OpCounter {
public:
  explicit OpCounter(GraphOps &ops) : ops(ops) {}

  /// Ops before and after each pass.
  absl::Status run(ModuleOp module, const std::vector<std::string> &passes) {
    note(module);
    for (const std::string &pass : passes) {
      if (absl::Status status = differential::runPass(module, pass); !status.ok())
        return status;
      note(module);
    }
    return absl::OkStatus();
  }

private:
  void note(ModuleOp module) {
    module.walk([&](Operation *op) {
      const std::string name = op->getName().getStringRef().str();
      ops.all.insert(name);
      for (Type type :
           llvm::concat<Type>(llvm::to_vector(op->getOperandTypes()), llvm::to_vector(op->getResultTypes())))
        if (auto tensor = dyn_cast<RankedTensorType>(type))
          note(name, tensor);
    });
  }

  void note(const std::string &name, RankedTensorType type) {
    const Type element = type.getElementType();
    if (sbp::NdAttr signature = sbp::signatureOf(type)) { // at the global level
      if ((element.isBF16() || element.isF16()) && isSplit(signature))
        ops.ofSplitHalves.insert(name);
      return;
    }
    if (element.isBF16())
      ops.ofBF16.insert(name);
    if (element.isF16())
      ops.ofF16.insert(name);
    if (type.getRank() >= 2 && type.getDimSize(0) >= 3 && llvm::all_equal(type.getShape()))
      (type.getRank() == 2 ? ops.ofSquares : ops.ofCubes).insert(name);
  }

  static bool isSplit(sbp::NdAttr signature) {
    const sbp::Placement placement = signature.getPlacement().toAlgebra();
    return llvm::any_of(llvm::zip(signature.toAlgebra(), placement.axes),
                        [](auto entry) { return !std::get<0>(entry).isBroadcast() && std::get<1>(entry).size > 1; });
  }

  GraphOps &ops;
};

} // namespace

absl::StatusOr<GraphOps> opsOf(uint64_t seed) {
  std::unique_ptr<MLIRContext> context = differential::createContext();
  GeneratedGraph graph = generateGraph(seed, *context);
  const differential::Configuration &configuration = graph.configurations.front();
  GraphOps ops;
  ops.features = graph.features;
  if (const std::optional<GeneratedGraph> beside = generateBeside(seed, *context))
    ops.features.insert(beside->features.begin(), beside->features.end());
  OpCounter counter(ops);
  if (absl::Status status = counter.run(*graph.module, differential::globalPasses(configuration)); !status.ok())
    return status;
  absl::StatusOr<std::vector<OwningOpRef<ModuleOp>>> local = differential::localizeAll(*graph.module);
  if (!local.ok())
    return local.status();
  std::vector<std::string> passes = differential::localPasses(configuration);
  llvm::append_range(passes, differential::planPasses());
  if (absl::Status status = counter.run(*local->front(), passes); !status.ok())
    return status;
  return ops;
}

} // namespace splitcast::property
