// Python's functions for the ops, optimizers and learning-rate schedules that
// bind_ops.py finds in the headers.
#include "compiler/python/BindGraph.h"
#include "compiler/python/Errors.h"
#include "compiler/python/Keywords.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace nb = nanobind;

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
std::string numbersText(const std::string &first, const nb::args &args, const nb::dict &keywords) {
  if (args.size() > 1)
    raiseInvalid(absl::StrCat("only '", first, "' may be given without its name, but ", args.size(),
                              " numbers are; name the others"));
  if (args.size() == 1 && keywords.contains(first))
    raiseInvalid(absl::StrCat("'", first, "' is given twice; give it once"));
  nb::dict all;
  if (args.size() == 1)
    all[first.c_str()] = nb::object(args[0]);
  for (const auto &[name, value] : keywords) // the structs hold flags as the numbers 0 and 1
    all[name] = nb::isinstance<nb::bool_>(value) ? nb::object(nb::int_(value)) : nb::borrow(value);
  return textOf(all);
}

/// Binds the class T and, for each struct in the table, a function that creates
/// a T from the struct's numbers.
template <typename T, typename Model, size_t count>
void bindNumbers(nb::module_ &module, const char *name, const char *doc, const NumbersText (&table)[count],
                 std::unique_ptr<Model> (*make)(std::string_view)) {
  nb::class_<T>(module, name, doc).def("__repr__", [](const T &of) { return reprOf(*of); });
  for (const NumbersText &row : table) {
    const std::unique_ptr<Model> defaults = make(row.key);
    const std::string first = defaults->numbers()[0].name;
    module.def(
        row.name,
        [key = row.key, first, make](const nb::args &args, const nb::kwargs &keywords) {
          std::unique_ptr<Model> model = make(key);
          if (const std::optional<std::string> wrong = model->parse(numbersText(first, args, keywords)))
            raiseInvalid(*wrong);
          return T(std::move(model));
        },
        nb::sig(signatureOf(row.name, *defaults, name).c_str()), row.doc);
  }
}

} // namespace

std::string reprOf(const Hyperparameters &of) {
  std::string text = absl::StrCat("<", std::string(of.name()));
  for (const Hyperparameter &number : of.numbers())
    absl::StrAppend(&text, ", ", number.name, "=", number.value);
  return text + ">";
}

std::string signatureOf(const std::string &function, const Hyperparameters &numbers, const char *result,
                        bool isMethod) {
  std::vector<std::string> parameters;
  if (isMethod)
    parameters = {"self", "*"};
  for (const Hyperparameter &number : numbers.numbers()) {
    if (parameters.size() == 1)
      parameters.push_back("*");
    const std::string typed = absl::StrCat(number.name, ": float");
    parameters.push_back(parameters.empty() ? typed : absl::StrCat(typed, " = ", number.value));
  }
  return absl::StrCat("def ", function, "(", absl::StrJoin(parameters, ", "), ") -> ", result);
}

void bindOptimizers(nb::module_ &module) {
  bindNumbers<Optimizer>(module, "Optimizer", "The rule by which a step updates variables, such as AdamW(lr=1e-3).",
                         kOptimizers, &nn::makeOptimizer);
  bindNumbers<RateSchedule>(module, "RateSchedule",
                            "The factor of the learning rate at each step, such as CosineRate(steps=1000).",
                            kRateSchedules, &nn::makeRate);
}

void bindOps(nb::module_ &module) { defineOps(module); }

} // namespace splitcast::python
