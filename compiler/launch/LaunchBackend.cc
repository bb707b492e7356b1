#include "compiler/launch/LaunchBackend.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <map>

namespace splitcast {
namespace {

std::map<std::string, LaunchBackendFactory> &factories() {
  static auto *all = new std::map<std::string, LaunchBackendFactory>;
  return *all;
}

} // namespace

LaunchBackendRegistration::LaunchBackendRegistration(const char *kind, LaunchBackendFactory factory) {
  factories()[kind] = factory;
}

std::vector<std::string> launchBackends() {
  std::vector<std::string> kinds;
  for (const auto &[kind, factory] : factories())
    kinds.push_back(kind);
  return kinds;
}

absl::StatusOr<LaunchBackend> createLaunchBackend(const std::string &kind, const LaunchBackendOptions &options,
                                                  std::unique_ptr<runtime::Communicator> host) {
  auto found = factories().find(kind);
  if (found == factories().end())
    return absl::InvalidArgumentError(absl::StrCat("this program has no devices of kind '", kind, "'; it has ",
                                                   absl::StrJoin(launchBackends(), ", ")));
  return found->second(options, std::move(host));
}

} // namespace splitcast
