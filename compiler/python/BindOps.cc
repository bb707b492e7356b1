// Python's functions for the ops, optimizers and learning-rate schedules that
// bind_ops.py finds in the headers.
#include "compiler/python/BindGraph.h"
#include "compiler/python/Errors.h"
#include "compiler/python/Keywords.h"

#include "absl/strings/str_cat.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace splitcast::python {

namespace {

/// A struct of numbers: its name in C++ and Python, its name in texts, and its
/// comment.
struct NumbersText {
  const char *name, *key, *doc;
};

#include "compiler/python/Ops.inc"

/// Writes the arguments as "lr=0.001,weight-decay=0.1". The first number, which
/// has no default, may be given without its name.
std::string numbersText(const std::string &first, const py::args &args, const py::dict &keywords) {
  if (args.size() > 1)
    raiseInvalid(absl::StrCat("only '", first, "' may be given without its name, but ", args.size(),
                              " numbers are; name the others"));
  if (args.size() == 1 && keywords.contains(first))
    raiseInvalid(absl::StrCat("'", first, "' is given twice; give it once"));
  py::dict all;
  if (args.size() == 1)
    all[py::str(first)] = args[0];
  for (const auto &[name, value] : keywords) // the structs hold flags as the numbers 0 and 1
    all[name] = py::isinstance<py::bool_>(value) ? py::object(py::int_(value.cast<bool>() ? 1 : 0))
                                                 : py::reinterpret_borrow<py::object>(value);
  return textOf(all);
}

/// The keywords as a docstring lists them, e.g. "lr, beta1=0.9"; the first has
/// no default.
std::string signatureOf(const Hyperparameters &numbers) {
  std::string text;
  for (const Hyperparameter &number : numbers.numbers())
    absl::StrAppend(&text, text.empty() ? number.name : absl::StrCat(", ", number.name, "=", number.value));
  return text;
}

/// Binds the class T and, for each struct in the table, a function that creates
/// a T from the struct's numbers.
template <typename T, typename Model, size_t count>
void bindNumbers(py::module_ &module, const char *name, const char *doc, const NumbersText (&table)[count],
                 std::unique_ptr<Model> (*make)(std::string_view)) {
  py::class_<T>(module, name, doc).def("__repr__", [](const T &of) { return reprOf(*of); });
  for (const NumbersText &row : table) {
    const std::unique_ptr<Model> defaults = make(row.key);
    const std::string first = defaults->numbers()[0].name;
    const std::string text = absl::StrCat(row.doc, "\n\nNumbers: ", signatureOf(*defaults));
    module.def(
        row.name,
        [key = row.key, first, make](const py::args &args, const py::kwargs &keywords) {
          std::unique_ptr<Model> model = make(key);
          if (const std::optional<std::string> wrong = model->parse(numbersText(first, args, keywords)))
            raiseInvalid(*wrong);
          return T(std::move(model));
        },
        text.c_str());
  }
}

} // namespace

std::string reprOf(const Hyperparameters &of) {
  std::string text = absl::StrCat("<", std::string(of.name()));
  for (const Hyperparameter &number : of.numbers())
    absl::StrAppend(&text, ", ", number.name, "=", number.value);
  return text + ">";
}

void bindOptimizers(py::module_ &module) {
  bindNumbers<Optimizer>(module, "Optimizer", "The rule by which a step updates variables, such as AdamW(lr=1e-3).",
                         kOptimizers, &nn::makeOptimizer);
  bindNumbers<RateSchedule>(module, "RateSchedule",
                            "The factor of the learning rate at each step, such as CosineRate(steps=1000).",
                            kRateSchedules, &nn::makeRate);
}

void bindOps(py::module_ &module) { defineOps(module); }

} // namespace splitcast::python
