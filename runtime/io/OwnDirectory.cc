#include "runtime/io/OwnDirectory.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/io/File.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>
#include <utility>
#include <vector>

namespace splitcast::runtime {

namespace {

constexpr mode_t kWritableByOthers = S_IWGRP | S_IWOTH;

absl::Status refused(const std::string &path, const std::string &why) {
  return fileError(absl::StatusCode::kFailedPrecondition, path, why);
}

absl::Status systemError(const std::string &path, const std::string &what, int error) {
  return fileError(absl::StatusCode::kUnavailable, path, absl::StrCat(what, ": ", std::strerror(error)));
}

std::string typeText(mode_t mode) {
  if (S_ISREG(mode))
    return "a regular file";
  if (S_ISDIR(mode))
    return "a directory";
  if (S_ISLNK(mode))
    return "a symbolic link";
  if (S_ISFIFO(mode))
    return "a FIFO";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

/// Returns why an open file or directory is not this user's own; "" if it is.
std::string whyNotOwn(const struct stat &found) {
  if (found.st_uid != ::geteuid())
    return absl::StrCat("belongs to user ", found.st_uid, ", but this process runs as user ", ::geteuid(),
                        "; remove it, or use one of your own");
  if (found.st_mode & kWritableByOthers)
    return absl::StrFormat("has mode %03o, so others may have written to it; remove it, or, if you trust what is in "
                           "it, chmod go-w",
                           found.st_mode & 0777);
  return "";
}

} // namespace

absl::Status checkOwnFile(int descriptor, const std::string &path) {
  struct stat found{};
  if (::fstat(descriptor, &found) != 0)
    return systemError(path, "cannot be examined", errno);
  if (!S_ISREG(found.st_mode))
    return refused(path, absl::StrCat("is ", typeText(found.st_mode), ", not a regular file; remove it"));
  if (const std::string why = whyNotOwn(found); !why.empty())
    return refused(path, why);
  if (found.st_nlink > 1)
    return refused(path,
                   absl::StrCat("has ", found.st_nlink, " names (hard links), so it may be another file; remove it"));
  return absl::OkStatus();
}

absl::StatusOr<int> openOwnFileForAppending(const std::string &path) {
  const int descriptor = ::open(
      path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (descriptor < 0)
    return systemError(path, errno == ELOOP ? "is a symbolic link; remove it" : "cannot be opened", errno);
  absl::Status status = checkOwnFile(descriptor, path);
  if (status.ok())
    return descriptor;
  ::close(descriptor);
  return status;
}

//===----------------------------------------------------------------------===//
// OwnDirectory
//===----------------------------------------------------------------------===//

namespace {

/// Makes a directory and those above it, as far as they are missing. The mode of
/// what is made does not depend on the umask.
absl::Status makeDirectories(const std::filesystem::path &path) {
  std::error_code error;
  if (path.empty() || std::filesystem::exists(std::filesystem::symlink_status(path, error)))
    return absl::OkStatus();
  if (path.has_parent_path() && path.parent_path() != path)
    SPLITCAST_RETURN_IF_ERROR(makeDirectories(path.parent_path()));
  if (::mkdir(path.c_str(), S_IRWXU) == 0)
    ::fchmodat(AT_FDCWD, path.c_str(), S_IRWXU, AT_SYMLINK_NOFOLLOW); // only a strange umask needs it
  else if (errno != EEXIST)
    return systemError(path.string(), "cannot be created", errno);
  return absl::OkStatus();
}

/// Returns the path without slashes at its end, behind which a symbolic link would
/// be followed.
std::string withoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path;
}

} // namespace

absl::StatusOr<OwnDirectory> OwnDirectory::open(const std::string &given) {
  const std::string path = withoutSlashes(given);
  SPLITCAST_RETURN_IF_ERROR(makeDirectories(path));
  OwnDirectory directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), path);
  const int error = errno;
  struct stat found{};
  if (directory.descriptor < 0) {
    if ((error == ENOTDIR || error == ELOOP) && ::lstat(path.c_str(), &found) == 0)
      return refused(path, absl::StrCat("is ", typeText(found.st_mode),
                                        ", not a directory; remove it, or name a directory of your own"));
    return systemError(path, "cannot be opened", error);
  }
  if (::fstat(directory.descriptor, &found) != 0)
    return systemError(path, "cannot be examined", errno);
  if (const std::string why = whyNotOwn(found); !why.empty())
    return refused(path, why);
  return directory;
}

OwnDirectory::OwnDirectory(OwnDirectory &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), directoryPath(std::move(other.directoryPath)) {}

OwnDirectory &OwnDirectory::operator=(OwnDirectory &&other) noexcept {
  std::swap(descriptor, other.descriptor);
  std::swap(directoryPath, other.directoryPath);
  return *this;
}

OwnDirectory::~OwnDirectory() {
  if (descriptor >= 0)
    ::close(descriptor);
}

namespace {

/// Reads up to `bytes` bytes; fewer if the file ends before.
absl::StatusOr<std::string> readUpTo(int file, int64_t bytes, const std::string &path) {
  std::string contents(bytes, '\0');
  int64_t done = 0;
  while (done < bytes) {
    const ssize_t count = ::pread(file, contents.data() + done, bytes - done, done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return systemError(path, "cannot be read", errno);
    if (count == 0)
      break;
    done += count;
  }
  contents.resize(done);
  return contents;
}

absl::StatusOr<std::string> readOwn(int file, int64_t maxBytes, const std::string &path) {
  SPLITCAST_RETURN_IF_ERROR(checkOwnFile(file, path));
  struct stat found{};
  if (::fstat(file, &found) != 0)
    return systemError(path, "cannot be examined", errno);
  if (found.st_size > maxBytes)
    return refused(
        path, absl::StrCat("has ", found.st_size, " bytes, more than the ", maxBytes, " that are read; remove it"));
  return readUpTo(file, found.st_size, path);
}

absl::Status writeAll(int file, const std::string &contents, const std::string &path) {
  for (size_t done = 0; done < contents.size();) {
    const ssize_t count = ::write(file, contents.data() + done, contents.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return systemError(path, "cannot be written", errno);
    done += count;
  }
  return absl::OkStatus();
}

/// Returns a name that no other writer of this machine uses. One of another
/// machine that has it makes O_EXCL fail.
std::string temporaryName(const std::string &name) {
  static std::atomic<int> count{0};
  return absl::StrCat(name, ".", ::getpid(), "-", count++, ".tmp");
}

} // namespace

absl::StatusOr<std::optional<std::string>> OwnDirectory::read(const std::string &name, int64_t maxBytes) const {
  const std::string file = absl::StrCat(directoryPath, "/", name);
  const int opened = ::openat(descriptor, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (opened < 0 && errno == ENOENT)
    return std::optional<std::string>();
  if (opened < 0 && errno == ELOOP)
    return refused(file, "is a symbolic link; remove it");
  if (opened < 0 && errno == ENXIO)
    return refused(file, "is a socket or a device, not a regular file; remove it");
  if (opened < 0)
    return systemError(file, "cannot be opened", errno);
  absl::StatusOr<std::string> contents = readOwn(opened, maxBytes, file);
  ::close(opened);
  SPLITCAST_RETURN_IF_ERROR(contents.status());
  return std::make_optional(*std::move(contents));
}

absl::Status OwnDirectory::write(const std::string &name, const std::string &contents) const {
  const std::string file = absl::StrCat(directoryPath, "/", name), temporary = temporaryName(name);
  const int opened =
      ::openat(descriptor, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (opened < 0)
    return systemError(file, "cannot be created", errno);
  absl::Status status = writeAll(opened, contents, file);
  if (status.ok() && ::fchmod(opened, S_IRUSR | S_IWUSR) != 0)
    status = systemError(file, "cannot be made private (mode 0600)", errno);
  if (::close(opened) != 0 && status.ok())
    status = systemError(file, "cannot be written", errno);
  if (status.ok() && ::renameat(descriptor, temporary.c_str(), descriptor, name.c_str()) != 0)
    status = systemError(file, "cannot be given its name", errno);
  if (!status.ok())
    ::unlinkat(descriptor, temporary.c_str(), 0);
  return status;
}

std::vector<std::string> OwnDirectory::names() const {
  std::vector<std::string> found;
  const int again = ::openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); // closedir closes it
  DIR *entries = again < 0 ? nullptr : ::fdopendir(again);
  if (!entries) {
    if (again >= 0)
      ::close(again);
    return found;
  }
  while (const dirent *entry = ::readdir(entries))
    if (const std::string name = entry->d_name; name != "." && name != "..")
      found.push_back(name);
  ::closedir(entries);
  return found;
}

void OwnDirectory::removeIfOlder(const std::string &name, time_t seconds) const {
  struct stat found{};
  if (::fstatat(descriptor, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(found.st_mode) &&
      ::time(nullptr) - found.st_mtime > seconds)
    ::unlinkat(descriptor, name.c_str(), 0);
}

void OwnDirectory::makePrivate() const { ::fchmod(descriptor, S_IRWXU); }

} // namespace splitcast::runtime
