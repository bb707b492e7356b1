//===- Conversions.h - Python's values as those of C++, and their annotations ----===//
//
// What a parameter or result is in a stub and in help() is the name of its C++ type here, or of nanobind's own
// converters.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_COMPILER_PYTHON_CONVERSIONS_H
#define SPLITCAST_COMPILER_PYTHON_CONVERSIONS_H

#include "compiler/graph/Graph.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

namespace splitcast::python {

/// A bool, for which Python may give any object that is true or false, such as one of numpy.bool_.
struct Truth {
  bool is = false;
  operator bool() const { return is; } // NOLINT: it is one
};

/// A layout, which may be given as its one entry or as a list of them.
using LayoutLike = std::variant<Layout, sbp::Sbp, std::vector<sbp::Sbp>>;
inline Layout layoutOf(const LayoutLike &given) {
  return std::visit([](const auto &of) { return Layout(of); }, given);
}

/// A NumPy array.
class Array : public nanobind::object {
  static bool isAny(PyObject *) { return true; } // arrays come from NumPy alone

  NB_OBJECT_DEFAULT(Array, object, "numpy.typing.NDArray[typing.Any]", isAny)
};

template <typename Value> using DictOf = nanobind::typed<nanobind::dict, std::string, Value>;
using AnyDict = DictOf<nanobind::any>;
using Shape = nanobind::typed<nanobind::tuple, int64_t, nanobind::ellipsis>;
/// How ZeRO treats variables, in any of the forms that policyOf() reads.
using PolicyLike = nanobind::typed<nanobind::object, std::variant<int64_t, std::string, AnyDict>>;

/// Returns str(value).
std::string stringOf(nanobind::handle value);
/// Returns a tuple of integers.
Shape tupleOf(const std::vector<int64_t> &numbers);

} // namespace splitcast::python

namespace nanobind::detail {

// NOLINTBEGIN(readability-identifier-naming): nanobind calls them so.
template <> struct type_caster<splitcast::python::Truth> {
  NB_TYPE_CASTER(splitcast::python::Truth, const_name("bool"))

  bool from_python(handle source, uint8_t flags, cleanup_list *) noexcept {
    const int is = flags & static_cast<uint8_t>(cast_flags::convert) ? PyObject_IsTrue(source.ptr())
                   : PyBool_Check(source.ptr())                      ? source.ptr() == Py_True
                                                                     : -1;
    PyErr_Clear();
    value.is = is == 1;
    return is >= 0;
  }
  static handle from_cpp(splitcast::python::Truth truth, rv_policy, cleanup_list *) noexcept {
    return handle(truth.is ? Py_True : Py_False).inc_ref();
  }
};

/// Unlike other enumerations, no integer is one: a call with arguments in another order must fail.
template <> struct type_caster<splitcast::ElementType> {
  NB_TYPE_CASTER(splitcast::ElementType, const_name<splitcast::ElementType>())

  bool from_python(handle source, uint8_t, cleanup_list *) noexcept {
    int64_t number = 0;
    const bool isOne = enum_from_python(&typeid(splitcast::ElementType), source.ptr(), &number, 0);
    value = static_cast<splitcast::ElementType>(number);
    return isOne;
  }
  static handle from_cpp(splitcast::ElementType type, rv_policy, cleanup_list *) noexcept {
    return enum_from_cpp(&typeid(splitcast::ElementType), static_cast<int64_t>(type));
  }
};
// NOLINTEND(readability-identifier-naming)

} // namespace nanobind::detail

#endif // SPLITCAST_COMPILER_PYTHON_CONVERSIONS_H
