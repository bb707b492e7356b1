//===- Npy.h - NumPy's .npy files -------------------------------------------===//
//
// Inputs and predictions are stored in these files. Versions 1, 2 and 3 of the format are read, in C order and
// little-endian, with these types:
//
//   dtype   '<f2' '<f4' '<f8' '<i4' '<i8' '|i1' '|b1'
//   type     f16   f32   f64   i32   i64   i8    i1
//
// Any other file is refused when it is opened, and the error says what to do about it. So is a file whose length is not
// exactly that of its header and its elements. Of '|b1', whether bytes are 0 or 1 is not checked.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_IO_NPY_H
#define SPLITCAST_RUNTIME_IO_NPY_H

#include "runtime/api/ElementType.h"
#include "runtime/io/File.h"

#include <vector>

namespace splitcast::runtime {

/// An open file, which several threads may read.
class NpyFile {
public:
  ///   Errors  those of File.h.
  static absl::StatusOr<NpyFile> open(const std::string &path);

  ElementType type() const { return elementType; }
  const std::vector<int64_t> &shape() const { return extents; }
  int64_t numElements() const { return elements; }

  /// Copies elements [elementOffset, elementOffset + count), in row-major order, to `to`, which has room for
  /// count * bytesOf(type()) bytes.
  ///   Errors  InvalidArgument: the file does not have all of them.
  absl::Status read(int64_t elementOffset, int64_t count, void *to) const;

private:
  explicit NpyFile(File file) : file(std::move(file)) {}

  File file;
  ElementType elementType = ElementType::F32;
  std::vector<int64_t> extents;
  int64_t elements = 0;
  int64_t dataOffset = 0;
};

/// Writes rows, one batch after another. Their number need not be known before commit(), and may be 0. Only one thread
/// at a time may use it. After commit() only destroy it: all other calls return FailedPrecondition.
class NpyWriter {
public:
  /// Begins an array of shape [rows] + rowShape.
  ///   Errors  InvalidArgument: the type is bf16, which NumPy does not have, an extent is negative, or there are more
  ///           than 63 extents. Those of PendingFile::create.
  static absl::StatusOr<NpyWriter> create(const std::string &path, ElementType type, std::vector<int64_t> rowShape);

  /// Appends `rows` rows, which lie one after another from `from` on, each without padding. After an error none of them
  /// counts.
  absl::Status append(int64_t rows, const void *from);

  /// Writes the next row in parts, in any order: `count` elements of it from element `at` on. endRow() then counts the
  /// row, whether or not all its elements were written.
  ///   Errors  InvalidArgument: the row does not have all of them.
  absl::Status writePart(int64_t at, int64_t count, const void *from);
  absl::Status endRow();

  /// Writes the number of rows into the header and gives the file its name. Without this call no file is left behind.
  /// Errors are those of PendingFile::commit.
  absl::Status commit();

private:
  NpyWriter(PendingFile file, ElementType type, std::vector<int64_t> rowShape);
  /// Returns InvalidArgument if this many more rows are too many, and FailedPrecondition after commit().
  absl::Status checkRows(int64_t rows) const;

  PendingFile pending;
  ElementType elementType;
  std::vector<int64_t> rowExtents;
  int64_t rowBytes;
  int64_t headerBytes;
  int64_t writtenRows = 0;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_IO_NPY_H
