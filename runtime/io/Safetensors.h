//===- Safetensors.h - Checkpoints in one file -----------------------------===//
//
// The format of huggingface/safetensors (its grammar is in SafetensorsHeader.h), so that other tools read our
// checkpoints and we read theirs. A rank reads and writes only its own pieces: ranges of elements in row-major order.
//
// Several ranks write one file:
//   rank 0       create(path, ...), tells the others writer.temporaryPath()
//   other ranks  attach(temporaryPath, ...)
//   all          write(...) their pieces, flush(), tell rank 0 writtenBytes()
//   rank 0       commit(sum of the others' writtenBytes())
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_IO_SAFETENSORS_H
#define SPLITCAST_RUNTIME_IO_SAFETENSORS_H

#include "runtime/io/File.h"
#include "runtime/io/SafetensorsHeader.h"

namespace splitcast::runtime {

class SafetensorsFile {
public:
  /// Errors, besides those of File.h: DataLoss when header, offsets, shapes and the file's length do not agree.
  static absl::StatusOr<SafetensorsFile> open(const std::string &path);

  /// All tensors, by name.
  const std::vector<StoredTensor> &tensors() const { return layout.tensors; }
  const std::map<std::string, std::string> &metadata() const { return layout.metadata; }
  const std::string &path() const { return file.path(); }

  /// Owned by this file; null when there is none of that name.
  const StoredTensor *find(const std::string &name) const;

  /// Elements [elementOffset, elementOffset + count) of a tensor to `to`, which holds count * bytesOf(type).
  ///   Errors  NotFound: no such tensor. InvalidArgument: not all of them are in it, or its dtype is not an
  ///   ElementType.
  absl::Status read(const std::string &name, int64_t elementOffset, int64_t count, void *to) const;

private:
  SafetensorsFile(File file, SafetensorsLayout layout) : file(std::move(file)), layout(std::move(layout)) {}

  File file;
  SafetensorsLayout layout;
};

/// What a file is to hold.
struct TensorToStore {
  std::string name;
  ElementType type = ElementType::F32;
  std::vector<int64_t> shape;
};

class SafetensorsWriter {
public:
  /// Writes the header to a temporary file next to `path` and gives it its full length. The file depends only on what
  /// is stored, not on the order of `tensors`.
  ///   Errors, besides those of File.h: InvalidArgument as layOutSafetensors.
  static absl::StatusOr<SafetensorsWriter> create(const std::string &path, const std::vector<TensorToStore> &tensors,
                                                  const std::map<std::string, std::string> &metadata = {});

  /// A second writer of the file that another process creates.
  ///   Errors, besides those of File.h: InvalidArgument when the file is made for other tensors.
  static absl::StatusOr<SafetensorsWriter> attach(const std::string &temporaryPath,
                                                  const std::vector<TensorToStore> &tensors);

  /// Elements [elementOffset, elementOffset + count) of a tensor.
  ///   Errors  NotFound: no such tensor. InvalidArgument: not all of them are in it.
  absl::Status write(const std::string &name, int64_t elementOffset, const void *from, int64_t count);

  /// Returns when what this writer wrote is on the disk.
  absl::Status flush();

  const std::string &temporaryPath() const { return isCreator() ? pending->temporaryPath() : attached->path(); }
  /// Bytes of tensors that this writer wrote.
  int64_t writtenBytes() const { return written; }

  /// Gives the file its name, once every byte of it was written. Without it the creator's destructor removes the file.
  ///   Errors  FailedPrecondition: fewer or more bytes were written than the tensors have (the file stays, and more can
  ///   be
  ///           written), or this writer is attached.
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
