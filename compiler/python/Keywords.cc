#include "compiler/python/Keywords.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include <vector>

namespace py = pybind11;

namespace splitcast::python {

namespace {

std::string optionOf(py::handle name) { return absl::StrReplaceAll(std::string(py::str(name)), {{"_", "-"}}); }

} // namespace

std::string textOf(py::handle value) {
  if (py::isinstance<py::bool_>(value))
    return value.cast<bool>() ? "yes" : "no";
  if (py::isinstance<py::float_>(value))
    return py::str(py::repr(value));
  if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value)) {
    std::vector<std::string> parts;
    for (py::handle part : value)
      parts.push_back(textOf(part));
    return absl::StrJoin(parts, ",");
  }
  return py::str(value);
}

std::string textOf(const py::dict &keywords) {
  std::vector<std::string> parts;
  for (const auto &[name, value] : keywords)
    if (!value.is_none())
      parts.push_back(absl::StrCat(optionOf(name), "=", textOf(value)));
  return absl::StrJoin(parts, ",");
}

absl::Status parseKeywords(Flags &flags, const py::dict &keywords) {
  std::vector<std::string> arguments = {"python"};
  for (const auto &[name, value] : keywords) {
    if (value.is_none() || value.ptr() == Py_False)
      continue;
    const std::string flag = absl::StrCat("--", optionOf(name));
    arguments.push_back(value.ptr() == Py_True ? flag : absl::StrCat(flag, "=", textOf(value)));
  }
  std::vector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());
  return flags.parse(static_cast<int>(pointers.size()), pointers.data());
}

} // namespace splitcast::python
