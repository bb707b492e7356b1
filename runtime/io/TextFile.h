//===- TextFile.h - A text file as bytes ----------------------------------------===//
//
// Training text is read as bytes, a window at a time: no more of the file is in memory than the caller asks for, so
// that the text may be larger than memory.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_IO_TEXTFILE_H
#define SPLITCAST_RUNTIME_IO_TEXTFILE_H

#include "runtime/io/File.h"

namespace splitcast::runtime {

class TextFile {
public:
  /// Errors, besides those of File.h: InvalidArgument when the file has fewer than `minimumBytes` bytes, or none.
  static absl::StatusOr<TextFile> open(const std::string &path, int64_t minimumBytes = 1);

  int64_t sizeBytes() const { return fileBytes; }
  /// Bytes [offset, offset + bytes) to `to`.
  ///   Errors  InvalidArgument: not all of them are in the file.
  absl::Status read(int64_t offset, int64_t bytes, void *to) const;

private:
  TextFile(File file, int64_t fileBytes) : file(std::move(file)), fileBytes(fileBytes) {}

  File file;
  int64_t fileBytes;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_IO_TEXTFILE_H
