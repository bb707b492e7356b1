#include "runtime/gpu/CallKernels.h"

#include "absl/strings/str_cat.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

namespace splitcast::runtime {
namespace {

// Calls that can be created and destroyed, but not launched.
class NoProduct final : public ProductCall {
  absl::Status launch(const std::byte *, const std::byte *, std::byte *, Stream &) override {
    return absl::UnimplementedError("this call was made to collect its kernels; it cannot be launched");
  }
};

class NoKernels final : public KernelLibrary {
  absl::StatusOr<std::unique_ptr<Launchable>> kernel(const std::string &) override {
    return std::unique_ptr<Launchable>();
  }
};

} // namespace

absl::StatusOr<std::unique_ptr<ProductCall>> CallKernelCollector::product(const StridedProduct &product) {
  asked.push_back(product);
  return std::make_unique<NoProduct>();
}

absl::StatusOr<std::shared_ptr<KernelLibrary>> CallKernelCollector::kernels(const std::string &text) {
  const auto [known, isNew] = numbers.try_emplace(text, numbers.size());
  if (!isNew)
    return std::make_shared<NoKernels>();
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(text, module.getContext());
  if (!parsed)
    return absl::InternalError("a call's kernels do not parse");
  for (auto function : llvm::make_early_inc_range(parsed->getOps<mlir::func::FuncOp>())) {
    function.setName(absl::StrCat("call", known->second, "_", function.getName().str()));
    function->remove();
    module.push_back(function);
  }
  return std::make_shared<NoKernels>();
}

} // namespace splitcast::runtime
