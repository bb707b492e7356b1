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

/// Whether `given` is a number of Python or a list of them, which says nothing of a type's width.
bool isPythons(py::object given) {
  while (py::isinstance<py::list>(given) || py::isinstance<py::tuple>(given)) {
    if (py::len(given) == 0)
      return true;
    given = given[py::int_(0)];
  }
  return !py::hasattr(given, "dtype") && PyObject_CheckBuffer(given.ptr()) == 0 && !py::hasattr(given, "__array__") &&
         !py::hasattr(given, "__dlpack__");
}

/// The largest n for which NumPy's type `to` has all integers from -n to n, and, if it is one of integers, no others.
py::object largestInteger(const py::object &to) {
  if (to.attr("kind").cast<std::string>() == "f")
    return py::int_(2).attr("__pow__")(numpy().attr("finfo")(to).attr("nmant").attr("__add__")(1));
  return numpy().attr("iinfo")(to).attr("max").attr("__int__")();
}

bool holdsIntegers(const py::object &array, const py::object &to) {
  const py::object most = largestInteger(to);
  const auto extreme = [&](const char *of) { return array.attr(of)(py::arg("initial") = 0).attr("__int__")(); };
  return extreme("max") <= most && extreme("min") >= -most;
}

bool holdsFloats(const py::object &array, const py::object &converted) {
  return numpy().attr("array_equal")(numpy().attr("isinf")(array), numpy().attr("isinf")(converted)).cast<bool>();
}

/// Converts an array to NumPy's type for `type` where no value can change, and floats of Python also where they are
/// only rounded. Else it returns the array as it is, and says in `why` what a value would become.
py::object withType(const py::object &array, const py::object &given, ElementType type, std::string &why) {
  const py::object to = numpy().attr("dtype")(namesOf(type).dtype), from = array.attr("dtype");
  if (to.equal(from))
    return array;
  const auto canCast = [&](const char *rule) { return numpy().attr("can_cast")(from, to, rule).cast<bool>(); };
  if (type == ElementType::BF16 || from.attr("name").cast<std::string>() == namesOf(ElementType::BF16).dtype) {
    why = "; an array of uint16 holds the bits of bf16, never integers: convert those by .astype(numpy.int32)";
    return array;
  }
  const bool ofPython = isPythons(given), isOfIntegers = from.attr("kind").cast<std::string>() != "f";
  const bool isBoolean = from.attr("kind").cast<std::string>() == "b";
  const bool isToFloats = to.attr("kind").cast<std::string>() == "f";
  if (!canCast(ofPython ? "same_kind" : "safe"))
    return array;
  // NumPy calls i64 to f64 safe.
  if (isOfIntegers && !isBoolean && (ofPython || isToFloats) && !holdsIntegers(array, to)) {
    why = absl::StrCat(", which has no equal of each of these integers");
    return array;
  }
  const py::object errors = numpy().attr("errstate")(py::arg("over") = "ignore");
  errors.attr("__enter__")();
  py::object converted = array.attr("astype")(to);
  errors.attr("__exit__")(py::none(), py::none(), py::none());
  if (isOfIntegers || holdsFloats(array, converted))
    return converted;
  why = ", in which a number would become infinite";
  return array;
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
  std::string why = type == ElementType::BF16 ? ", which holds the bits of bf16" : "";
  py::object array = withType(asArray(given), given, type, why);
  const py::object wanted = numpy().attr("dtype")(namesOf(type).dtype);
  if (array.attr("shape").cast<std::vector<int64_t>>() != shape || !wanted.equal(array.attr("dtype")))
    raiseInvalid(absl::StrCat(what, " is ", describe(array), "; it must be ", std::string(py::str(wanted)), " [",
                              absl::StrJoin(shape, ", "), "]", why));
  return array;
}

py::object contiguous(const py::object &array) { return numpy().attr("ascontiguousarray")(array); }

void *dataOf(const py::object &array) { return py::buffer(array).request().ptr; }

void copyTo(const py::object &view, const py::object &from) { numpy().attr("copyto")(view, from); }

void bindArrays(py::module_ &module) {
  py::class_<Piece>(module, "_Piece", py::buffer_protocol()).def_buffer(&bufferOf);
}

} // namespace splitcast::python
