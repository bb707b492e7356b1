#include "compiler/launch/LaunchPlugin.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

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
  if (const char *named = std::getenv("SPLITCAST_CUDA_BACKEND"); named && *named)
    return named;
  std::error_code error;
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
/// executed: it is trusted as much as the code that loads it, which is this. (If
/// it is missing, dlopen says so.)
absl::Status checkLibrary(const std::string &path) {
  static const char here = 0;
  Dl_info loader{};
  struct stat own{}, found{};
  const bool isKnown = (dladdr(&here, &loader) != 0 && stat(loader.dli_fname, &own) == 0) ||
                       stat("/proc/self/exe", &own) == 0; // of a program that was found in PATH
  if (!isKnown)
    own = {};
  if (stat(path.c_str(), &found) != 0)
    return absl::OkStatus();
  const bool isOurs = found.st_uid == 0 || found.st_uid == geteuid() || found.st_uid == own.st_uid;
  const mode_t others = S_IWOTH | (found.st_gid == own.st_gid && (own.st_mode & S_IWGRP) ? 0 : S_IWGRP);
  if (S_ISREG(found.st_mode) && isOurs && !(found.st_mode & others))
    return absl::OkStatus();
  const std::string why = !S_ISREG(found.st_mode) ? "is not a regular file"
                          : !isOurs
                              ? absl::StrCat("belongs to user ", found.st_uid, ", which is neither root nor this one")
                              : absl::StrFormat("may be written by others (mode %03o)", found.st_mode & 0777);
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
