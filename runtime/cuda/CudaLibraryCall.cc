#include "runtime/cuda/CudaLibraryCall.h"

#include "absl/strings/str_cat.h"

#include <map>

namespace splitcast::runtime {
namespace {

std::map<std::string, CudaLibraryCallFactory> &factories() {
  static auto *all = new std::map<std::string, CudaLibraryCallFactory>;
  return *all;
}

} // namespace

CudaLibraryCallRegistration::CudaLibraryCallRegistration(const char *name, CudaLibraryCallFactory factory) {
  factories()[name] = factory;
}

absl::StatusOr<std::unique_ptr<Launchable>> createCudaLibraryCall(exec::LibraryCallAttrInterface call,
                                                                  const CudaLibraryCallOptions &options) {
  const std::string name = call.getCallName().str();
  auto found = factories().find(name);
  if (found == factories().end())
    return absl::UnimplementedError(absl::StrCat("library call '", name, "' is not implemented on GPUs; run on CPUs"));
  return found->second(call, options);
}

} // namespace splitcast::runtime
