//===- File.h - Reading and writing byte ranges of files -------------------===//
//
// The base of every format in this folder: positioned reads and writes (several ranks use one file, so there is no
// shared cursor), and files that appear under their name only when they are complete.
//
// Errors, by what the reader of the message does next:
//   NotFound            there is no such file: give another path.
//   InvalidArgument     the file, or the call, is not what can be used: convert the file, or change the call.
//   DataLoss            the file is damaged (cut off, or lengths that do not agree): get it again.
//   FailedPrecondition  a file cannot be completed yet: the message says what is missing.
//   Unavailable         the system refused (rights, disk full, ...): its reason is in the message.
// Every message starts with the file's path.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_IO_FILE_H
#define SPLITCAST_RUNTIME_IO_FILE_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <string>

namespace splitcast::runtime {

/// An open regular file; closes it when destroyed. Reads and writes may come from several threads.
class File {
public:
  static absl::StatusOr<File> openForReading(const std::string &path);
  /// Of a file that exists.
  static absl::StatusOr<File> openForWriting(const std::string &path);
  /// Of a file that must not exist yet.
  ///   Errors  FailedPrecondition: it exists.
  static absl::StatusOr<File> create(const std::string &path);
  /// Made if it is missing; every write goes to its end. `empty`: what it holds is dropped first.
  static absl::StatusOr<File> openForAppending(const std::string &path, bool empty);

  File(File &&other) noexcept;
  File &operator=(File &&other) noexcept;
  ~File();

  const std::string &path() const { return filePath; }
  absl::StatusOr<int64_t> sizeBytes() const;

  /// All of [offset, offset + bytes), or DataLoss when the file ends before.
  absl::Status readAt(int64_t offset, int64_t bytes, void *to) const;
  absl::Status writeAt(int64_t offset, int64_t bytes, const void *from);
  /// With one call to the system, unless it takes only a part.
  absl::Status append(const std::string &bytes);
  /// Bytes past the old end are zero.
  absl::Status resize(int64_t bytes);
  /// Returns when the contents are on the disk.
  absl::Status sync();

private:
  File(int descriptor, std::string path) : descriptor(descriptor), filePath(std::move(path)) {}
  static absl::StatusOr<File> open(const std::string &path, int flags);

  int descriptor = -1;
  std::string filePath;
};

/// A file under construction: it lies next to `path` under a temporary name until commit() gives it its own, in one
/// step. Without commit() the destructor removes it, and whatever stood at `path` is as it was.
class PendingFile {
public:
  static absl::StatusOr<PendingFile> create(const std::string &path);

  PendingFile(PendingFile &&other) noexcept;
  PendingFile &operator=(PendingFile &&other) = delete;
  ~PendingFile();

  File &file() { return temporary; }
  const std::string &path() const { return finalPath; }
  const std::string &temporaryPath() const { return temporary.path(); }

  /// Makes the file permanent and replaces what stood at path(). After an error the temporary file is removed, too.
  absl::Status commit();

private:
  PendingFile(File temporary, std::string path);

  File temporary;
  std::string finalPath;
  bool isPending = true;
};

/// Removes the temporary files of this process, which is about to end without destructors: no PendingFile appears under
/// its name after that.
void removePendingFiles();

/// "'path': text", with the code of the table above.
absl::Status fileError(absl::StatusCode code, const std::string &path, const std::string &text);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_IO_FILE_H
