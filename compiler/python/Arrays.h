//===- Arrays.h - Pieces of tensors as NumPy's arrays -----------------------------===//
#ifndef SPLITCAST_COMPILER_PYTHON_ARRAYS_H
#define SPLITCAST_COMPILER_PYTHON_ARRAYS_H

#include "compiler/launch/Session.h"

#include <pybind11/numpy.h>

namespace splitcast::python {

/// That of NumPy; bf16, of which it knows nothing, is uint16, its bits.
pybind11::dtype dtypeOf(runtime::ElementType type);

/// The shape of a rank's piece: that of its box; of several, which micro-batches are cut into, one after the other
/// along the first dimension.
std::vector<int64_t> shapeOfPiece(const TensorInfo &info);

/// Without a copy; `owner` lives as long.
pybind11::array viewOf(const TensorInfo &info, const std::byte *piece, bool isWritable, const pybind11::object &owner);

/// What `given` is, as an array, without a copy where it is one or shares its memory (buffer protocol, DLPack). Raises
/// an error unless it has this type and shape; `what` is what it is given as.
pybind11::array arrayOf(const pybind11::object &given, runtime::ElementType type, const std::vector<int64_t> &shape,
                        const std::string &what);

/// Copies the elements of `from` that the rank has of the global tensor, or the whole piece, to `view`.
void copyTo(const pybind11::array &view, const pybind11::array &from);

} // namespace splitcast::python

#endif // SPLITCAST_COMPILER_PYTHON_ARRAYS_H
