#include "compiler/python/Arrays.h"

#include "compiler/python/Errors.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <functional>
#include <numeric>

namespace nb = nanobind;

namespace splitcast::python {

using runtime::ElementType;

namespace {

/// Memory of a session, exported to NumPy by the buffer protocol.
struct Piece {
  std::byte *data;
  ElementType type;
  std::vector<Py_ssize_t> shape, strides;
  bool isWritable;
  nb::object owner;
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

/// Python's bf_getbuffer. The view refers to the piece, which it keeps alive.
int getBuffer(PyObject *self, Py_buffer *view, int flags) {
  Piece &piece = *nb::inst_ptr<Piece>(self);
  view->obj = nullptr;
  if ((flags & PyBUF_WRITABLE) && !piece.isWritable) {
    PyErr_SetString(PyExc_BufferError, "Writable buffer requested for readonly storage");
    return -1;
  }
  const auto has = [&](int part) { return (flags & part) == part; };
  view->buf = piece.data;
  view->itemsize = runtime::bytesOf(piece.type);
  view->len = std::accumulate(piece.shape.begin(), piece.shape.end(), view->itemsize, std::multiplies<>());
  view->readonly = piece.isWritable ? 0 : 1;
  view->ndim = static_cast<int>(piece.shape.size());
  view->format = has(PyBUF_FORMAT) ? const_cast<char *>(namesOf(piece.type).format) : nullptr; // it is only read
  view->shape = has(PyBUF_ND) ? piece.shape.data() : nullptr;
  view->strides = has(PyBUF_STRIDES) ? piece.strides.data() : nullptr;
  view->suboffsets = nullptr;
  view->internal = nullptr;
  view->obj = nb::handle(self).inc_ref().ptr();
  return 0;
}

std::vector<Py_ssize_t> stridesOf(const std::vector<int64_t> &shape, int64_t size) {
  std::vector<Py_ssize_t> strides(shape.size(), size);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

nb::module_ numpy() { return nb::module_::import_("numpy"); }

/// Converts by the buffer protocol or __array__, and by DLPack only what has no
/// __array__.
nb::object asArray(const nb::object &given) {
  try {
    if (!nb::hasattr(given, "__array__") && nb::hasattr(given, "__dlpack__"))
      return numpy().attr("from_dlpack")(given);
    return numpy().attr("asarray")(given);
  } catch (const nb::python_error &error) {
    if (!error.matches(PyExc_Exception))
      throw;
    raiseInvalid(
        absl::StrCat("a value of type ", stringOf(given.type().attr("__name__")),
                     " does not become an array: ", stringOf(error.value()),
                     "; give what numpy.asarray takes (of a tensor: detach(), and bf16 by view(torch.uint16))"));
  }
}

/// Whether `given` is a number of Python or a list of them, which says nothing of a type's width.
bool isPythons(nb::object given) {
  while (nb::isinstance<nb::list>(given) || nb::isinstance<nb::tuple>(given)) {
    if (nb::len(given) == 0)
      return true;
    given = nb::object(given[0]);
  }
  return !nb::hasattr(given, "dtype") && PyObject_CheckBuffer(given.ptr()) == 0 && !nb::hasattr(given, "__array__") &&
         !nb::hasattr(given, "__dlpack__");
}

/// The largest n for which NumPy's type `to` has all integers from -n to n, and, if it is one of integers, no others.
nb::object largestInteger(const nb::object &to) {
  if (nb::cast<std::string>(to.attr("kind")) == "f")
    return nb::int_(2).attr("__pow__")(numpy().attr("finfo")(to).attr("nmant").attr("__add__")(1));
  return numpy().attr("iinfo")(to).attr("max").attr("__int__")();
}

bool holdsIntegers(const nb::object &array, const nb::object &to) {
  const nb::object most = largestInteger(to);
  const auto extreme = [&](const char *of) { return array.attr(of)(nb::arg("initial") = 0).attr("__int__")(); };
  return extreme("max") <= most && extreme("min") >= -most;
}

bool holdsFloats(const nb::object &array, const nb::object &converted) {
  return nb::cast<Truth>(numpy().attr("array_equal")(numpy().attr("isinf")(array), numpy().attr("isinf")(converted)));
}

/// Converts an array to NumPy's type for `type` where no value can change, and floats of Python also where they are
/// only rounded. Else it returns the array as it is, and says in `why` what a value would become.
nb::object withType(const nb::object &array, const nb::object &given, ElementType type, std::string &why) {
  const nb::object to = numpy().attr("dtype")(namesOf(type).dtype), from = array.attr("dtype");
  if (to.equal(from))
    return array;
  const auto canCast = [&](const char *rule) { return nb::cast<bool>(numpy().attr("can_cast")(from, to, rule)); };
  if (type == ElementType::BF16 || nb::cast<std::string>(from.attr("name")) == namesOf(ElementType::BF16).dtype) {
    why = "; an array of uint16 holds the bits of bf16, never integers: convert those by .astype(numpy.int32)";
    return array;
  }
  const bool ofPython = isPythons(given), isOfIntegers = nb::cast<std::string>(from.attr("kind")) != "f";
  const bool isBoolean = nb::cast<std::string>(from.attr("kind")) == "b";
  const bool isToFloats = nb::cast<std::string>(to.attr("kind")) == "f";
  if (!canCast(ofPython ? "same_kind" : "safe"))
    return array;
  // NumPy calls i64 to f64 safe.
  if (isOfIntegers && !isBoolean && (ofPython || isToFloats) && !holdsIntegers(array, to)) {
    why = absl::StrCat(", which has no equal of each of these integers");
    return array;
  }
  const nb::object errors = numpy().attr("errstate")(nb::arg("over") = "ignore");
  errors.attr("__enter__")();
  nb::object converted = array.attr("astype")(to);
  errors.attr("__exit__")(nb::none(), nb::none(), nb::none());
  if (isOfIntegers || holdsFloats(array, converted))
    return converted;
  why = ", in which a number would become infinite";
  return array;
}

std::string describe(const nb::object &array) {
  return absl::StrCat(stringOf(array.attr("dtype")), " [",
                      absl::StrJoin(nb::cast<std::vector<int64_t>>(array.attr("shape")), ", "), "]");
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

Array viewOf(const TensorInfo &info, const std::byte *piece, bool isWritable, const nb::object &owner) {
  const std::vector<int64_t> shape = shapeOfPiece(info);
  Piece of{const_cast<std::byte *>(piece), // as Py_buffer has it, with a flag for what is only read
           info.type,
           {shape.begin(), shape.end()},
           stridesOf(shape, runtime::bytesOf(info.type)),
           isWritable,
           owner};
  return nb::borrow<Array>(numpy().attr("asarray")(nb::cast(std::move(of))));
}

Array emptyArray(ElementType type, const std::vector<int64_t> &shape) {
  return nb::borrow<Array>(numpy().attr("empty")(tupleOf(shape), namesOf(type).dtype));
}

nb::object arrayOf(const nb::object &given, ElementType type, const std::vector<int64_t> &shape,
                   const std::string &what) {
  std::string why = type == ElementType::BF16 ? ", which holds the bits of bf16" : "";
  nb::object array = withType(asArray(given), given, type, why);
  const nb::object wanted = numpy().attr("dtype")(namesOf(type).dtype);
  if (nb::cast<std::vector<int64_t>>(array.attr("shape")) != shape || !wanted.equal(array.attr("dtype")))
    raiseInvalid(absl::StrCat(what, " is ", describe(array), "; it must be ", stringOf(wanted), " [",
                              absl::StrJoin(shape, ", "), "]", why));
  return array;
}

nb::object contiguous(const nb::object &array) { return numpy().attr("ascontiguousarray")(array); }

void *dataOf(const nb::object &array) {
  Py_buffer view;
  if (PyObject_GetBuffer(array.ptr(), &view, PyBUF_SIMPLE) != 0)
    nb::raise_python_error();
  void *data = view.buf;
  PyBuffer_Release(&view); // the array keeps the memory
  return data;
}

void copyTo(const nb::object &view, const nb::object &from) { numpy().attr("copyto")(view, from); }

void bindArrays(nb::module_ &module) {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void *>(&getBuffer)}, {0, nullptr}};
  nb::class_<Piece>(module, "_Piece", nb::type_slots(slots));
}

} // namespace splitcast::python
