#include "compiler/Compile.h"

#include "compiler/Pipelines.h"
#include "compiler/Places.h"
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

} // namespace

sbp::ZeroOptions CompileOptions::withoutZero() {
  sbp::ZeroOptions options;
  options.policy.set(sbp::Decision::Stage, 0);
  return options;
}

absl::StatusOr<OwningOpRef<ModuleOp>> compileGlobal(ModuleOp source, const CompileOptions &options) {
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(source->clone());
  absl::Status status = runPipeline(*module, "the module does not compile", options.reproducer,
                                    [&](OpPassManager &manager) { buildGlobalPipeline(manager, options.zero); });
  if (!status.ok())
    return status;
  return module;
}

absl::StatusOr<OwningOpRef<ModuleOp>> compilePlan(ModuleOp global, const CompileOptions &options, int64_t rank) {
  OwningOpRef<ModuleOp> local = cast<ModuleOp>(global->clone());
  auto build = [&](OpPassManager &manager) {
    LocalizePassOptions thisRank;
    thisRank.rank = rank;
    manager.addPass(createLocalizePass(thisRank));
    LocalOptions localOptions;
    localOptions.prefetch = options.zero.policy.prefetch() == 0 ? 0 : 1;
    buildLocalPipeline(manager, localOptions);
    buildPlanPipeline(manager);
  };
  absl::Status status = runPipeline(*local, "the program of this rank does not compile", options.reproducer, build);
  if (!status.ok())
    return status;
  return local;
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
