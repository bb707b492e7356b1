#include "compiler/python/Arrays.h"

#include "compiler/python/Errors.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace py = pybind11;

namespace splitcast::python {

using runtime::ElementType;

py::dtype dtypeOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return py::dtype("float32");
  case ElementType::F64:
    return py::dtype("float64");
  case ElementType::BF16:
    return py::dtype("uint16");
  case ElementType::F16:
    return py::dtype("float16");
  case ElementType::I32:
    return py::dtype("int32");
  case ElementType::I64:
    return py::dtype("int64");
  case ElementType::I8:
    return py::dtype("int8");
  case ElementType::I1:
    return py::dtype("bool");
  }
  return py::dtype("uint8");
}

std::vector<int64_t> shapeOfPiece(const TensorInfo &info) {
  std::vector<int64_t> shape;
  for (const sbp::Interval &dim : info.boxes.front())
    shape.push_back(dim.count);
  if (info.boxes.size() > 1)
    shape.front() *= static_cast<int64_t>(info.boxes.size());
  return shape;
}

py::array viewOf(const TensorInfo &info, const std::byte *piece, bool isWritable, const py::object &owner) {
  py::array view(dtypeOf(info.type), shapeOfPiece(info), piece, owner);
  if (!isWritable)
    view.attr("flags").attr("writeable") = false;
  return view;
}

namespace {

/// By the buffer protocol or __array__, else by DLPack.
py::array asArray(const py::object &given) {
  if (py::isinstance<py::array>(given))
    return given;
  const py::module_ numpy = py::module_::import("numpy");
  if (!py::hasattr(given, "__array__") && py::hasattr(given, "__dlpack__"))
    return numpy.attr("from_dlpack")(given);
  return numpy.attr("asarray")(given);
}

std::string describe(const py::array &array) {
  const std::vector<int64_t> shape(array.shape(), array.shape() + array.ndim());
  return absl::StrCat(std::string(py::str(array.dtype())), " [", absl::StrJoin(shape, ", "), "]");
}

} // namespace

py::array arrayOf(const py::object &given, ElementType type, const std::vector<int64_t> &shape,
                  const std::string &what) {
  py::array array = asArray(given);
  const py::dtype wanted = dtypeOf(type);
  const bool fits =
      static_cast<size_t>(array.ndim()) == shape.size() && std::equal(shape.begin(), shape.end(), array.shape());
  if (!fits || !array.dtype().equal(wanted))
    raiseInvalid(absl::StrCat(what, " is ", describe(array), "; it must be ", std::string(py::str(wanted)), " [",
                              absl::StrJoin(shape, ", "), "]", type == ElementType::BF16 ? ", the bits of bf16" : ""));
  return array;
}

void copyTo(const py::array &view, const py::array &from) { py::module_::import("numpy").attr("copyto")(view, from); }

} // namespace splitcast::python
