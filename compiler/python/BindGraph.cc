#include "compiler/python/BindGraph.h"
#include "compiler/python/Errors.h"
#include "compiler/python/Keywords.h"
#include "compiler/python/ThisRank.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <pybind11/stl.h>

namespace py = pybind11;

namespace splitcast::python {

namespace {

/// Parses a ZeRO policy: a stage, "stage=3,keep=never", or a dict of the same
/// options.
sbp::Policy policyOf(const py::object &said) {
  sbp::Policy policy;
  if (said.is_none())
    return policy;
  const std::string text = py::isinstance<py::int_>(said)   ? absl::StrCat("stage=", textOf(said))
                           : py::isinstance<py::dict>(said) ? textOf(said.cast<py::dict>())
                                                            : textOf(said);
  if (const std::optional<std::string> wrong = sbp::parsePolicy(text, &policy))
    raiseInvalid(*wrong);
  return policy;
}

/// The axes of the mesh; for None a single axis with all ranks of the job.
std::vector<sbp::Axis> axesOf(const py::object &mesh) {
  if (mesh.is_none())
    return {{"dp", ThisRank::get().launch().size()}};
  std::vector<sbp::Axis> axes;
  for (const auto &[name, size] : mesh.cast<py::dict>())
    axes.push_back({py::str(name), size.cast<int64_t>()});
  return axes;
}

LossScale lossScaleOf(const py::kwargs &numbers) { // a dict of this call alone
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

/// A keyword and the field of the options that it sets. A value of None leaves
/// the field as it is.
template <typename T> struct Option {
  const char *name;
  void (*set)(T &options, const py::object &value);
};

/// Reads the keywords `given` to the method `call`; an unknown keyword or a
/// value of the wrong type is an error.
template <typename T, size_t count>
T optionsOf(const char *call, const Option<T> (&table)[count], const py::kwargs &given) {
  T options;
  for (const auto &[key, value] : given) {
    const std::string name = py::str(key);
    const auto *found =
        std::find_if(std::begin(table), std::end(table), [&](const Option<T> &each) { return each.name == name; });
    if (found == std::end(table))
      raiseInvalid(absl::StrCat(
          call, " has no option '", name, "'; it has ",
          absl::StrJoin(table, ", ", [](std::string *to, const Option<T> &each) { absl::StrAppend(to, each.name); })));
    if (value.is_none())
      continue;
    try {
      found->set(options, py::reinterpret_borrow<py::object>(value));
    } catch (const py::cast_error &) {
      raiseInvalid(absl::StrCat(call, ": ", name, " is ", std::string(py::repr(value)),
                                ", which has the wrong type; see help(splitcast.Graph.", call, ")"));
    }
  }
  return options;
}

sbp::AccumulateOrder orderOf(const py::object &said) {
  const std::string text = py::str(said);
  const std::optional<sbp::AccumulateOrder> order = sbp::parseAccumulateOrder(text);
  if (!order)
    raiseInvalid(absl::StrCat("accumulate_order is '", text, "'; it must be per-micro-batch or per-step"));
  return *order;
}

std::vector<std::string> namesOf(const py::object &said) {
  std::vector<std::string> names = said.cast<std::vector<std::string>>();
  if (names.empty())
    raiseInvalid("variables is empty, so that nothing would be trained; leave it out to train all that is trainable");
  return names;
}

constexpr Option<StepOptions> kStepOptions[] = {
    {"accumulate", [](StepOptions &to, const py::object &of) { to.accumulate = of.cast<int64_t>(); }},
    {"accumulate_order", [](StepOptions &to, const py::object &of) { to.accumulateOrder = orderOf(of); }},
    {"reproducible", [](StepOptions &to, const py::object &of) { to.reproducible = of.cast<bool>(); }},
    {"schedule", [](StepOptions &to, const py::object &of) { to.schedule = of.cast<RateSchedule>(); }},
    {"clip_norm", [](StepOptions &to, const py::object &of) { to.clipNorm = of.cast<double>(); }},
    {"clip_value", [](StepOptions &to, const py::object &of) { to.clipValue = of.cast<double>(); }},
    {"gradient_norm", [](StepOptions &to, const py::object &of) { to.gradientNorm = of.cast<bool>(); }},
    {"loss_scale", [](StepOptions &to, const py::object &of) { to.lossScale = of.cast<LossScale>(); }},
    {"groups", [](StepOptions &to, const py::object &of) { to.groups = of.cast<std::vector<ParameterGroup>>(); }},
    {"variables", [](StepOptions &to, const py::object &of) { to.variables = namesOf(of); }},
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
    {"dtype", [](VariableOptions &to, const py::object &of) { to.type = of.cast<ElementType>(); }},
    {"group", [](VariableOptions &to, const py::object &of) { to.group = of.cast<std::string>(); }},
    {"layout", [](VariableOptions &to, const py::object &of) { to.logical = of.cast<Layout>(); }},
    {"trainable", [](VariableOptions &to, const py::object &of) { to.trainable = of.cast<bool>(); }},
    {"policy", [](VariableOptions &to, const py::object &of) { to.policy = policyOf(of); }},
};
constexpr const char *kVariableDoc =
    "The value of a variable when the function begins. The first call with a name creates the variable.\n\ndtype "
    "(f32): its element type. group: the group that it is gathered and reduced with, by default the name up to its "
    "last dot. layout: the layout in which the graph reads it. trainable (True): whether the optimizer updates it. "
    "policy: how ZeRO treats it, as in group().";

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

void bindStepOptions(py::module_ &module) {
  py::class_<LossScale>(module, "LossScale", "The factor of the loss in backward, so that f16 can hold the gradients.")
      .def("__repr__", [](const LossScale &of) { return reprOf(nn::LossScaleModel{of}); })
      .def(py::init(&lossScaleOf),
           "Numbers: initial=65536, growth=2, backoff=0.5, interval=2000; interval=0 keeps the scale as it is.");
  py::class_<ParameterGroup>(module, "ParameterGroup", "Variables of a step that have an optimizer of their own.")
      .def(py::init([](std::string name, std::vector<std::string> patterns, const Optimizer &optimizer) {
             return ParameterGroup{std::move(name), std::move(patterns), optimizer};
           }),
           py::arg("name"), py::arg("patterns"), py::arg("optimizer"),
           "patterns: matched against whole variable names; a star stands for any characters, as in \"*.bias\", and a "
           "star "
           "behind a backslash for itself.");
}

using GraphClass = py::class_<OwnedGraph, std::shared_ptr<OwnedGraph>>;

void bindFunctions(GraphClass &graph) {
  graph.def(
      "function", [](OwnedGraph &of, const std::string &name) { of.graph.function(name, callerInPython()); },
      py::arg("name"), "Begins a function, or continues it: the calls that follow belong to it.");
  graph.def(
      "input",
      [](OwnedGraph &of, const std::string &name, ElementType type, const std::vector<int64_t> &shape,
         const Layout &layout) {
        for (const char *own : {"self", "function", "whole"}) // Session.run takes inputs as keywords
          if (name == own)
            raiseInvalid(absl::StrCat("an input is named '", name,
                                      "', which is a parameter of Session.run(); choose another name"));
        return of.graph.input(name, type, shape, layout, callerInPython());
      },
      py::arg("name"), py::arg("dtype"), py::arg("shape"), py::arg("layout") = Layout(), py::keep_alive<0, 1>(),
      "An argument of the function with this global shape. With the layout split(0) each rank gives its own rows.");
  graph.def(
      "constant",
      [](OwnedGraph &of, ElementType type, const std::vector<int64_t> &shape, double value) {
        return of.graph.constant(type, shape, value, callerInPython());
      },
      py::arg("dtype"), py::arg("shape"), py::arg("value"), py::keep_alive<0, 1>(),
      "A tensor whose elements are all `value`, rounded to the type.");
  graph.def(
      "iota",
      [](OwnedGraph &of, ElementType type, const std::vector<int64_t> &shape, int64_t dim) {
        return of.graph.iota(type, shape, dim, callerInPython());
      },
      py::arg("dtype"), py::arg("shape"), py::arg("dim"), py::keep_alive<0, 1>(),
      "A tensor in which each element is its own index along dimension `dim`.");
  graph.def(
      "minimize",
      [](OwnedGraph &of, const Tensor &loss, const Optimizer &optimizer, const py::kwargs &options) {
        of.graph.minimize(loss, optimizer, optionsOf<StepOptions>("minimize", kStepOptions, options), callerInPython());
      },
      py::arg("loss"), py::arg("optimizer"), kMinimizeDoc);
  graph.def(
      "assign",
      [](OwnedGraph &of, const std::string &variable, const Tensor &value) {
        of.graph.assign(variable, value, callerInPython());
      },
      py::arg("variable"), py::arg("value"),
      "Sets the value that a variable holds after the function, in its shape and type. The variable must not be "
      "trained.");
  graph.def(
      "output",
      [](OwnedGraph &of, const std::string &name, const Tensor &tensor) {
        of.graph.output(name, tensor, callerInPython());
      },
      py::arg("name"), py::arg("tensor"), "Makes the tensor a result of the function.");
}

void bindVariables(GraphClass &graph) {
  graph.def(
      "variable",
      [](OwnedGraph &of, const std::string &name, const std::vector<int64_t> &shape, const Init &init,
         const py::kwargs &options) {
        return of.graph.variable(name, shape, init, optionsOf<VariableOptions>("variable", kVariableOptions, options),
                                 callerInPython());
      },
      py::arg("name"), py::arg("shape"), py::arg("init"), py::keep_alive<0, 1>(), kVariableDoc);
  graph.def(
      "group",
      [](OwnedGraph &of, const std::string &name, const py::object &policy) {
        of.graph.group(name, policyOf(policy), callerInPython());
      },
      py::arg("name"), py::arg("policy"),
      "Sets how ZeRO treats the variables of a group and of the groups within it. policy: a stage, "
      "\"stage=3,keep=never\" or {\"stage\": 3}.");
  graph.def(
      "freeze",
      [](OwnedGraph &of, const std::vector<std::string> &patterns) { of.graph.freeze(patterns, callerInPython()); },
      py::arg("patterns"),
      "Excludes variables from training: those created so far whose whole names match, as in [\"h0.*\"].");
  graph.def_property_readonly(
      "variable_names", [](const OwnedGraph &of) { return of.graph.variableNames(); },
      "The names of all variables in the order of their creation, without the optimizer's state.");
}

} // namespace

py::class_<OwnedGraph, std::shared_ptr<OwnedGraph>> bindGraph(py::module_ &module) {
  bindStepOptions(module);
  GraphClass graph(
      module, "Graph",
      "A model and its training, as functions on whole tensors.\n\nErrors in calls (shapes that do not fit, a name "
      "that is used twice) are recorded with their lines, and all raised together by compile() or text().");
  graph.def(
      py::init([](const py::object &mesh, const std::optional<std::string> &device) {
        const std::string kind = device ? *device : ThisRank::get().launch().options().deviceKind;
        return std::make_shared<OwnedGraph>(OwnedGraph{kind, Graph({kind, axesOf(mesh)})});
      }),
      py::arg("mesh") = py::none(), py::kw_only(), py::arg("device") = py::none(),
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
