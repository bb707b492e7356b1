#include "dialects/exec/EmbeddingWorkspace.h"
#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/gpu/DeviceCalls.h"
#include "runtime/gpu/EmbeddingGradKernel.h"

#include "absl/strings/str_cat.h"

namespace splitcast::runtime {
namespace {

constexpr char kName[] = "embedding_grad";

/// A kernel that keeps its library alive.
class KernelCall final : public Launchable {
public:
  KernelCall(std::shared_ptr<KernelLibrary> library, std::unique_ptr<Launchable> kernel)
      : library(std::move(library)), kernel(std::move(kernel)) {}
  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    return kernel->launch(buffers, stream);
  }

private:
  const std::shared_ptr<KernelLibrary> library;
  const std::unique_ptr<Launchable> kernel;
};

} // namespace

absl::StatusOr<std::unique_ptr<Launchable>> createDeviceEmbeddingGrad(exec::EmbeddingGradAttr call,
                                                                      CallServices &services) {
  const std::optional<int64_t> needed = exec::deviceEmbeddingGradWorkspace(call.getRows(), call.getVocabulary());
  const int64_t workspace = call.getWorkspace().value_or(0);
  if (!needed || workspace != *needed)
    return absl::InvalidArgumentError(
        needed ? absl::StrCat("library call '", kName, "' has a workspace of ", workspace, " bytes; it needs ", *needed)
               : absl::StrCat("library call '", kName, "' has ", call.getRows(), " indices and ", call.getVocabulary(),
                              " rows of the table; it takes fewer than 2^31 - 1 of each"));
  const EmbeddingGradKernel source{call.getRows(),
                                   call.getVocabulary(),
                                   call.getWidth(),
                                   call.getFirst().value_or(0),
                                   *elementTypeOf(call.getType()),
                                   *elementTypeOf(call.getIndexType())};
  SPLITCAST_ASSIGN_OR_RETURN(std::shared_ptr<KernelLibrary> library, services.kernels(source.module()));
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Launchable> kernel, library->kernel(kName));
  return std::make_unique<KernelCall>(std::move(library), std::move(kernel));
}

} // namespace splitcast::runtime
