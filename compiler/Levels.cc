#include "compiler/Levels.h"

#include "compiler/Pipelines.h"
#include "passes/local/Passes.h"

#include "absl/strings/str_cat.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace splitcast {

static std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return os.str();
}

absl::StatusOr<std::string> textOfLevel(ModuleOp source, const CompileOptions &options, int64_t rank,
                                        const std::string &level) {
  if (level == "source")
    return textOf(source);
  if (level != "global" && level != "local")
    return absl::InvalidArgumentError(absl::StrCat("level is '", level, "'; it must be source, global, local or plan"));
  absl::StatusOr<OwningOpRef<ModuleOp>> compiled = compileGlobal(source, options);
  if (!compiled.ok())
    return compiled.status();
  OwningOpRef<ModuleOp> module = *std::move(compiled);
  if (level == "local") {
    PassManager manager(module->getContext());
    LocalizePassOptions thisRank;
    thisRank.rank = rank;
    manager.addPass(createLocalizePass(thisRank));
    LocalOptions local;
    local.prefetch = options.zero.policy.prefetch() == 0 ? 0 : 1;
    buildLocalPipeline(manager, local);
    if (failed(manager.run(*module)))
      return absl::InternalError("the program of this rank does not compile again");
  }
  return textOf(*module);
}

} // namespace splitcast
