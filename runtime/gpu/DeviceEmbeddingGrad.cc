#include "dialects/exec/EmbeddingWorkspace.h"
#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/gpu/DeviceCalls.h"
#include "runtime/gpu/EmbeddingGradKernel.h"
#include "runtime/gpu/KernelCall.h"

#include "absl/strings/str_cat.h"

namespace splitcast::runtime {
namespace {

constexpr char kName[] = "embedding_grad";

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
  return KernelCall::create(source.module(), kName, services);
}

} // namespace splitcast::runtime
