#include "compiler/python/Arrays.h"

#include "compiler/python/Errors.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace splitcast::python {

using runtime::ElementType;

namespace {

/// Memory of a session, exported to NumPy by the buffer protocol.
struct Piece {
  const std::byte *data;
  ElementType type;
  std::vector<int64_t> shape;
  bool isWritable;
  py::object owner;
};

/// NumPy's name of an element type, and its format letter in Python's module
/// struct.
struct TypeNames {
  const char *dtype, *format;
};

TypeNames namesOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return {"float32", "f"};
  case ElementType::F64:
    return {"float64", "d"};
  case ElementType::BF16:
    return {"uint16", "H"};
  case ElementType::F16:
    return {"float16", "e"};
  case ElementType::I32:
    return {"int32", "i"};
  case ElementType::I64:
    return {"int64", "q"};
  case ElementType::I8:
    return {"int8", "b"};
  case ElementType::I1:
    return {"bool", "?"};
  }
  return {"uint8", "B"};
}

py::buffer_info bufferOf(const Piece &piece) {
  const int64_t size = runtime::bytesOf(piece.type);
  std::vector<int64_t> strides(piece.shape.size(), size);
  for (size_t dim = piece.shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * piece.shape[dim];
  return {const_cast<std::byte *>(piece.data), // pybind11 takes a non-const pointer; its read-only flag is set below
          size,
          namesOf(piece.type).format,
          static_cast<py::ssize_t>(piece.shape.size()),
          piece.shape,
          strides,
          !piece.isWritable};
}

py::module_ numpy() { return py::module_::import("numpy"); }

/// Converts by the buffer protocol or __array__, and by DLPack only what has no
/// __array__.
py::object asArray(const py::object &given) {
  try {
    if (!py::hasattr(given, "__array__") && py::hasattr(given, "__dlpack__"))
      return numpy().attr("from_dlpack")(given);
    return numpy().attr("asarray")(given);
  } catch (const py::error_already_set &error) {
    if (!error.matches(PyExc_Exception))
      throw;
    raiseInvalid(
        absl::StrCat("a value of type ", std::string(py::str(py::type::of(given).attr("__name__"))),
                     " does not become an array: ", std::string(py::str(error.value())),
                     "; give what numpy.asarray takes (of a tensor: detach(), and bf16 by view(torch.uint16))"));
  }
}

/// Converts an array to NumPy's type for `type` where no value can change, and
/// Python's own numbers and lists of them also where they are only rounded.
py::object withType(const py::object &array, const py::object &given, ElementType type) {
  if (type == ElementType::BF16)
    return array; // its type says nothing of what the bits mean
  const bool isPythons = !py::hasattr(given, "dtype");
  const py::object wanted = numpy().attr("dtype")(namesOf(type).dtype);
  const char *rule = isPythons ? "same_kind" : "safe";
  return numpy().attr("can_cast")(array.attr("dtype"), wanted, rule).cast<bool>() ? array.attr("astype")(wanted)
                                                                                  : array;
}

std::string describe(const py::object &array) {
  return absl::StrCat(std::string(py::str(array.attr("dtype"))), " [",
                      absl::StrJoin(array.attr("shape").cast<std::vector<int64_t>>(), ", "), "]");
}

} // namespace

std::vector<int64_t> shapeOfPiece(const TensorInfo &info) {
  std::vector<int64_t> shape;
  for (const sbp::Interval &dim : info.boxes.front())
    shape.push_back(dim.count);
  if (info.boxes.size() > 1)
    shape.front() *= static_cast<int64_t>(info.boxes.size());
  return shape;
}

py::object viewOf(const TensorInfo &info, const std::byte *piece, bool isWritable, const py::object &owner) {
  return numpy().attr("asarray")(py::cast(Piece{piece, info.type, shapeOfPiece(info), isWritable, owner}));
}

py::object emptyArray(ElementType type, const std::vector<int64_t> &shape) {
  return numpy().attr("empty")(py::tuple(py::cast(shape)), namesOf(type).dtype);
}

py::object arrayOf(const py::object &given, ElementType type, const std::vector<int64_t> &shape,
                   const std::string &what) {
  py::object array = withType(asArray(given), given, type);
  const py::object wanted = numpy().attr("dtype")(namesOf(type).dtype);
  if (array.attr("shape").cast<std::vector<int64_t>>() != shape || !wanted.equal(array.attr("dtype")))
    raiseInvalid(absl::StrCat(what, " is ", describe(array), "; it must be ", std::string(py::str(wanted)), " [",
                              absl::StrJoin(shape, ", "), "]",
                              type == ElementType::BF16 ? ", which holds the bits of bf16" : ""));
  return array;
}

py::object contiguous(const py::object &array) { return numpy().attr("ascontiguousarray")(array); }

void *dataOf(const py::object &array) { return py::buffer(array).request().ptr; }

void copyTo(const py::object &view, const py::object &from) { numpy().attr("copyto")(view, from); }

void bindArrays(py::module_ &module) {
  py::class_<Piece>(module, "_Piece", py::buffer_protocol()).def_buffer(&bufferOf);
}

} // namespace splitcast::python
