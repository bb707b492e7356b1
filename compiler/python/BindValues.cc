#include "compiler/python/BindGraph.h"

#include <optional>
#include <pybind11/stl.h>
#include <set>

namespace py = pybind11;

namespace splitcast::python {

namespace {

/// The place that callFrom() has given.
std::optional<Caller> given;

Caller callerAt(const std::string &file, int line) {
  static std::set<std::string> files; // ops point to these names, so they live as long as any graph
  return Caller::here(files.insert(file).first->c_str(), line);
}

void callFrom(const std::optional<std::string> &file, int line) {
  given.reset();
  if (file)
    given = callerAt(*file, line);
}

} // namespace

Caller callerInPython() {
  if (given)
    return *given;
  static const std::string package = py::str(py::module_::import("splitcast").attr("__path__").attr("__getitem__")(0));
  PyFrameObject *frame = PyEval_GetFrame();
  if (!frame)
    return Caller::here("python", 0);
  py::object current = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject *>(frame));
  std::string file;
  for (;;) {
    file = py::str(current.attr("f_code").attr("co_filename"));
    const py::object caller = current.attr("f_back");
    if (caller.is_none() || file.rfind(package, 0) != 0)
      break;
    current = caller;
  }
  return callerAt(file, current.attr("f_lineno").cast<int>());
}

namespace {

void bindCaller(py::module_ &module) {
  module.def("_call_from", &callFrom, py::arg("file").none(true), py::arg("line"),
             "Until it is called with None, what the graph's functions add comes from this line of a file.");
}

void bindElementTypes(py::module_ &module) {
  py::enum_<ElementType> types(module, "ElementType", "The type of a tensor's elements, spelled as in the IR.");
  for (int number = 0; *nameOf(static_cast<ElementType>(number)); ++number)
    types.value(nameOf(static_cast<ElementType>(number)), static_cast<ElementType>(number));
  types.export_values();
}

void bindLayouts(py::module_ &module) {
  py::class_<sbp::Sbp>(module, "Sbp", "How a tensor is distributed along one axis of the mesh: S, B, P or At.")
      .def("__repr__", [](const sbp::Sbp &entry) { return sbp::toString(entry); });
  module.def("split", &split, py::arg("dim"), "S(dim): each rank of the axis has a part of dimension `dim`.");
  module.def("broadcast", &broadcast, "B: each rank of the axis has the whole tensor.");
  module.def("at", &sbp::Sbp::at, py::arg("coordinate"),
             "At(c): only the ranks at coordinate c of the axis have the tensor.");
  py::class_<Layout>(module, "Layout",
                     "An Sbp for each axis of the mesh; trailing axes that are left out are broadcast().")
      .def(py::init<>())
      .def(py::init<sbp::Sbp>(), py::arg("first"))
      .def(py::init<std::vector<sbp::Sbp>>(), py::arg("entries"));
  py::implicitly_convertible<sbp::Sbp, Layout>();
  py::implicitly_convertible<py::list, Layout>();
  py::implicitly_convertible<py::tuple, Layout>();
}

void bindInit(py::module_ &module) {
  py::class_<Init>(module, "Init", "The initial value of a variable, the same for any number of ranks.")
      .def_static("zeros", &Init::zeros)
      .def_static("constant", &Init::constant, py::arg("value"))
      .def_static("uniform", &Init::uniform, py::arg("low"), py::arg("high"))
      .def_static("normal", &Init::normal, py::arg("mean"), py::arg("stddev"))
      .def_static("file", &Init::file, py::arg("path"), py::arg("tensor"), "A tensor of a safetensors file.");
}

} // namespace

void bindValues(py::module_ &module) {
  bindCaller(module);
  bindElementTypes(module);
  bindLayouts(module);
  bindInit(module);
}

} // namespace splitcast::python
