//===- Entries.h - Compares entries of many dicts -----------------------------------===//
//
// What the user's program is made of is some hundred objects, which are compared before each step. The lists belong to
// Python, whose collector sees through them.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_PYTHON_ENTRIES_H
#define SPLITCAST_COMPILER_PYTHON_ENTRIES_H

#include <nanobind/nanobind.h>

namespace splitcast::python {

/// Whether each of `holders` (dicts, or anything with __getitem__) has, at each of its tuple of `keys`, the object that
/// `expected` has, by identity. `expected` has one object per key of all holders, in order. Raises nothing: an entry
/// that is missing is another object.
bool haveEntries(const nanobind::list &holders, const nanobind::list &keys, const nanobind::list &expected);

/// Whether each of `sized` has its length of `lengths`, which are integers of at least 0. Raises nothing: an object
/// whose length is an error has not.
bool haveLengths(const nanobind::list &sized, const nanobind::list &lengths);

void bindEntries(nanobind::module_ &module);

} // namespace splitcast::python

#endif // SPLITCAST_COMPILER_PYTHON_ENTRIES_H
