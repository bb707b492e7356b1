//===- Safetensors.h - Checkpoints in one file -----------------------------===//
//
// Checkpoints have the format of huggingface/safetensors (SafetensorsHeader.h has its grammar), so that other tools can
// read them, and theirs can be read here. A rank reads and writes only its own pieces: ranges of elements in row-major
// order.
//
// Several ranks write one file together:
//   rank 0       calls create(path, ...), and tells the others writer.temporaryPath()
//   other ranks  call attach(temporaryPath, ...)
//   all          call write(...) for their pieces and flush(), and tell rank 0 writtenBytes()
//   rank 0       calls commit(sum of the others' writtenBytes())
//
// All ranks see the file's directory. Of BOOL, whether bytes are 0 or 1 is not checked.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_IO_SAFETENSORS_H
#define SPLITCAST_RUNTIME_IO_SAFETENSORS_H

#include "runtime/io/File.h"
#include "runtime/io/SafetensorsHeader.h"

namespace splitcast::runtime {

/// An open file, which several threads may read.
class SafetensorsFile {
public:
  /// Opens a file and reads its header.
  ///   Errors  those of File.h; DataLoss: header, offsets, shapes and the file's length do not agree.
  static absl::StatusOr<SafetensorsFile> open(const std::string &path);

  /// Returns all tensors, sorted by name.
  const std::vector<StoredTensor> &tensors() const { return layout.tensors; }
  const std::map<std::string, std::string> &metadata() const { return layout.metadata; }
  const std::string &path() const { return file.path(); }

  /// Returns the tensor of this name, which this object owns, or null if there is none.
  const StoredTensor *find(const std::string &name) const;

  /// Copies elements [elementOffset, elementOffset + count) of a tensor to `to`, which has room for
  /// count * bytesOf(type) bytes.
  ///   Errors  NotFound: there is no such tensor. InvalidArgument: the tensor does not have all of them, or its dtype
  ///           is not an ElementType.
  absl::Status read(const std::string &name, int64_t elementOffset, int64_t count, void *to) const;

private:
  SafetensorsFile(File file, SafetensorsLayout layout) : file(std::move(file)), layout(std::move(layout)) {}

  File file;
  SafetensorsLayout layout;
};

/// A tensor that a file will contain.
struct TensorToStore {
  std::string name;
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
};

/// Only one thread at a time may use a writer. After commit() only destroy it: writes return FailedPrecondition.
class SafetensorsWriter {
public:
  /// Writes the header to a temporary file next to `path`, and gives the file its full length. The file depends only on
  /// what is stored, not on the order of `tensors`.
  ///   Errors  those of File.h, and those of layOutSafetensors with the file's name.
  static absl::StatusOr<SafetensorsWriter> create(const std::string &path, const std::vector<TensorToStore> &tensors,
                                                  const std::map<std::string, std::string> &metadata = {});

  /// Returns another writer of the file that another process created.
  ///   Errors  those of File.h; InvalidArgument: the file was made for other tensors.
  static absl::StatusOr<SafetensorsWriter> attach(const std::string &temporaryPath,
                                                  const std::vector<TensorToStore> &tensors);

  /// Writes elements [elementOffset, elementOffset + count) of a tensor, each once: what is written twice counts twice.
  ///   Errors  NotFound: there is no such tensor. InvalidArgument: the tensor does not have all of them.
  absl::Status write(const std::string &name, int64_t elementOffset, const void *from, int64_t count);

  /// Returns when all that was written to the file by this writer is on the disk.
  absl::Status flush();

  const std::string &temporaryPath() const { return isCreator() ? pending->temporaryPath() : attached->path(); }
  /// Returns how many bytes of tensors this writer wrote.
  int64_t writtenBytes() const { return written; }

  /// Gives the file its name, once all of its bytes are written; only their number is checked. Without this call the
  /// creator's destructor removes the file.
  ///   Errors  FailedPrecondition: fewer or more bytes were written than the tensors have (the file stays, and more can
  ///           be written), or this writer is attached. Those of PendingFile::commit.
  absl::Status commit(int64_t bytesWrittenByOthers = 0);

private:
  SafetensorsWriter() = default;
  bool isCreator() const { return pending.has_value(); }
  File &file() { return isCreator() ? pending->file() : *attached; }

  std::optional<PendingFile> pending;
  std::optional<File> attached;
  SafetensorsLayout layout;
  int64_t written = 0;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_IO_SAFETENSORS_H
