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

/// Whether a dict has these entries, all of them and in this order.
bool areAllEntries(PyObject *dict, const nb::tuple &keys, PyObject *expected, Py_ssize_t first) {
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t place = 0;
  for (Py_ssize_t i = 0; PyDict_Next(dict, &place, &key, &value); ++i)
    if (key != NB_TUPLE_GET_ITEM(keys.ptr(), i) || value != NB_LIST_GET_ITEM(expected, first + i))
      return false;
  return true;
}

} // namespace

bool haveEntries(const nb::list &holders, const nb::list &keys, const nb::list &expected) {
  const Py_ssize_t count = NB_LIST_GET_SIZE(expected.ptr());
  Py_ssize_t next = 0;
  for (Py_ssize_t i = 0; i < NB_LIST_GET_SIZE(holders.ptr()); ++i) {
    const nb::tuple names(keys[i]);
    const Py_ssize_t size = NB_TUPLE_GET_SIZE(names.ptr());
    PyObject *holder = NB_LIST_GET_ITEM(holders.ptr(), i);
    if (PyDict_CheckExact(holder) && PyDict_Size(holder) == size) {
      if (next + size > count || !areAllEntries(holder, names, expected.ptr(), next))
        return false;
      next += size;
      continue;
    }
    for (Py_ssize_t j = 0; j < size; ++j, ++next)
      if (next == count || !isEntry(holder, NB_TUPLE_GET_ITEM(names.ptr(), j), NB_LIST_GET_ITEM(expected.ptr(), next)))
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
  module.def(
      "_have_entries", &haveEntries, nb::arg("holders"), nb::arg("keys"), nb::arg("expected"),
      "Whether each holder has, at each of its tuple of keys, the expected object, in this order: the same one, "
      "not an equal one. An entry that is missing is another object. The keys of a dict that are all that it has "
      "are compared with it in their order.");
  module.def("_have_lengths", &haveLengths, nb::arg("sized"), nb::arg("lengths"),
             "Whether each of these objects has its length of `lengths`. One whose length is an error has not.");
}

} // namespace splitcast::python
