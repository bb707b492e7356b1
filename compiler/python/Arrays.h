//===- Arrays.h - Pieces of tensors as NumPy arrays -------------------------------===//
//
// It uses only the buffer protocol and NumPy's Python functions. NumPy's C interface changed with version 2, and the
// package must work with every version.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_PYTHON_ARRAYS_H
#define SPLITCAST_COMPILER_PYTHON_ARRAYS_H

#include "compiler/launch/Session.h"
#include "compiler/python/Conversions.h"

namespace splitcast::python {

/// Returns the shape of a rank's piece: that of its box. If it has several boxes (one per micro-batch), they are
/// concatenated along the first dimension.
std::vector<int64_t> shapeOfPiece(const TensorInfo &info);

/// Returns an array that shares the memory of a piece. It keeps `owner` alive, which must own the memory.
Array viewOf(const TensorInfo &info, const std::byte *piece, bool isWritable, const nanobind::object &owner);

/// Returns a contiguous array whose elements are not initialized.
Array emptyArray(runtime::ElementType type, const std::vector<int64_t> &shape);

/// Converts `given` to an array, without a copy if it is one or can share its memory (buffer protocol, DLPack). Raises
/// an error unless the array has this shape, and this type or one whose values it holds without loss (floats of Python
/// are rounded); `what` names it in the message. Since NumPy has no bf16, arrays of bf16 have the type uint16, and the
/// elements are the bits; so uint16 is nothing else.
nanobind::object arrayOf(const nanobind::object &given, runtime::ElementType type, const std::vector<int64_t> &shape,
                         const std::string &what);

/// Returns `array` if it is contiguous, else a contiguous copy.
nanobind::object contiguous(const nanobind::object &array);

/// Returns a pointer to the elements of an array of emptyArray() or contiguous().
void *dataOf(const nanobind::object &array);

/// Copies the elements of `from` to `view`.
void copyTo(const nanobind::object &view, const nanobind::object &from);

void bindArrays(nanobind::module_ &module);

} // namespace splitcast::python

#endif // SPLITCAST_COMPILER_PYTHON_ARRAYS_H
