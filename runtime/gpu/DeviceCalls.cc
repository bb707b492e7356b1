#include "runtime/gpu/DeviceCalls.h"

#include "runtime/api/CallAs.h"

#include "absl/strings/str_cat.h"

namespace splitcast::runtime {

absl::StatusOr<std::unique_ptr<Launchable>> createDeviceCall(exec::LibraryCallAttrInterface call,
                                                             CallServices &services) {
  const bool isSmall = call.getType().getIntOrFloatBitWidth() == 16;
  auto attention = callAs<exec::AttentionAttr>(call);
  const exec::AttentionExtents extents = attention ? attention.getExtents() : exec::AttentionExtents();
  if (attention && (!isSmall || !exec::isFlashAttention(extents)))
    return isSmall && !exec::isTileAttention(extents) ? createSmallAttention(attention, services)
                                                      : createDeviceAttention(attention, services, /*rounds=*/false);
  if (auto gradient = callAs<exec::EmbeddingGradAttr>(call))
    return createDeviceEmbeddingGrad(gradient, services);
  return absl::NotFoundError(
      absl::StrCat("library call '", std::string(call.getCallName()), "' is not implemented by products and kernels"));
}

} // namespace splitcast::runtime
