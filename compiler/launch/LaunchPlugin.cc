#include "compiler/launch/LaunchPlugin.h"

#include "runtime/io/InstalledFile.h"

#include "absl/strings/str_cat.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace splitcast {
namespace {

/// Returns SPLITCAST_CUDA_BACKEND if it is set, or else the library beside this
/// program or where the build puts it. If another workspace uses Splitcast as a
/// repository, it is among the runfiles of the program.
std::string findLibrary() {
  std::error_code error;
  if (const char *named = std::getenv("SPLITCAST_CUDA_BACKEND"); named && *named)
    return std::filesystem::absolute(named, error); // dlopen would look for a name without a slash elsewhere
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path directory = program.parent_path();
  const std::string name = "libsplitcast-cuda.so", runfiles = program.filename().string() + ".runfiles";
  const std::string places[] = {"", "..", "../../compiler/launch", runfiles + "/splitcast/compiler/launch"};
  for (const std::string &place : places) {
    std::filesystem::path path = directory / place / name;
    if (access(path.c_str(), R_OK) == 0)
      return path;
  }
  return directory / name;
}

/// Returns an error if somebody else may have written the library, whose code is
/// executed. (If it is missing, dlopen says so.)
absl::Status checkLibrary(const std::string &path) {
  struct stat found{};
  if (stat(path.c_str(), &found) != 0)
    return absl::OkStatus();
  const std::string why = runtime::whyNotInstalled(found);
  if (why.empty())
    return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("the backend for GPUs is not loaded, since its code would be "
                                                    "executed: '",
                                                    path, "' ", why,
                                                    "; install it again as this user or as root, with mode 755, or set "
                                                    "SPLITCAST_CUDA_BACKEND to your own"));
}

absl::StatusOr<LaunchBackend> create(const LaunchBackendOptions &options, std::unique_ptr<runtime::Communicator> host) {
  const std::string path = findLibrary();
  absl::Status trusted = checkLibrary(path);
  if (!trusted.ok())
    return trusted;
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return absl::FailedPreconditionError(
        absl::StrCat("the backend for GPUs cannot be loaded: ", dlerror(),
                     "; build it on a machine with CUDA, cuBLASLt and NCCL, or run with "
                     "--device=cpu"));
  auto entry = reinterpret_cast<LaunchPluginEntry>(dlsym(library, kLaunchPluginEntry));
  if (!entry)
    return absl::FailedPreconditionError(absl::StrCat("'", path, "' is not a backend of Splitcast: ", dlerror()));
  absl::StatusOr<LaunchBackend> result = absl::InternalError("the backend returned nothing");
  entry(&options, &host, &result);
  return result;
}

const LaunchBackendRegistration registration("cuda", create);

} // namespace
} // namespace splitcast
