#include "runtime/io/File.h"

#include "runtime/api/StatusMacros.h"

#include "absl/strings/str_cat.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace splitcast::runtime {

absl::Status fileError(absl::StatusCode code, const std::string &path, const std::string &text) {
  return absl::Status(code, absl::StrCat("'", path, "': ", text));
}

namespace {

/// Returns the system's error for an action, which is named as in "cannot be
/// read".
absl::Status systemError(const std::string &path, const std::string &action, int error) {
  std::string reason = absl::StrCat(action, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR)
    return fileError(absl::StatusCode::kNotFound, path, reason + "; check the path and its directories");
  if (error == EEXIST)
    return fileError(absl::StatusCode::kFailedPrecondition, path, reason + "; remove it or take another name");
  if (error == ENOSPC || error == EDQUOT || error == EFBIG)
    return fileError(absl::StatusCode::kUnavailable, path, reason + "; free space or take another directory");
  return fileError(absl::StatusCode::kUnavailable, path, reason + "; check its type and rights");
}

absl::Status checkRange(const std::string &path, int64_t offset, int64_t bytes) {
  if (offset >= 0 && bytes >= 0 && offset <= INT64_MAX - bytes)
    return absl::OkStatus();
  return fileError(absl::StatusCode::kInvalidArgument, path,
                   absl::StrCat("cannot access ", bytes, " bytes from byte ", offset,
                                " on; both must be at least 0, and their sum at most 2^63 - 1"));
}

} // namespace

absl::StatusOr<File> File::open(const std::string &path, int flags) {
  // With O_NONBLOCK, opening a pipe does not wait for its other end. Regular
  // files ignore it.
  int descriptor = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0666);
  if (descriptor < 0)
    return systemError(path, flags & O_CREAT ? "cannot be created" : "cannot be opened", errno);
  File file(descriptor, path);
  struct stat status;
  if (::fstat(descriptor, &status) != 0)
    return systemError(path, "cannot be examined", errno);
  if (!S_ISREG(status.st_mode))
    return fileError(absl::StatusCode::kInvalidArgument, path,
                     S_ISDIR(status.st_mode) ? "is a directory; give the path of a regular file"
                                             : "is a device or a pipe; give the path of a regular file");
  return file;
}

absl::StatusOr<File> File::openForReading(const std::string &path) { return open(path, O_RDONLY); }
absl::StatusOr<File> File::openForWriting(const std::string &path) { return open(path, O_WRONLY); }
absl::StatusOr<File> File::create(const std::string &path) { return open(path, O_RDWR | O_CREAT | O_EXCL); }
absl::StatusOr<File> File::openForAppending(const std::string &path, bool empty) {
  return open(path, O_RDWR | O_CREAT | O_APPEND | (empty ? O_TRUNC : 0));
}

File::File(File &&other) noexcept
    : descriptor(std::exchange(other.descriptor, -1)), filePath(std::move(other.filePath)) {}

File &File::operator=(File &&other) noexcept {
  std::swap(descriptor, other.descriptor);
  std::swap(filePath, other.filePath);
  return *this;
}

File::~File() {
  if (descriptor >= 0)
    ::close(descriptor);
}

absl::StatusOr<int64_t> File::sizeBytes() const {
  struct stat status;
  if (::fstat(descriptor, &status) != 0)
    return systemError(filePath, "cannot be examined", errno);
  return static_cast<int64_t>(status.st_size);
}

absl::Status File::readAt(int64_t offset, int64_t bytes, void *to) const {
  SPLITCAST_RETURN_IF_ERROR(checkRange(filePath, offset, bytes));
  for (int64_t done = 0; done < bytes;) {
    ssize_t count = ::pread(descriptor, static_cast<char *>(to) + done, bytes - done, offset + done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return systemError(filePath, "cannot be read", errno);
    if (count == 0)
      return fileError(absl::StatusCode::kDataLoss, filePath,
                       absl::StrCat("ends at byte ", offset + done, ", but bytes up to ", offset + bytes,
                                    " were to be read; it was cut off, get it again"));
    done += count;
  }
  return absl::OkStatus();
}

absl::Status File::writeAt(int64_t offset, int64_t bytes, const void *from) {
  SPLITCAST_RETURN_IF_ERROR(checkRange(filePath, offset, bytes));
  for (int64_t done = 0; done < bytes;) {
    ssize_t count = ::pwrite(descriptor, static_cast<const char *>(from) + done, bytes - done, offset + done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return systemError(filePath, "cannot be written", errno);
    done += count;
  }
  return absl::OkStatus();
}

absl::Status File::append(const std::string &bytes) {
  for (size_t done = 0; done < bytes.size();) {
    ssize_t count = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return systemError(filePath, "cannot be written", errno);
    done += count;
  }
  return absl::OkStatus();
}

absl::Status File::resize(int64_t bytes) {
  if (::ftruncate(descriptor, bytes) != 0)
    return systemError(filePath, absl::StrCat("cannot be given the length of ", bytes, " bytes"), errno);
  return absl::OkStatus();
}

absl::Status File::sync() {
  if (::fsync(descriptor) != 0)
    return systemError(filePath, "cannot be flushed to the disk", errno);
  return absl::OkStatus();
}

absl::StatusOr<PendingFile> PendingFile::create(const std::string &path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    return fileError(absl::StatusCode::kInvalidArgument, path,
                     "is a directory, a device or a pipe; give the path of a regular file or of none");
  // A killed process with the same number may have left a file of this name.
  absl::StatusOr<File> file = absl::UnknownError("");
  for (int attempt = 0; attempt < 100; ++attempt) {
    file = File::create(absl::StrCat(path, ".", ::getpid(), "-", attempt, ".partial"));
    if (file.ok())
      return PendingFile(std::move(*file), path);
    if (file.status().code() != absl::StatusCode::kFailedPrecondition)
      break;
  }
  return file.status();
}

namespace {

/// The temporary files that this process has to remove. The object is never
/// destroyed, since any thread may end the process.
struct PendingPaths {
  std::mutex mutex;
  std::set<std::string> paths;

  static PendingPaths &get() {
    static auto *all = new PendingPaths;
    return *all;
  }
  void add(const std::string &path) {
    std::lock_guard<std::mutex> lock(mutex);
    paths.insert(path);
  }
  void forget(const std::string &path) {
    std::lock_guard<std::mutex> lock(mutex);
    paths.erase(path);
  }
};

} // namespace

void removePendingFiles() {
  PendingPaths &pending = PendingPaths::get();
  pending.mutex.lock(); // never unlocked: a thread that begins a file now waits until the process ends
  for (const std::string &path : pending.paths)
    ::unlink(path.c_str());
}

PendingFile::PendingFile(File temporary, std::string path)
    : temporary(std::move(temporary)), finalPath(std::move(path)) {
  PendingPaths::get().add(temporaryPath());
}

PendingFile::PendingFile(PendingFile &&other) noexcept
    : temporary(std::move(other.temporary)), finalPath(std::move(other.finalPath)),
      isPending(std::exchange(other.isPending, false)) {}

PendingFile::~PendingFile() {
  if (!isPending)
    return;
  ::unlink(temporary.path().c_str());
  PendingPaths::get().forget(temporaryPath());
}

namespace {

/// Makes the directory's entry for `path` permanent, which fsync of the file
/// alone does not.
absl::Status syncDirectory(const std::string &path) {
  size_t slash = path.rfind('/');
  std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return systemError(directory, "cannot be opened", errno);
  int result = ::fsync(descriptor), error = errno;
  ::close(descriptor);
  // Some network file systems cannot flush a directory (EINVAL). The rename
  // itself has been done.
  if (result != 0 && error != EINVAL)
    return systemError(directory, "cannot be flushed to the disk", error);
  return absl::OkStatus();
}

} // namespace

absl::Status PendingFile::checkPending() const {
  if (isPending)
    return absl::OkStatus();
  return fileError(absl::StatusCode::kFailedPrecondition, finalPath,
                   "was committed or given up before; create a new one to write it again");
}

absl::Status PendingFile::commit() {
  SPLITCAST_RETURN_IF_ERROR(checkPending());
  isPending = false;
  absl::Status status = temporary.sync();
  if (status.ok() && ::rename(temporary.path().c_str(), finalPath.c_str()) != 0)
    status = systemError(finalPath, absl::StrCat("cannot take the place of '", temporary.path(), "'"), errno);
  PendingPaths::get().forget(temporaryPath());
  if (status.ok())
    return syncDirectory(finalPath);
  ::unlink(temporary.path().c_str());
  return status;
}

} // namespace splitcast::runtime
