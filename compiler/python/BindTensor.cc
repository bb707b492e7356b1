// Python's Tensor: operators, indices, and ops that take numbers in place of
// tensors.
#include "compiler/python/BindGraph.h"
#include "compiler/python/Errors.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cmath>

namespace nb = nanobind;

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

void define(nb::class_<Tensor> &tensor, const char *name, Of of) {
  tensor.def(
      name, [of](const Tensor &a, const Tensor &b) { return of(a, b, callerInPython()); }, nb::is_operator(),
      nb::keep_alive<0, 1>());
}

/// Defines an operator of two tensors, of a tensor and a number, and, if it has
/// a name for that, of a number and a tensor. Numbers are taken by `ofNumber`,
/// if there is a better way for floats than a constant.
void defineOperator(nb::class_<Tensor> &tensor, const char *name, const char *reflected, Of of,
                    Tensor (*ofNumber)(const Tensor &, double, Caller) = nullptr) {
  define(tensor, name, of);
  tensor.def(
      name,
      [=](const Tensor &a, double b) {
        const Caller at = callerInPython();
        const bool isFloat = a.isValid() && a.type() != ElementType::I32 && a.type() != ElementType::I64;
        return ofNumber && isFloat ? ofNumber(a, b, at) : of(a, numberLike(a, b, at), at);
      },
      nb::is_operator(), nb::keep_alive<0, 1>());
  if (reflected)
    tensor.def(
        reflected,
        [=](const Tensor &b, double a) {
          const Caller at = callerInPython();
          return of(numberLike(b, a, at), b, at);
        },
        nb::is_operator(), nb::keep_alive<0, 1>());
}

template <const char *predicate> Tensor compared(const Tensor &a, const Tensor &b, Caller at) {
  return compare(a, b, predicate, at);
}
constexpr char kEqual[] = "eq", kUnequal[] = "ne", kBelow[] = "lt", kAtMost[] = "le", kAbove[] = "gt",
               kAtLeast[] = "ge";

/// Raises an IndexError.
[[noreturn]] void raiseIndex(const std::string &message) { throw nb::index_error(message.c_str()); }

/// Where an index of an integer is, within a dimension.
int64_t placeOf(nb::handle index, int64_t dim, int64_t extent) {
  const nb::int_ number(index);
  int64_t given = 0;
  const bool fits = nb::try_cast(number, given);
  const int64_t place = given < 0 ? given + extent : given;
  if (!fits || place < 0 || place >= extent)
    raiseIndex(absl::StrCat("index ", stringOf(number), " is out of range for dimension ", dim, ", which has ", extent,
                            " elements"));
  return place;
}

/// The items of an index, which may be no tuple.
std::vector<nb::object> itemsOf(const nb::object &index) {
  if (!nb::isinstance<nb::tuple>(index))
    return {index};
  std::vector<nb::object> items;
  for (const nb::handle item : index)
    items.push_back(nb::borrow(item));
  return items;
}

/// x[...]: integers drop a dimension, slices keep it, None adds one.
Tensor elementsOf(const Tensor &x, const nb::object &index) {
  const Caller at = callerInPython();
  if (!x.isValid())
    return x;
  const std::vector<nb::object> items = itemsOf(index);
  const auto isNewAxis = [](nb::handle item) { return item.is_none(); };
  const auto isDots = [](nb::handle item) { return item.is(Py_Ellipsis); };
  const auto taken = static_cast<int64_t>(
      std::count_if(items.begin(), items.end(), [&](nb::handle item) { return !isNewAxis(item) && !isDots(item); }));
  const sbp::Shape from = x.shape();
  const auto rank = static_cast<int64_t>(from.size());
  if (taken > rank || std::count_if(items.begin(), items.end(), isDots) > 1)
    raiseIndex(absl::StrCat("a tensor of ", rank, " dimensions has ", taken,
                            " indices; it takes at most one for each, and one '...'"));
  Tensor result = x;
  sbp::Shape shape;
  int64_t dim = 0;
  for (const nb::object &item : items) {
    if (isNewAxis(item)) {
      shape.push_back(1);
    } else if (isDots(item)) {
      for (int64_t i = 0; i < rank - taken; ++i)
        shape.push_back(from[dim++]);
    } else if (nb::isinstance<nb::slice>(item)) {
      const auto [start, stop, step, length] = nb::borrow<nb::slice>(item).compute(from[dim]);
      if (step != 1)
        raiseIndex(absl::StrCat("a slice has step ", step, "; only 1 is supported"));
      const auto count = static_cast<int64_t>(length);
      if (count != from[dim])
        result = slice(result, dim, start, count, at);
      shape.push_back(count);
      ++dim;
    } else if (nb::isinstance<nb::int_>(item) || nb::hasattr(item, "__index__")) {
      result = slice(result, dim, placeOf(item, dim, from[dim]), 1, at);
      ++dim;
    } else {
      throw nb::type_error("a tensor is indexed by integers, slices, '...' and None; embedding() takes rows by a "
                           "tensor of integers");
    }
  }
  for (; dim < rank; ++dim)
    shape.push_back(from[dim]);
  return !result.isValid() || result.shape() == shape ? result : reshape(result, shape, at);
}

} // namespace

void bindTensor(nb::module_ &module) {
  nb::class_<Tensor> tensor(module, "Tensor", nb::is_weak_referenceable(),
                            "A value in a function of a graph: the whole tensor, whatever the number of ranks.");
  tensor.def_prop_ro(
      "shape", [](const Tensor &x) { return tupleOf(x.shape()); }, "The global shape; empty if the tensor is invalid.");
  tensor.def_prop_ro(
      "dtype", [](const Tensor &x) { return x.isValid() ? std::optional(x.type()) : std::nullopt; },
      "The type of the elements; None if the tensor is invalid.");
  tensor.def_prop_ro("is_valid", &Tensor::isValid,
                     "False if the call that made it was wrong; Graph.compile then raises the error.");
  tensor.def("__repr__", &toString);
  tensor.attr("__array_ufunc__") = nb::none(); // an array and a tensor are not added element by element
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
  tensor.def("__hash__", [](const nb::object &x) { return reinterpret_cast<intptr_t>(x.ptr()) >> 4; });
  tensor.def("__bool__", [](const Tensor &) -> bool {
    throw nb::type_error("a tensor of a graph is neither true nor false before the graph runs; select() chooses "
                         "elements by a condition");
  });
  tensor.def(
      "__pow__", [](const Tensor &x, double exponent) { return pow(x, exponent, callerInPython()); }, nb::is_operator(),
      nb::keep_alive<0, 1>());
  tensor.def("__abs__", [](const Tensor &x) { return abs(x, callerInPython()); }, nb::keep_alive<0, 1>());
  tensor.def("__getitem__", &elementsOf, nb::arg("index").none(), nb::keep_alive<0, 1>());
  tensor.def(
      "__neg__", [](const Tensor &x) { return neg(x, callerInPython()); }, nb::is_operator(), nb::keep_alive<0, 1>());
  tensor.def(
      "__matmul__", [](const Tensor &a, const Tensor &b) { return matmul(a, b, {}, callerInPython()); },
      nb::is_operator(), nb::keep_alive<0, 1>());
}

void bindNumbersForTensors(nb::module_ &module) {
  const auto ofTwo = [&](const char *name, Of of) {
    module.def(
        name,
        [of](const Tensor &a, double b) {
          const Caller at = callerInPython();
          return of(a, numberLike(a, b, at), at);
        },
        nb::arg("a"), nb::arg("b"), nb::keep_alive<0, 1>());
    module.def(
        name,
        [of](double a, const Tensor &b) {
          const Caller at = callerInPython();
          return of(numberLike(b, a, at), b, at);
        },
        nb::arg("a"), nb::arg("b"), nb::keep_alive<0, 2>());
  };
  ofTwo("maximum", &maximum);
  ofTwo("minimum", &minimum);
  module.def(
      "compare",
      [](const Tensor &a, double b, const std::string &predicate) {
        const Caller at = callerInPython();
        return compare(a, numberLike(a, b, at), predicate, at);
      },
      nb::arg("a"), nb::arg("b"), nb::arg("predicate"), nb::keep_alive<0, 1>());
  module.def(
      "select",
      [](const Tensor &condition, const Tensor &chosen, double other) {
        const Caller at = callerInPython();
        return select(condition, chosen, numberLike(chosen, other, at), at);
      },
      nb::arg("condition"), nb::arg("chosen"), nb::arg("other"), nb::keep_alive<0, 1>());
  module.def(
      "select",
      [](const Tensor &condition, double chosen, const Tensor &other) {
        const Caller at = callerInPython();
        return select(condition, numberLike(other, chosen, at), other, at);
      },
      nb::arg("condition"), nb::arg("chosen"), nb::arg("other"), nb::keep_alive<0, 1>());
}

} // namespace splitcast::python
