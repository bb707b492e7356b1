#include "compiler/Compile.h"

#include "compiler/Pipelines.h"
#include "dialects/sbp/Places.h"
#include "passes/local/Passes.h"
#include "passes/plan/Passes.h"

#include "absl/strings/str_cat.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace splitcast {

namespace {

/// While it exists, collects diagnostics as the text that a tool would print.
class DiagnosticText {
public:
  explicit DiagnosticText(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          llvm::raw_string_ostream os(text);
          os << placeOf(diagnostic.getLocation()) << diagnostic;
          for (Diagnostic &note : diagnostic.getNotes())
            os << "\n  " << placeOf(note.getLocation()) << "note: " << note;
          os << "\n";
        }) {}

  absl::Status error(const std::string &what) const {
    std::string message = text;
    while (!message.empty() && message.back() == '\n')
      message.pop_back();
    return absl::InvalidArgumentError(absl::StrCat(what, ":\n", message));
  }

private:
  std::string text;
  ScopedDiagnosticHandler handler;
};

absl::Status runPipeline(ModuleOp module, const std::string &what, const std::string &reproducer,
                         function_ref<void(OpPassManager &)> build) {
  DiagnosticText diagnostics(module.getContext());
  PassManager manager(module.getContext());
  if (!reproducer.empty())
    manager.enableCrashReproducerGeneration(reproducer);
  build(manager);
  return failed(manager.run(module)) ? diagnostics.error(what) : absl::OkStatus();
}

/// Returns what a pipeline makes of a copy of the module.
absl::StatusOr<OwningOpRef<ModuleOp>> compiled(ModuleOp module, const std::string &what, const std::string &reproducer,
                                               function_ref<void(OpPassManager &)> build) {
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone());
  if (absl::Status status = runPipeline(*copy, what, reproducer, build); !status.ok())
    return status;
  return copy;
}

/// Adds the passes that make the program of a rank, up to the end of the local level.
void addLocalPasses(OpPassManager &manager, const CompileOptions &options, int64_t rank) {
  LocalizePassOptions thisRank;
  thisRank.rank = rank;
  manager.addPass(createLocalizePass(thisRank));
  LocalOptions local;
  local.prefetch = options.zero.policy.prefetch() == 0 ? 0 : 1;
  buildLocalPipeline(manager, local);
}

} // namespace

sbp::ZeroOptions CompileOptions::withoutZero() {
  sbp::ZeroOptions options;
  options.policy.set(sbp::Decision::Stage, 0);
  return options;
}

absl::StatusOr<OwningOpRef<ModuleOp>> compileGlobal(ModuleOp source, const CompileOptions &options) {
  return compiled(source, "the module does not compile", options.reproducer,
                  [&](OpPassManager &manager) { buildGlobalPipeline(manager, options.zero); });
}

absl::StatusOr<OwningOpRef<ModuleOp>> compileStorage(ModuleOp source, const CompileOptions &options) {
  return compiled(source, "the module does not compile", options.reproducer,
                  [&](OpPassManager &manager) { buildStoragePipeline(manager, options.zero); });
}

absl::StatusOr<OwningOpRef<ModuleOp>> compileLocal(ModuleOp global, const CompileOptions &options, int64_t rank) {
  return compiled(global, "the program of this rank does not compile", options.reproducer,
                  [&](OpPassManager &manager) { addLocalPasses(manager, options, rank); });
}

absl::StatusOr<OwningOpRef<ModuleOp>> compilePlan(ModuleOp global, const CompileOptions &options, int64_t rank) {
  return compiled(global, "the program of this rank does not compile", options.reproducer, [&](OpPassManager &manager) {
    addLocalPasses(manager, options, rank);
    buildPlanPipeline(manager);
  });
}

absl::Status shareStorages(ModuleOp plans, const std::vector<std::string> &storages) {
  if (storages.empty())
    return absl::OkStatus();
  return runPipeline(plans, "the plan cannot be shared", /*reproducer=*/"", [&](OpPassManager &manager) {
    ShareGathersPassOptions options;
    options.storages = storages;
    manager.addPass(createShareGathersPass(options));
  });
}

} // namespace splitcast
