#include "compiler/python/Entries.h"

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
  const Py_ssize_t count = NB_LIST_GET_SIZE(expected.ptr());
  Py_ssize_t next = 0;
  for (Py_ssize_t i = 0; i < NB_LIST_GET_SIZE(holders.ptr()); ++i) {
    const nb::tuple names(keys[i]);
    for (Py_ssize_t j = 0; j < NB_TUPLE_GET_SIZE(names.ptr()); ++j, ++next)
      if (next == count || !isEntry(NB_LIST_GET_ITEM(holders.ptr(), i), NB_TUPLE_GET_ITEM(names.ptr(), j),
                                    NB_LIST_GET_ITEM(expected.ptr(), next)))
        return false;
  }
  return next == count;
}

bool haveLengths(const nb::list &sized, const nb::list &lengths) {
  const Py_ssize_t count = NB_LIST_GET_SIZE(sized.ptr());
  if (NB_LIST_GET_SIZE(lengths.ptr()) != count)
    return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Py_ssize_t now = PyObject_Size(NB_LIST_GET_ITEM(sized.ptr(), i));
    if (now < 0)
      PyErr_Clear();
    if (now != PyLong_AsSsize_t(NB_LIST_GET_ITEM(lengths.ptr(), i)))
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
