#include "runtime/io/InstalledFile.h"

#include "runtime/io/File.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

/// Returns the file that this code is in; nothing of it if that is unknown.
struct stat statOfProgram() {
  static const char here = 0;
  Dl_info loader{};
  struct stat found{};
  // Of an executable, the name is only how it was called: in the current directory, that may be any file.
  const bool isLibrary = dladdr(&here, &loader) != 0 && loader.dli_fname && loader.dli_fname[0] == '/';
  if ((!isLibrary || stat(loader.dli_fname, &found) != 0) && stat("/proc/self/exe", &found) != 0)
    found = {};
  return found;
}

absl::StatusOr<std::string> readOpen(int file, const std::string &path, int64_t maxBytes) {
  auto unread = [&](const char *why) {
    return fileError(absl::StatusCode::kUnavailable, path, absl::StrCat("cannot be read: ", why));
  };
  struct stat found{};
  if (::fstat(file, &found) != 0)
    return unread(std::strerror(errno));
  if (const std::string why = whyNotInstalled(found); !why.empty())
    return fileError(absl::StatusCode::kFailedPrecondition, path, why);
  if (found.st_size > maxBytes)
    return fileError(absl::StatusCode::kFailedPrecondition, path,
                     absl::StrCat("has ", found.st_size, " bytes, more than the ", maxBytes, " that are read"));
  std::string contents(found.st_size, '\0');
  for (int64_t done = 0; done < found.st_size;) {
    const ssize_t count = ::pread(file, contents.data() + done, found.st_size - done, done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return unread(count < 0 ? std::strerror(errno) : "it was cut off meanwhile");
    done += count;
  }
  return contents;
}

} // namespace

std::string whyNotInstalled(const struct stat &found) {
  const struct stat program = statOfProgram();
  if (!S_ISREG(found.st_mode))
    return "is not a regular file";
  if (found.st_uid != 0 && found.st_uid != ::geteuid() && found.st_uid != program.st_uid)
    return absl::StrCat("belongs to user ", found.st_uid, ", which is neither root nor this one");
  const bool isOfProgram = found.st_gid == program.st_gid && (program.st_mode & S_IWGRP);
  if (found.st_mode & (S_IWOTH | (isOfProgram ? 0 : S_IWGRP)))
    return absl::StrFormat("may be written by others (mode %03o)", found.st_mode & 0777);
  return "";
}

absl::StatusOr<std::string> readInstalledFile(const std::string &path, int64_t maxBytes) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0)
    return fileError(absl::StatusCode::kUnavailable, path, absl::StrCat("cannot be opened: ", std::strerror(errno)));
  absl::StatusOr<std::string> contents = readOpen(file, path, maxBytes);
  ::close(file);
  return contents;
}

} // namespace splitcast::runtime
