#include "tests/differential/PassList.h"

#include "compiler/Pipelines.h"
#include "dialects/sbp/Sbp.h"
#include "passes/global/Passes.h"
#include "passes/local/Passes.h"
#include "passes/plan/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

#include "absl/strings/str_cat.h"

using namespace mlir;

namespace splitcast::differential {

namespace {

void registerOnce() {
  static const bool once = [] {
    registerTransformsPasses();
    registerGlobalPasses();
    registerLocalPasses();
    registerPlanPasses();
    return true;
  }();
  (void)once;
}

/// "a,b{x=1 y=2},c(d,e)" at its outermost commas.
std::vector<std::string> splitList(StringRef text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (char c : text) {
    depth += c == '(' || c == '{';
    depth -= c == ')' || c == '}';
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// The passes in an op's parentheses: "builtin.module(a,func.func(b,c))" is "a", "func.func(b)", "func.func(c)".
std::vector<std::string> splitPipeline(function_ref<void(OpPassManager &)> build) {
  registerOnce();
  OpPassManager manager(ModuleOp::getOperationName());
  build(manager);
  std::string text;
  llvm::raw_string_ostream os(text);
  manager.printAsTextualPipeline(os);
  os.flush();
  auto inside = [](StringRef list) { return list.substr(list.find('(') + 1).drop_back(); };
  std::vector<std::string> passes;
  for (const std::string &pass : splitList(inside(text))) {
    constexpr const char *kNested = "func.func(";
    if (!StringRef(pass).starts_with(kNested)) {
      passes.push_back(pass);
      continue;
    }
    for (const std::string &nested : splitList(inside(pass)))
      passes.push_back(kNested + nested + ")");
  }
  return passes;
}

class DiagnosticText {
public:
  explicit DiagnosticText(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          text += diagnostic.str() + "\n";
          for (Diagnostic &note : diagnostic.getNotes())
            text += "note: " + note.str() + "\n";
        }) {}

  absl::Status error(const std::string &what) const {
    return absl::InvalidArgumentError(absl::StrCat(what, ": ", text));
  }

private:
  std::string text;
  ScopedDiagnosticHandler handler;
};

} // namespace

std::string Configuration::text() const {
  return absl::StrCat(sbp::toString(zero().policy), ",axis=", axis,
                      microBatches > 1 ? absl::StrCat(" in ", microBatches, " micro-batches, ", sbp::toString(order),
                                                      ", ", sbp::toString(pipeline))
                                       : "",
                      reproducible ? ", reproducible" : "", ownPolicies ? "" : " (own policies dropped)");
}

sbp::ZeroOptions Configuration::zero() const {
  sbp::ZeroOptions options;
  options.axis = axis;
  options.accumulate = microBatches;
  options.pipeline = pipeline;
  options.accumulateOrder = order;
  options.reproducible = reproducible;
  options.policy.setRecompute(recompute).setUpdate(update);
  options.policy.setStage(stage).setBucketBytes(bucketBytes).setPrefetch(prefetch).setStrategy(strategy).setKeep(keep);
  return options;
}

void dropPolicies(ModuleOp module) {
  for (auto variable : module.getOps<sbp::VariableOp>())
    variable.removePolicyAttr();
  for (auto group : llvm::make_early_inc_range(module.getOps<sbp::GroupOp>()))
    group.erase();
}

std::vector<std::string> globalPasses(const Configuration &configuration) {
  return splitPipeline([&](OpPassManager &manager) { buildGlobalPipeline(manager, configuration.zero()); });
}

std::vector<std::string> localPasses(const Configuration &configuration) {
  std::vector<std::string> passes = splitPipeline([&](OpPassManager &manager) {
    LocalOptions options;
    options.prefetch = configuration.prefetch == 0 ? 0 : 1;
    buildLocalPipeline(manager, options);
  });
  // Small logits, too.
  const std::string padding = "nn-pad-classes{";
  int found = 0;
  for (std::string &pass : passes)
    if (const size_t at = pass.find(padding); at != std::string::npos) {
      pass.replace(at, pass.find('}', at) + 1 - at, padding + "least=0}");
      ++found;
    }
  if (found != 1)
    llvm::report_fatal_error("the local pipeline has no nn-pad-classes that says from how many elements on it pads");
  return passes;
}

std::vector<std::string> planPasses() {
  return splitPipeline([](OpPassManager &manager) {
    buildPlanPipeline(manager);
    manager.addPass(createShareGathersPass()); // a session's second step, once ranks have compared what they find
  });
}

std::unique_ptr<MLIRContext> createContext() {
  DialectRegistry registry;
  registerDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

absl::Status runPass(ModuleOp module, const std::string &pass) {
  registerOnce();
  DiagnosticText diagnostics(module.getContext());
  PassManager manager(module.getContext());
  if (failed(parsePassPipeline(pass, manager)))
    return diagnostics.error(absl::StrCat("'", pass, "' is no pass"));
  return failed(manager.run(module)) ? diagnostics.error(absl::StrCat("'", pass, "' failed")) : absl::OkStatus();
}

std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

/// Without the names of values, which a parser does not keep.
static std::string genericTextOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().printGenericOpForm());
  return text;
}

absl::StatusOr<OwningOpRef<ModuleOp>> reparse(ModuleOp module) {
  std::string text = textOf(module);
  DiagnosticText diagnostics(module.getContext());
  OwningOpRef<ModuleOp> parsed = parseSourceString<ModuleOp>(text, module.getContext());
  if (!parsed)
    return diagnostics.error("what is printed does not parse or verify");
  if (genericTextOf(*parsed) != genericTextOf(module))
    return absl::InvalidArgumentError(absl::StrCat("what is printed parses as something else:\n", textOf(*parsed)));
  return parsed;
}

absl::StatusOr<std::vector<OwningOpRef<ModuleOp>>> localizeAll(ModuleOp global) {
  DiagnosticText diagnostics(global.getContext());
  sbp::PlacementAttr placement = sbp::placementOf(global);
  if (!placement)
    return absl::InvalidArgumentError("the module has no placement");
  std::vector<OwningOpRef<ModuleOp>> modules;
  for (int64_t rank = 0; rank < placement.toAlgebra().numPositions(); ++rank) {
    FailureOr<OwningOpRef<ModuleOp>> local = localize(global, rank);
    if (failed(local))
      return diagnostics.error(absl::StrCat("'sbp-localize' failed for rank ", rank));
    modules.push_back(*std::move(local));
  }
  return modules;
}

} // namespace splitcast::differential
