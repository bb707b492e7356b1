//===- File.h - Reading and writing byte ranges of files -------------------===//
//
// All formats in this folder are built on this. Reads and writes name their position (several ranks use one file, so
// there is no shared cursor), and files can appear under their name only when they are complete.
//
//   error               what is wrong, and what to do
//   NotFound            There is no such file: give another path.
//   InvalidArgument     The file or the call cannot be used: convert the file, or change the call.
//   DataLoss            The file is damaged (it is cut off, or lengths do not agree): get it again.
//   FailedPrecondition  A file cannot be created or completed: the message says why.
//   Unavailable         The system refused (rights, disk full, ...): the message has its reason.
// Every message starts with the file's path. Offsets and sizes are in bytes, from the file's beginning. Directories are
// not made. An object that was moved from may only be destroyed or assigned to.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_IO_FILE_H
#define SPLITCAST_RUNTIME_IO_FILE_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <string>

namespace splitcast::runtime {

/// An open regular file, which the destructor closes. Several threads may read and write it, but not assign to it.
class File {
public:
  static absl::StatusOr<File> openForReading(const std::string &path);
  /// Opens a file that exists, and leaves its contents; it can then not be read.
  static absl::StatusOr<File> openForWriting(const std::string &path);
  /// Creates a file that does not exist yet, for reading and writing.
  ///   Errors  FailedPrecondition: the file exists.
  static absl::StatusOr<File> create(const std::string &path);
  /// Opens a file, or creates it if it is missing, for reading and appending. Every write goes to its end, so do not
  /// call writeAt. With `empty`, its contents are dropped first.
  static absl::StatusOr<File> openForAppending(const std::string &path, bool empty);

  File(File &&other) noexcept;
  File &operator=(File &&other) noexcept;
  ~File();

  const std::string &path() const { return filePath; }
  absl::StatusOr<int64_t> sizeBytes() const;

  /// Reads all of [offset, offset + bytes).
  ///   Errors  DataLoss: the file ends before.
  absl::Status readAt(int64_t offset, int64_t bytes, void *to) const;
  /// Writes all of [offset, offset + bytes), and makes the file longer if it ends before.
  ///   Errors  for readAt and writeAt, InvalidArgument: `offset` or `bytes` is negative.
  absl::Status writeAt(int64_t offset, int64_t bytes, const void *from);
  /// Appends the bytes with one system call, unless the system takes only a part of them. In a file of create() they go
  /// behind what append() wrote before, from its beginning on.
  absl::Status append(const std::string &bytes);
  /// Sets the file's length. Bytes past the old end are zero.
  absl::Status resize(int64_t bytes);
  /// Returns when the contents are on the disk.
  absl::Status sync();

private:
  File(int descriptor, std::string path) : descriptor(descriptor), filePath(std::move(path)) {}
  static absl::StatusOr<File> open(const std::string &path, int flags);

  int descriptor = -1;
  std::string filePath;
};

/// A file under construction. It lies next to `path` under a temporary name, path.PID-N.partial, until commit() gives
/// it its own name, in one step. Without commit() the destructor removes it, and a file at `path` stays as it was. Only
/// one thread at a time may use the object.
class PendingFile {
public:
  ///   Errors  InvalidArgument: `path` is no regular file, but a directory, say. Those of File::create.
  static absl::StatusOr<PendingFile> create(const std::string &path);

  PendingFile(PendingFile &&other) noexcept;
  PendingFile &operator=(PendingFile &&other) = delete;
  ~PendingFile();

  File &file() { return temporary; }
  const std::string &path() const { return finalPath; }
  const std::string &temporaryPath() const { return temporary.path(); }

  /// Returns FailedPrecondition once commit() was called: what is written to file() from then on may be written to the
  /// finished file.
  absl::Status checkPending() const;

  /// Makes the file permanent and replaces any file at path(). Its rights are those of a new file; if path() is a
  /// symbolic link, the link is replaced, and not what it names. After an error the temporary file is removed, too; if
  /// only the directory could not be flushed, the file has its name already. Called once: a second call returns
  /// FailedPrecondition.
  absl::Status commit();

private:
  PendingFile(File temporary, std::string path);

  File temporary;
  std::string finalPath;
  bool isPending = true;
};

/// Removes the temporary files of this process, which is about to end without running destructors. From then on no
/// PendingFile gets its own name; a thread that creates or commits one blocks until the process ends.
void removePendingFiles();

/// Returns an error with the message "'path': text" and a code of the table above.
absl::Status fileError(absl::StatusCode code, const std::string &path, const std::string &text);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_IO_FILE_H
