#include "compiler/python/BindGraph.h"
#include "compiler/python/Errors.h"
#include "compiler/python/Keywords.h"
#include "compiler/python/ThisRank.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>

namespace nb = nanobind;

namespace splitcast::python {

namespace {

/// Parses a ZeRO policy: a stage, "stage=3,keep=never", or a dict of the same
/// options.
sbp::Policy policyOf(const nb::object &said) {
  sbp::Policy policy;
  if (said.is_none())
    return policy;
  const std::string text = nb::isinstance<nb::int_>(said)   ? absl::StrCat("stage=", textOf(said))
                           : nb::isinstance<nb::dict>(said) ? textOf(nb::borrow<nb::dict>(said))
                                                            : textOf(said);
  if (const std::optional<std::string> wrong = sbp::parsePolicy(text, &policy))
    raiseInvalid(*wrong);
  return policy;
}

using Mesh = DictOf<int64_t>;

/// The axes of the mesh; without one a single axis with all ranks of the job.
std::vector<sbp::Axis> axesOf(const std::optional<Mesh> &mesh) {
  if (!mesh)
    return {{"dp", ThisRank::get().launch().size()}};
  std::vector<sbp::Axis> axes;
  for (const auto &[name, size] : *mesh) {
    int64_t ranks = 0;
    if (!nb::try_cast(size, ranks))
      raiseInvalid(absl::StrCat("mesh: ", stringOf(name), " is ", stringOf(nb::repr(size)),
                                ", which has the wrong type; it must be a number of ranks"));
    axes.push_back({stringOf(name), ranks});
  }
  return axes;
}

LossScale lossScaleOf(const nb::kwargs &numbers) { // a dict of this call alone
  const LossScale defaults;
  if (!numbers.contains("initial"))
    numbers["initial"] = defaults.initial;
  nn::LossScaleModel model{defaults};
  if (const std::optional<std::string> wrong = model.parse(textOf(numbers)))
    raiseInvalid(*wrong);
  return model.scale();
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// A keyword, the type that stubs give it, and the field of the options that it
/// sets. A value of None leaves the field as it is.
template <typename T> struct Option {
  const char *name, *type;
  void (*set)(T &options, const nb::object &value);
};

/// Reads the keywords `given` to the method `call`; an unknown keyword or a
/// value of the wrong type is an error.
template <typename T, size_t count>
T optionsOf(const char *call, const Option<T> (&table)[count], const nb::kwargs &given) {
  T options;
  for (const auto &[key, value] : given) {
    const std::string name = stringOf(key);
    const auto *found =
        std::find_if(std::begin(table), std::end(table), [&](const Option<T> &each) { return each.name == name; });
    if (found == std::end(table))
      raiseInvalid(absl::StrCat(
          call, " has no option '", name, "'; it has ",
          absl::StrJoin(table, ", ", [](std::string *to, const Option<T> &each) { absl::StrAppend(to, each.name); })));
    if (value.is_none())
      continue;
    try {
      found->set(options, nb::borrow(value));
    } catch (const nb::cast_error &) {
      raiseInvalid(absl::StrCat(call, ": ", name, " is ", stringOf(nb::repr(value)),
                                ", which has the wrong type; see help(splitcast.Graph.", call, ")"));
    }
  }
  return options;
}

/// The signature of a method: what comes before its options, these, and its result.
template <typename T, size_t count>
std::string optionsSignature(const char *before, const Option<T> (&table)[count], const char *result) {
  return absl::StrCat("def ", before, ", *, ",
                      absl::StrJoin(table, ", ",
                                    [](std::string *to, const Option<T> &each) {
                                      absl::StrAppend(to, each.name, ": ", each.type, " | None = None");
                                    }),
                      ") -> ", result);
}

sbp::AccumulateOrder orderOf(const nb::object &said) {
  const std::string text = stringOf(said);
  const std::optional<sbp::AccumulateOrder> order = sbp::parseAccumulateOrder(text);
  if (!order)
    raiseInvalid(absl::StrCat("accumulate_order is '", text, "'; it must be per-micro-batch or per-step"));
  return *order;
}

std::vector<std::string> namesOf(const nb::object &said) {
  std::vector<std::string> names = nb::cast<std::vector<std::string>>(said);
  if (names.empty())
    raiseInvalid("variables is empty, so that nothing would be trained; leave it out to train all that is trainable");
  return names;
}

constexpr Option<StepOptions> kStepOptions[] = {
    {"accumulate", "int", [](StepOptions &to, const nb::object &of) { to.accumulate = nb::cast<int64_t>(of); }},
    {"accumulate_order", "str", [](StepOptions &to, const nb::object &of) { to.accumulateOrder = orderOf(of); }},
    {"reproducible", "bool", [](StepOptions &to, const nb::object &of) { to.reproducible = nb::cast<Truth>(of); }},
    {"schedule", "RateSchedule",
     [](StepOptions &to, const nb::object &of) { to.schedule = nb::cast<RateSchedule>(of); }},
    {"clip_norm", "float", [](StepOptions &to, const nb::object &of) { to.clipNorm = nb::cast<double>(of); }},
    {"clip_value", "float", [](StepOptions &to, const nb::object &of) { to.clipValue = nb::cast<double>(of); }},
    {"gradient_norm", "bool", [](StepOptions &to, const nb::object &of) { to.gradientNorm = nb::cast<Truth>(of); }},
    {"loss_scale", "LossScale", [](StepOptions &to, const nb::object &of) { to.lossScale = nb::cast<LossScale>(of); }},
    {"groups", "collections.abc.Sequence[ParameterGroup]",
     [](StepOptions &to, const nb::object &of) { to.groups = nb::cast<std::vector<ParameterGroup>>(of); }},
    {"variables", "collections.abc.Sequence[str]",
     [](StepOptions &to, const nb::object &of) { to.variables = namesOf(of); }},
};
constexpr const char *kMinimizeDoc =
    "Makes the function a training step: differentiates the scalar loss and updates the variables that it depends "
    "on.\n\n"
    "accumulate (1): the number of micro-batches that the step is computed in. accumulate_order: when gradients of "
    "micro-batches are reduced, per-micro-batch or per-step. reproducible: whether sums over the batch are exact. "
    "schedule: a RateSchedule. clip_norm, clip_value: how gradients are clipped; give at most one. gradient_norm: "
    "whether the variable 'optimizer.gradient_norm' keeps the norm of all gradients before that. loss_scale: a "
    "LossScale. groups: a list of ParameterGroup. variables: the names of those that are trained, with stars for any "
    "characters; by default all that are trainable.";

constexpr Option<VariableOptions> kVariableOptions[] = {
    {"dtype", "ElementType", [](VariableOptions &to, const nb::object &of) { to.type = nb::cast<ElementType>(of); }},
    {"group", "str", [](VariableOptions &to, const nb::object &of) { to.group = nb::cast<std::string>(of); }},
    {"layout", "Layout | Sbp | collections.abc.Sequence[Sbp]",
     [](VariableOptions &to, const nb::object &of) { to.logical = layoutOf(nb::cast<LayoutLike>(of)); }},
    {"trainable", "bool", [](VariableOptions &to, const nb::object &of) { to.trainable = nb::cast<Truth>(of); }},
    {"policy", "int | str | dict[str, typing.Any]",
     [](VariableOptions &to, const nb::object &of) { to.policy = policyOf(of); }},
};
constexpr const char *kVariableDoc =
    "The value of a variable when the function begins. The first call with a name creates the variable.\n\ndtype "
    "(f32): its element type. group: the group that it is gathered and reduced with, by default the name up to its "
    "last dot. layout: the layout in which the graph reads it. trainable (True): whether the optimizer updates it. "
    "policy: how ZeRO treats it, as in group().";

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

void bindStepOptions(nb::module_ &module) {
  nb::class_<LossScale>(module, "LossScale", "The factor of the loss in backward, so that f16 can hold the gradients.")
      .def("__repr__", [](const LossScale &of) { return reprOf(nn::LossScaleModel{of}); })
      .def(
          "__init__", [](LossScale *self, const nb::kwargs &numbers) { new (self) LossScale(lossScaleOf(numbers)); },
          nb::sig(signatureOf("__init__", nn::LossScaleModel{LossScale()}, "None", /*isMethod=*/true).c_str()),
          "interval=0 keeps the scale as it is.");
  nb::class_<ParameterGroup>(module, "ParameterGroup", "Variables of a step that have an optimizer of their own.")
      .def(
          "__init__",
          [](ParameterGroup *self, std::string name, std::vector<std::string> patterns, const Optimizer &optimizer) {
            new (self) ParameterGroup{std::move(name), std::move(patterns), optimizer};
          },
          nb::arg("name"), nb::arg("patterns"), nb::arg("optimizer"),
          "patterns: matched against whole variable names; a star stands for any characters, as in \"*.bias\", and a "
          "star behind a backslash for itself.");
}

using GraphClass = nb::class_<OwnedGraph>;

void bindFunctions(GraphClass &graph) {
  graph.def(
      "function", [](OwnedGraph &of, const std::string &name) { of.graph.function(name, callerInPython()); },
      nb::arg("name"), "Begins a function, or continues it: the calls that follow belong to it.");
  graph.def(
      "input",
      [](OwnedGraph &of, const std::string &name, ElementType type, const std::vector<int64_t> &shape,
         const LayoutLike &layout) {
        for (const char *own : {"self", "function", "whole"}) // Session.run takes inputs as keywords
          if (name == own)
            raiseInvalid(absl::StrCat("an input is named '", name,
                                      "', which is a parameter of Session.run(); choose another name"));
        return of.graph.input(name, type, shape, layoutOf(layout), callerInPython());
      },
      nb::arg("name"), nb::arg("dtype"), nb::arg("shape"), nb::arg("layout").sig("Layout()") = Layout(),
      nb::keep_alive<0, 1>(),
      "An argument of the function with this global shape. With the layout split(0) each rank gives its own rows.");
  graph.def(
      "constant",
      [](OwnedGraph &of, ElementType type, const std::vector<int64_t> &shape, double value) {
        return of.graph.constant(type, shape, value, callerInPython());
      },
      nb::arg("dtype"), nb::arg("shape"), nb::arg("value"), nb::keep_alive<0, 1>(),
      "A tensor whose elements are all `value`, rounded to the type.");
  graph.def(
      "iota",
      [](OwnedGraph &of, ElementType type, const std::vector<int64_t> &shape, int64_t dim) {
        return of.graph.iota(type, shape, dim, callerInPython());
      },
      nb::arg("dtype"), nb::arg("shape"), nb::arg("dim"), nb::keep_alive<0, 1>(),
      "A tensor in which each element is its own index along dimension `dim`.");
  graph.def(
      "minimize",
      [](OwnedGraph &of, const Tensor &loss, const Optimizer &optimizer, const nb::kwargs &options) {
        of.graph.minimize(loss, optimizer, optionsOf<StepOptions>("minimize", kStepOptions, options), callerInPython());
      },
      nb::arg("loss"), nb::arg("optimizer"), nb::arg("options"),
      nb::sig(optionsSignature("minimize(self, loss: Tensor, optimizer: Optimizer", kStepOptions, "None").c_str()),
      kMinimizeDoc);
  graph.def(
      "assign",
      [](OwnedGraph &of, const std::string &variable, const Tensor &value) {
        of.graph.assign(variable, value, callerInPython());
      },
      nb::arg("variable"), nb::arg("value"),
      "Sets the value that a variable holds after the function, in its shape and type. The variable must not be "
      "trained.");
  graph.def(
      "output",
      [](OwnedGraph &of, const std::string &name, const Tensor &tensor) {
        of.graph.output(name, tensor, callerInPython());
      },
      nb::arg("name"), nb::arg("tensor"), "Makes the tensor a result of the function.");
}

void bindVariables(GraphClass &graph) {
  graph.def(
      "variable",
      [](OwnedGraph &of, const std::string &name, const std::vector<int64_t> &shape, const Init &init,
         const nb::kwargs &options) {
        return of.graph.variable(name, shape, init, optionsOf<VariableOptions>("variable", kVariableOptions, options),
                                 callerInPython());
      },
      nb::arg("name"), nb::arg("shape"), nb::arg("init"), nb::arg("options"), nb::keep_alive<0, 1>(),
      nb::sig(optionsSignature("variable(self, name: str, shape: collections.abc.Sequence[int], init: Init",
                               kVariableOptions, "Tensor")
                  .c_str()),
      kVariableDoc);
  graph.def(
      "group",
      [](OwnedGraph &of, const std::string &name, const PolicyLike &policy) {
        of.graph.group(name, policyOf(policy), callerInPython());
      },
      nb::arg("name"), nb::arg("policy").none(),
      "Sets how ZeRO treats the variables of a group and of the groups within it. policy: a stage, "
      "\"stage=3,keep=never\" or {\"stage\": 3}.");
  graph.def(
      "freeze",
      [](OwnedGraph &of, const std::vector<std::string> &patterns) { of.graph.freeze(patterns, callerInPython()); },
      nb::arg("patterns"),
      "Excludes variables from training: those created so far whose whole names match, as in [\"h0.*\"].");
  graph.def_prop_ro(
      "variable_names", [](const OwnedGraph &of) { return of.graph.variableNames(); },
      "The names of all variables in the order of their creation, without the optimizer's state.");
}

} // namespace

nb::class_<OwnedGraph> bindGraph(nb::module_ &module) {
  bindStepOptions(module);
  GraphClass graph(
      module, "Graph", nb::is_weak_referenceable(),
      "A model and its training, as functions on whole tensors.\n\nErrors in calls (shapes that do not fit, a name "
      "that is used twice) are recorded with their lines, and all raised together by compile() or text().");
  graph.def(
      "__init__",
      [](OwnedGraph *self, const std::optional<Mesh> &mesh, const std::optional<std::string> &device) {
        const std::string kind = device ? *device : ThisRank::get().launch().options().deviceKind;
        new (self) OwnedGraph{kind, Graph({kind, axesOf(mesh)})};
      },
      nb::arg("mesh") = nb::none(), nb::kw_only(), nb::arg("device") = nb::none(),
      "mesh: the axes of ranks, {\"dp\": 2, \"tp\": 2}; by default {\"dp\": size()}. device: the kind of device, by "
      "default the job's.");
  bindFunctions(graph);
  bindVariables(graph);
  graph.def(
      "text", [](OwnedGraph &of) { return valueOrRaise(of.graph.text()); },
      "The module as MLIR. Nothing can be added to the graph afterwards.");
  return graph;
}

} // namespace splitcast::python
