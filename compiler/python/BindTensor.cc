// Python's Tensor: operators, indices, and ops that take numbers in place of
// tensors.
#include "compiler/python/BindGraph.h"
#include "compiler/python/Errors.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cmath>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace splitcast::python {

namespace {

std::string toString(const Tensor &tensor) {
  if (!tensor.isValid())
    return "<splitcast.Tensor, invalid: Graph.compile raises the error>";
  return absl::StrCat("<splitcast.Tensor [", absl::StrJoin(tensor.shape(), ", "), "] ", nameOf(tensor.type()), ">");
}

/// Returns the number as a tensor like `x`.
Tensor numberLike(const Tensor &x, double number, Caller at) {
  const bool isInteger = x.isValid() && (x.type() == ElementType::I32 || x.type() == ElementType::I64);
  if (isInteger && number != std::floor(number))
    raiseInvalid(absl::StrCat("a tensor of ", nameOf(x.type()), " meets ", number,
                              ", which is no integer; cast() the tensor to a floating-point type"));
  return constantLike(x, number, at);
}

using Of = Tensor (*)(const Tensor &, const Tensor &, Caller);

void define(py::class_<Tensor> &tensor, const char *name, Of of) {
  tensor.def(
      name, [of](const Tensor &a, const Tensor &b) { return of(a, b, callerInPython()); }, py::is_operator(),
      py::keep_alive<0, 1>());
}

/// Defines an operator of two tensors, of a tensor and a number, and, if it has
/// a name for that, of a number and a tensor. Numbers are taken by `ofNumber`,
/// if there is a better way for floats than a constant.
void defineOperator(py::class_<Tensor> &tensor, const char *name, const char *reflected, Of of,
                    Tensor (*ofNumber)(const Tensor &, double, Caller) = nullptr) {
  define(tensor, name, of);
  tensor.def(
      name,
      [=](const Tensor &a, double b) {
        const Caller at = callerInPython();
        const bool isFloat = a.isValid() && a.type() != ElementType::I32 && a.type() != ElementType::I64;
        return ofNumber && isFloat ? ofNumber(a, b, at) : of(a, numberLike(a, b, at), at);
      },
      py::is_operator(), py::keep_alive<0, 1>());
  if (reflected)
    tensor.def(
        reflected,
        [=](const Tensor &b, double a) {
          const Caller at = callerInPython();
          return of(numberLike(b, a, at), b, at);
        },
        py::is_operator(), py::keep_alive<0, 1>());
}

template <const char *predicate> Tensor compared(const Tensor &a, const Tensor &b, Caller at) {
  return compare(a, b, predicate, at);
}
constexpr char kEqual[] = "eq", kUnequal[] = "ne", kBelow[] = "lt", kAtMost[] = "le", kAbove[] = "gt",
               kAtLeast[] = "ge";

/// x[...]: integers drop a dimension, slices keep it, None adds one.
Tensor elementsOf(const Tensor &x, const py::object &index) {
  const Caller at = callerInPython();
  if (!x.isValid())
    return x;
  const py::tuple items = py::isinstance<py::tuple>(index) ? index.cast<py::tuple>() : py::make_tuple(index);
  const auto isNewAxis = [](const py::handle &item) { return item.is_none(); };
  const auto isDots = [](const py::handle &item) { return item.is(py::ellipsis()); };
  const auto taken = static_cast<int64_t>(
      std::count_if(items.begin(), items.end(), [&](const auto &item) { return !isNewAxis(item) && !isDots(item); }));
  const sbp::Shape from = x.shape();
  const auto rank = static_cast<int64_t>(from.size());
  if (taken > rank || std::count_if(items.begin(), items.end(), isDots) > 1)
    throw py::index_error(absl::StrCat("a tensor of ", rank, " dimensions has ", taken,
                                       " indices; it takes at most one for each, and one '...'"));
  Tensor result = x;
  sbp::Shape shape;
  int64_t dim = 0;
  for (const py::handle item : items) {
    if (isNewAxis(item)) {
      shape.push_back(1);
    } else if (isDots(item)) {
      for (int64_t i = 0; i < rank - taken; ++i)
        shape.push_back(from[dim++]);
    } else if (py::isinstance<py::slice>(item)) {
      py::ssize_t start = 0, stop = 0, step = 0, count = 0;
      if (!item.cast<py::slice>().compute(from[dim], &start, &stop, &step, &count))
        throw py::error_already_set();
      if (step != 1)
        throw py::index_error(absl::StrCat("a slice has step ", step, "; only 1 is supported"));
      if (count != from[dim])
        result = slice(result, dim, start, count, at);
      shape.push_back(count);
      ++dim;
    } else if (py::isinstance<py::int_>(item) || py::hasattr(item, "__index__")) {
      const int64_t given = py::int_(py::reinterpret_borrow<py::object>(item)).cast<int64_t>();
      const int64_t place = given < 0 ? given + from[dim] : given;
      if (place < 0 || place >= from[dim])
        throw py::index_error(absl::StrCat("index ", given, " is out of range for dimension ", dim, ", which has ",
                                           from[dim], " elements"));
      result = slice(result, dim, place, 1, at);
      ++dim;
    } else {
      throw py::type_error("a tensor is indexed by integers, slices, '...' and None; embedding() takes rows by a "
                           "tensor of integers");
    }
  }
  for (; dim < rank; ++dim)
    shape.push_back(from[dim]);
  return !result.isValid() || result.shape() == shape ? result : reshape(result, shape, at);
}

} // namespace

void bindTensor(py::module_ &module) {
  py::class_<Tensor> tensor(module, "Tensor",
                            "A value in a function of a graph: the whole tensor, whatever the number of ranks.");
  tensor.def_property_readonly(
      "shape", [](const Tensor &x) { return py::tuple(py::cast(x.shape())); },
      "The global shape; empty if the tensor is invalid.");
  tensor.def_property_readonly(
      "dtype", [](const Tensor &x) { return x.isValid() ? py::cast(x.type()) : py::none(); },
      "The type of the elements; None if the tensor is invalid.");
  tensor.def_property_readonly("is_valid", &Tensor::isValid,
                               "False if the call that made it was wrong; Graph.compile then raises the error.");
  tensor.def("__repr__", &toString);
  tensor.attr("__array_ufunc__") = py::none(); // an array and a tensor are not added element by element
  defineOperator(tensor, "__add__", "__radd__", &add, &shift);
  defineOperator(tensor, "__sub__", "__rsub__", &sub,
                 [](const Tensor &x, double b, Caller at) { return shift(x, -b, at); });
  defineOperator(tensor, "__mul__", "__rmul__", &mul, &scale);
  defineOperator(tensor, "__truediv__", "__rtruediv__", &div,
                 [](const Tensor &x, double b, Caller at) { return scale(x, 1 / b, at); });
  // Python mirrors comparisons by itself.
  defineOperator(tensor, "__eq__", nullptr, &compared<kEqual>);
  defineOperator(tensor, "__ne__", nullptr, &compared<kUnequal>);
  defineOperator(tensor, "__lt__", nullptr, &compared<kBelow>);
  defineOperator(tensor, "__le__", nullptr, &compared<kAtMost>);
  defineOperator(tensor, "__gt__", nullptr, &compared<kAbove>);
  defineOperator(tensor, "__ge__", nullptr, &compared<kAtLeast>);
  tensor.def("__hash__", [](const py::object &x) { return reinterpret_cast<intptr_t>(x.ptr()) >> 4; });
  tensor.def("__bool__", [](const Tensor &) -> bool {
    throw py::type_error("a tensor of a graph is neither true nor false before the graph runs; select() chooses "
                         "elements by a condition");
  });
  tensor.def(
      "__pow__", [](const Tensor &x, double exponent) { return pow(x, exponent, callerInPython()); }, py::is_operator(),
      py::keep_alive<0, 1>());
  tensor.def("__abs__", [](const Tensor &x) { return abs(x, callerInPython()); }, py::keep_alive<0, 1>());
  tensor.def("__getitem__", &elementsOf, py::arg("index"), py::keep_alive<0, 1>());
  tensor.def(
      "__neg__", [](const Tensor &x) { return neg(x, callerInPython()); }, py::is_operator(), py::keep_alive<0, 1>());
  tensor.def(
      "__matmul__", [](const Tensor &a, const Tensor &b) { return matmul(a, b, {}, callerInPython()); },
      py::is_operator(), py::keep_alive<0, 1>());
}

void bindNumbersForTensors(py::module_ &module) {
  const auto ofTwo = [&](const char *name, Of of) {
    module.def(
        name,
        [of](const Tensor &a, double b) {
          const Caller at = callerInPython();
          return of(a, numberLike(a, b, at), at);
        },
        py::arg("a"), py::arg("b"), py::keep_alive<0, 1>());
    module.def(
        name,
        [of](double a, const Tensor &b) {
          const Caller at = callerInPython();
          return of(numberLike(b, a, at), b, at);
        },
        py::arg("a"), py::arg("b"), py::keep_alive<0, 2>());
  };
  ofTwo("maximum", &maximum);
  ofTwo("minimum", &minimum);
  module.def(
      "compare",
      [](const Tensor &a, double b, const std::string &predicate) {
        const Caller at = callerInPython();
        return compare(a, numberLike(a, b, at), predicate, at);
      },
      py::arg("a"), py::arg("b"), py::arg("predicate"), py::keep_alive<0, 1>());
  module.def(
      "select",
      [](const Tensor &condition, const Tensor &chosen, double other) {
        const Caller at = callerInPython();
        return select(condition, chosen, numberLike(chosen, other, at), at);
      },
      py::arg("condition"), py::arg("chosen"), py::arg("other"), py::keep_alive<0, 1>());
  module.def(
      "select",
      [](const Tensor &condition, double chosen, const Tensor &other) {
        const Caller at = callerInPython();
        return select(condition, numberLike(other, chosen, at), other, at);
      },
      py::arg("condition"), py::arg("chosen"), py::arg("other"), py::keep_alive<0, 1>());
}

} // namespace splitcast::python
