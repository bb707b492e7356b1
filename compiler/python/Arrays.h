//===- Arrays.h - Pieces of tensors as NumPy's arrays -----------------------------===//
//
// By the buffer protocol and NumPy's functions in Python alone: its C interface changed with NumPy 2, and the package
// is for whatever version the interpreter has.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_PYTHON_ARRAYS_H
#define SPLITCAST_COMPILER_PYTHON_ARRAYS_H

#include "compiler/launch/Session.h"

#include <pybind11/pybind11.h>

namespace splitcast::python {

/// The shape of a rank's piece: that of its box; of several, which micro-batches are cut into, one after the other
/// along the first dimension.
std::vector<int64_t> shapeOfPiece(const TensorInfo &info);

/// An array without a copy; `owner` lives as long.
pybind11::object viewOf(const TensorInfo &info, const std::byte *piece, bool isWritable, const pybind11::object &owner);

/// An array, contiguous and not yet written.
pybind11::object emptyArray(runtime::ElementType type, const std::vector<int64_t> &shape);

/// What `given` is, as an array, without a copy where it is one or shares its memory (buffer protocol, DLPack). Raises
/// an error unless it has this type and shape; `what` is what it is given as. bf16, of which NumPy knows nothing, is
/// uint16, its bits.
pybind11::object arrayOf(const pybind11::object &given, runtime::ElementType type, const std::vector<int64_t> &shape,
                         const std::string &what);

/// The same, or a copy, whose elements lie one after the other.
pybind11::object contiguous(const pybind11::object &array);

/// Where the elements of an array of emptyArray() or contiguous() lie.
void *dataOf(const pybind11::object &array);

void copyTo(const pybind11::object &view, const pybind11::object &from);

void bindArrays(pybind11::module_ &module);

} // namespace splitcast::python

#endif // SPLITCAST_COMPILER_PYTHON_ARRAYS_H
