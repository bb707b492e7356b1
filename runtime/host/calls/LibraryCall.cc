#include "runtime/host/calls/LibraryCall.h"

#include "absl/strings/str_cat.h"

#include <map>

namespace splitcast::runtime {
namespace {

std::map<std::string, LibraryCallFactory> &registry() {
  static std::map<std::string, LibraryCallFactory> factories;
  return factories;
}

} // namespace

LibraryCallRegistration::LibraryCallRegistration(const char *name, LibraryCallFactory factory) {
  registry()[name] = factory;
}

absl::StatusOr<std::unique_ptr<Launchable>> createLibraryCall(exec::LibraryCallAttrInterface call,
                                                              const LibraryCallOptions &options) {
  const std::string name = call.getCallName().str();
  auto found = registry().find(name);
  if (found != registry().end())
    return found->second(call, options);
  std::string known;
  for (const auto &[other, factory] : registry())
    absl::StrAppend(&known, known.empty() ? "" : ", ", other);
  return absl::UnimplementedError(absl::StrCat("the host device has no library call '", name, "'; it has: ", known));
}

} // namespace splitcast::runtime
