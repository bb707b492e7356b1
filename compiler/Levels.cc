#include "compiler/Levels.h"

#include "absl/strings/str_cat.h"

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
  if (level != "zero" && level != "global" && level != "local")
    return absl::InvalidArgumentError(
        absl::StrCat("level is '", level, "'; it must be source, zero, global, local or plan"));
  absl::StatusOr<OwningOpRef<ModuleOp>> module =
      level == "zero" ? compileStorage(source, options) : compileGlobal(source, options);
  if (module.ok() && level == "local")
    module = compileLocal(**module, options, rank);
  return module.ok() ? absl::StatusOr<std::string>(textOf(**module)) : module.status();
}

} // namespace splitcast
