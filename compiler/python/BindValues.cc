#include "compiler/python/BindGraph.h"

#include <optional>
#include <set>

namespace nb = nanobind;

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
  static const std::string package = stringOf(nb::module_::import_("splitcast").attr("__path__")[0]);
  PyFrameObject *frame = PyEval_GetFrame();
  if (!frame)
    return Caller::here("python", 0);
  nb::object current = nb::borrow(reinterpret_cast<PyObject *>(frame));
  std::string file;
  for (;;) {
    file = stringOf(current.attr("f_code").attr("co_filename"));
    const nb::object caller = current.attr("f_back");
    if (caller.is_none() || file.rfind(package, 0) != 0)
      break;
    current = caller;
  }
  return callerAt(file, nb::cast<int>(current.attr("f_lineno")));
}

namespace {

void bindCaller(nb::module_ &module) {
  module.def("_call_from", &callFrom, nb::arg("file").none(true), nb::arg("line"),
             "Until it is called with None, what the graph's functions add comes from this line of a file.");
}

void bindElementTypes(nb::module_ &module) {
  nb::enum_<ElementType> types(module, "ElementType", "The type of a tensor's elements, spelled as in the IR.");
  for (int number = 0; *nameOf(static_cast<ElementType>(number)); ++number)
    types.value(nameOf(static_cast<ElementType>(number)), static_cast<ElementType>(number));
  for (const char *name : {"__int__", "__index__"})
    types.def(name, [](ElementType type) { return static_cast<int>(type); });
  types.attr("__repr__") = nb::module_::import_("enum").attr("Enum").attr("__repr__"); // nanobind's is that of str()
  types.export_values();
}

void bindLayouts(nb::module_ &module) {
  nb::class_<sbp::Sbp>(module, "Sbp", "How a tensor is distributed along one axis of the mesh: S, B, P or At.")
      .def("__repr__", [](const sbp::Sbp &entry) { return sbp::toString(entry); });
  module.def("split", &split, nb::arg("dim"), "S(dim): each rank of the axis has a part of dimension `dim`.");
  module.def("broadcast", &broadcast, "B: each rank of the axis has the whole tensor.");
  module.def("at", &sbp::Sbp::at, nb::arg("coordinate"),
             "At(c): only the ranks at coordinate c of the axis have the tensor.");
  nb::class_<Layout>(module, "Layout",
                     "An Sbp for each axis of the mesh; trailing axes that are left out are broadcast().")
      .def(nb::init<>())
      .def(nb::init<sbp::Sbp>(), nb::arg("first"))
      .def(nb::init<std::vector<sbp::Sbp>>(), nb::arg("entries"));
}

void bindInit(nb::module_ &module) {
  nb::class_<Init>(module, "Init", "The initial value of a variable, the same for any number of ranks.")
      .def_static("zeros", &Init::zeros)
      .def_static("constant", &Init::constant, nb::arg("value"))
      .def_static("uniform", &Init::uniform, nb::arg("low"), nb::arg("high"))
      .def_static("normal", &Init::normal, nb::arg("mean"), nb::arg("stddev"))
      .def_static("file", &Init::file, nb::arg("path"), nb::arg("tensor"), "A tensor of a safetensors file.");
}

} // namespace

void bindValues(nb::module_ &module) {
  bindCaller(module);
  bindElementTypes(module);
  bindLayouts(module);
  bindInit(module);
}

} // namespace splitcast::python
