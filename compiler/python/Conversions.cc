#include "compiler/python/Conversions.h"

namespace nb = nanobind;

namespace splitcast::python {

std::string stringOf(nb::handle value) {
  const nb::str text(value);
  Py_ssize_t size = 0;
  const char *bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (!bytes) // a half of a surrogate pair
    nb::raise_python_error();
  return {bytes, static_cast<size_t>(size)};
}

Shape tupleOf(const std::vector<int64_t> &numbers) {
  return nb::steal<Shape>(PySequence_Tuple(nb::cast(numbers).ptr()));
}

} // namespace splitcast::python
