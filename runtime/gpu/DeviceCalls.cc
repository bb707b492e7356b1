#include "runtime/gpu/DeviceCalls.h"

#include "runtime/api/CallAs.h"

#include "absl/strings/str_cat.h"

namespace splitcast::runtime {

absl::StatusOr<std::unique_ptr<Launchable>> createDeviceCall(exec::LibraryCallAttrInterface call,
                                                             CallServices &services) {
  const bool isSmall = call.getType().getIntOrFloatBitWidth() == 16;
  auto attention = callAs<exec::AttentionAttr>(call);
  if (attention && (!isSmall || !exec::isFlashAttention(attention.getExtents())))
    return createDeviceAttention(attention, services);
  if (auto gradient = callAs<exec::EmbeddingGradAttr>(call))
    return createDeviceEmbeddingGrad(gradient, services);
  return absl::NotFoundError(
      absl::StrCat("library call '", std::string(call.getCallName()), "' is not implemented by products and kernels"));
}

} // namespace splitcast::runtime
