#include "compiler/python/Entries.h"

#include "compiler/python/Conversions.h"

namespace nb = nanobind;

namespace splitcast::python {

namespace {

/// Whether the entry of a holder is this object. An error, such as a missing key, is another object.
bool isEntry(PyObject *holder, PyObject *key, PyObject *expected) {
  const bool isDict = PyDict_CheckExact(holder);
  PyObject *now = isDict ? PyDict_GetItemWithError(holder, key) : PyObject_GetItem(holder, key);
  if (!now)
    PyErr_Clear();
  if (!isDict)
    Py_XDECREF(now);
  return now == expected;
}

} // namespace

bool haveEntries(const nb::list &holders, const nb::list &keys, const nb::list &expected) {
  const Py_ssize_t count = PyList_Size(expected.ptr());
  Py_ssize_t next = 0;
  for (Py_ssize_t i = 0; i < PyList_Size(holders.ptr()); ++i) {
    const nb::tuple names(keys[i]);
    for (Py_ssize_t j = 0; j < PyTuple_Size(names.ptr()); ++j, ++next)
      if (next == count || !isEntry(PyList_GetItem(holders.ptr(), i), PyTuple_GetItem(names.ptr(), j),
                                    PyList_GetItem(expected.ptr(), next)))
        return false;
  }
  return next == count;
}

bool haveLengths(const nb::list &sized, const nb::list &lengths) {
  const Py_ssize_t count = PyList_Size(sized.ptr());
  if (PyList_Size(lengths.ptr()) != count)
    return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Py_ssize_t now = PyObject_Size(PyList_GetItem(sized.ptr(), i));
    if (now < 0)
      PyErr_Clear();
    if (now != PyLong_AsSsize_t(PyList_GetItem(lengths.ptr(), i)))
      return false;
  }
  return true;
}

void bindEntries(nb::module_ &module) {
  module.def("_have_entries", &haveEntries, nb::arg("holders"), nb::arg("keys"), nb::arg("expected"),
             "Whether each holder has, at each of its tuple of keys, the expected object, in this order: the same one, "
             "not an equal one. An entry that is missing is another object.");
  module.def("_have_lengths", &haveLengths, nb::arg("sized"), nb::arg("lengths"),
             "Whether each of these objects has its length of `lengths`. One whose length is an error has not.");
}

} // namespace splitcast::python
