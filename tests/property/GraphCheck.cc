#include "tests/property/GraphCheck.h"

#include "dialects/nn/Nn.h"
#include "tests/differential/EveryPass.h"
#include "tests/property/GraphGenerator.h"

#include "absl/strings/str_cat.h"
#include "llvm/Support/PrettyStackTrace.h"

using namespace mlir;

namespace splitcast::property {

namespace {

/// Sums are those of the gradients; updates of the first step are elementwise, so that Adam may stand for SGD.
absl::StatusOr<bool> isExact(GeneratedGraph &graph) {
  OwningOpRef<ModuleOp> module = cast<ModuleOp>((*graph.module)->clone());
  bool isAdam = false;
  bool usesUpdated = false;
  module->walk([&](nn::MinimizeOp op) {
    for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
      usesUpdated |= isa<sbp::ReadOp>(next);
    isAdam |= isa<nn::AdamAttr, nn::AdamWAttr>(op.getOptimizer());
    auto rate = FloatAttr::get(Float64Type::get(op.getContext()), 0.5);
    if (isAdam)
      op.setOptimizerAttr(nn::SgdAttr::get(op.getContext(), rate));
  });
  auto &calls = graph.experiment.calls;
  if (!graph.isOfIntegers || (isAdam && usesUpdated))
    return false;
  if (isAdam)
    calls.resize(1);
  absl::StatusOr<bool> exact = differential::isExactInF32(*module, graph.experiment);
  if (!exact.ok() || *exact)
    return exact;
  calls.resize(1); // fewer bits: try one step
  return differential::isExactInF32(*module, graph.experiment);
}

class GraphCheck {
public:
  GraphCheck(uint64_t seed, const GraphCheckOptions &options)
      : seed(seed), options(options), context(differential::createContext()), graph(generateGraph(seed, *context)) {}

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
    std::optional<differential::LevelOutcomes> first;
    for (const differential::Configuration &configuration : graph.configurations) {
      absl::StatusOr<differential::LevelOutcomes> outcomes =
          differential::checkEveryPass(**source, graph.experiment, configuration, optionsFor(!first));
      absl::Status status = outcomes.ok() && first ? compareWays(*first, *outcomes) : outcomes.status();
      if (!status.ok())
        return status;
      if (!first)
        first = *std::move(outcomes);
    }
    return absl::OkStatus();
  }

  differential::EveryPassOptions optionsFor(bool isFirst) {
    differential::EveryPassOptions every;
    every.isExact = result.isExact;
    every.runsPlan = options.runsPlan;
    every.checksGradients = isFirst; // before what the configuration says
    every.cleansBetween = !isFirst && seed % 4 == 0;
    every.objectCacheDir = options.objectCacheDir;
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
  std::unique_ptr<MLIRContext> context;
  GeneratedGraph graph;
  GraphCheckResult result;
};

} // namespace

GraphCheckResult checkGraph(uint64_t seed, const GraphCheckOptions &options) {
  llvm::EnablePrettyStackTrace(); // should a pass crash
  llvm::PrettyStackTraceFormat crash("checking the graph of seed %llu", static_cast<unsigned long long>(seed));
  GraphCheck check(seed, options);
  GraphCheckResult result = check.run();
  if (!result.status.ok())
    result.status = absl::Status(result.status.code(), absl::StrCat("seed ", seed, ": ", result.status.message(),
                                                                    "\n// the graph\n", check.text()));
  return result;
}

absl::StatusOr<std::set<std::string>> opsOf(uint64_t seed) {
  std::unique_ptr<MLIRContext> context = differential::createContext();
  GeneratedGraph graph = generateGraph(seed, *context);
  const differential::Configuration &configuration = graph.configurations.front();
  std::set<std::string> ops;
  auto runAll = [&](ModuleOp module, const std::vector<std::string> &passes) {
    absl::Status status;
    for (const std::string &pass : passes) {
      module.walk([&](Operation *op) { ops.insert(op->getName().getStringRef().str()); });
      if (status.ok())
        status = differential::runPass(module, pass);
    }
    module.walk([&](Operation *op) { ops.insert(op->getName().getStringRef().str()); });
    return status;
  };
  absl::Status status = runAll(*graph.module, differential::globalPasses(configuration));
  if (!status.ok())
    return status;
  absl::StatusOr<std::vector<OwningOpRef<ModuleOp>>> local = differential::localizeAll(*graph.module);
  if (!local.ok())
    return local.status();
  status = runAll(*local->front(), differential::localPasses(configuration));
  if (status.ok())
    status = runAll(*local->front(), differential::planPasses());
  if (!status.ok())
    return status;
  return ops;
}

} // namespace splitcast::property
