#include "runtime/gpu/DeviceCalls.h"

#include "absl/strings/str_cat.h"

#include <map>

namespace splitcast::runtime {

absl::StatusOr<std::unique_ptr<Launchable>> createDeviceCall(const std::string &name, mlir::DictionaryAttr config,
                                                             CallServices &services) {
  static const auto *calls =
      new std::map<std::string, decltype(&createDeviceAttention)>{{"attention", createDeviceAttention},
                                                                  {"attention_grad", createDeviceAttention},
                                                                  {"embedding_grad", createDeviceEmbeddingGrad}};
  auto type = config.getAs<mlir::TypeAttr>("type");
  const bool isSmall = type && (type.getValue().isBF16() || type.getValue().isF16());
  auto call = calls->find(name);
  if (call == calls->end() || isSmall)
    return absl::NotFoundError(absl::StrCat("library call '", name, "' is made of no kernels"));
  return call->second(name, config, services);
}

} // namespace splitcast::runtime
