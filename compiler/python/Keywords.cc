#include "compiler/python/Keywords.h"

#include "compiler/python/Conversions.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

#include <vector>

namespace nb = nanobind;

namespace splitcast::python {

namespace {

std::string optionOf(nb::handle name) { return absl::StrReplaceAll(stringOf(name), {{"_", "-"}}); }

} // namespace

std::string textOf(nb::handle value) {
  if (nb::isinstance<nb::bool_>(value))
    return value.is(Py_True) ? "yes" : "no";
  if (nb::isinstance<nb::float_>(value))
    return stringOf(nb::repr(value));
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    std::vector<std::string> parts;
    for (nb::handle part : value)
      parts.push_back(textOf(part));
    return absl::StrJoin(parts, ",");
  }
  return stringOf(value);
}

std::string textOf(const nb::dict &keywords) {
  std::vector<std::string> parts;
  for (const auto &[name, value] : keywords)
    if (!value.is_none())
      parts.push_back(absl::StrCat(optionOf(name), "=", textOf(value)));
  return absl::StrJoin(parts, ",");
}

absl::Status parseKeywords(Flags &flags, const nb::dict &keywords) {
  std::vector<std::string> arguments = {"python"};
  for (const auto &[name, value] : keywords) {
    if (value.is_none() || value.is(Py_False))
      continue;
    const std::string flag = absl::StrCat("--", optionOf(name));
    arguments.push_back(value.is(Py_True) ? flag : absl::StrCat(flag, "=", textOf(value)));
  }
  std::vector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());
  return flags.parse(static_cast<int>(pointers.size()), pointers.data());
}

} // namespace splitcast::python
