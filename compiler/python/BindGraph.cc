#include "compiler/python/BindGraph.h"
#include "compiler/python/Errors.h"
#include "compiler/python/Keywords.h"
#include "compiler/python/ThisRank.h"

#include "absl/strings/str_cat.h"

#include <pybind11/stl.h>

namespace py = pybind11;

namespace splitcast::python {

namespace {

/// A policy of ZeRO: a stage, "stage=3,keep=never", or a dict of the same.
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

/// None: one axis of all ranks of the job.
std::vector<sbp::Axis> axesOf(const py::object &mesh) {
  if (mesh.is_none())
    return {{"dp", ThisRank::get().launch().size()}};
  std::vector<sbp::Axis> axes;
  for (const auto &[name, size] : mesh.cast<py::dict>())
    axes.push_back({py::str(name), size.cast<int64_t>()});
  return axes;
}

LossScale lossScaleOf(const py::kwargs &numbers) {
  nn::LossScaleModel model{LossScale{}};
  if (const std::optional<std::string> wrong = model.parse(textOf(numbers)))
    raiseInvalid(*wrong);
  return model.scale();
}

void minimize(OwnedGraph &graph, const Tensor &loss, const Optimizer &optimizer, int64_t accumulate,
              const std::optional<std::string> &accumulateOrder, std::optional<bool> reproducible,
              const std::optional<RateSchedule> &schedule, std::optional<double> clipNorm,
              std::optional<double> clipValue, const std::optional<LossScale> &lossScale,
              const std::vector<ParameterGroup> &groups) {
  StepOptions options;
  options.accumulate = accumulate;
  if (accumulateOrder) {
    options.accumulateOrder = sbp::parseAccumulateOrder(*accumulateOrder);
    if (!options.accumulateOrder)
      raiseInvalid(
          absl::StrCat("accumulate_order is '", *accumulateOrder, "'; it must be per-micro-batch or per-step"));
  }
  options.reproducible = reproducible;
  options.schedule = schedule;
  options.clipNorm = clipNorm;
  options.clipValue = clipValue;
  options.lossScale = lossScale;
  options.groups = groups;
  graph.graph.minimize(loss, optimizer, options, callerInPython());
}

Tensor variable(OwnedGraph &graph, const std::string &name, const std::vector<int64_t> &shape, const Init &init,
                ElementType type, const std::string &group, const Layout &layout, bool trainable,
                const py::object &policy) {
  VariableOptions options;
  options.type = type;
  options.group = group;
  options.logical = layout;
  options.trainable = trainable;
  options.policy = policyOf(policy);
  return graph.graph.variable(name, shape, init, options, callerInPython());
}

void bindStepOptions(py::module_ &module) {
  py::class_<LossScale>(module, "LossScale", "By what a loss is multiplied for backward, so that f16 holds gradients.")
      .def(py::init(&lossScaleOf), "Numbers: initial=65536, growth=2, backoff=0.5, interval=2000; 0: the scale stays.");
  py::class_<ParameterGroup>(module, "ParameterGroup", "Variables of a step that an optimizer of their own updates.")
      .def(py::init([](std::string name, std::vector<std::string> patterns, const Optimizer &optimizer) {
             return ParameterGroup{std::move(name), std::move(patterns), optimizer};
           }),
           py::arg("name"), py::arg("patterns"), py::arg("optimizer"),
           "Patterns are of whole names, where a star stands for any characters: \"*.bias\".");
}

} // namespace

py::class_<OwnedGraph, std::shared_ptr<OwnedGraph>> bindGraph(py::module_ &module) {
  bindStepOptions(module);
  py::class_<OwnedGraph, std::shared_ptr<OwnedGraph>> graph(
      module, "Graph",
      "A model and what is done with it, as functions on whole tensors.\n\nWhat is wrong with a call (shapes that do "
      "not fit, a name used twice) is noted with its line, and raised, all of it, by compile() or text().");
  graph.def(
      py::init([](const py::object &mesh, const std::optional<std::string> &device) {
        const std::string kind = device ? *device : ThisRank::get().launch().options().deviceKind;
        return std::make_shared<OwnedGraph>(OwnedGraph{kind, Graph({kind, axesOf(mesh)})});
      }),
      py::arg("mesh") = py::none(), py::kw_only(), py::arg("device") = py::none(),
      "mesh: the axes of ranks, {\"dp\": 2, \"tp\": 2}; by default {\"dp\": size()}. device: by default the job's.");
  graph.def(
      "function", [](OwnedGraph &of, const std::string &name) { of.graph.function(name, callerInPython()); },
      py::arg("name"), "Begins a function, or goes on with it: what follows belongs to it.");
  graph.def(
      "group",
      [](OwnedGraph &of, const std::string &name, const py::object &policy) {
        of.graph.group(name, policyOf(policy), callerInPython());
      },
      py::arg("name"), py::arg("policy"),
      "What ZeRO does with the variables of a group, and of those within it: a stage, \"stage=3,keep=never\" or "
      "{\"stage\": 3}.");
  graph.def(
      "input",
      [](OwnedGraph &of, const std::string &name, ElementType type, const std::vector<int64_t> &shape,
         const Layout &layout) { return of.graph.input(name, type, shape, layout, callerInPython()); },
      py::arg("name"), py::arg("dtype"), py::arg("shape"), py::arg("layout") = Layout(),
      "An argument of the function, of this global shape; split(0) gives each rank its rows.");
  graph.def("variable", &variable, py::arg("name"), py::arg("shape"), py::arg("init"), py::kw_only(),
            py::arg("dtype") = ElementType::F32, py::arg("group") = "", py::arg("layout") = Layout(),
            py::arg("trainable") = true, py::arg("policy") = py::none(),
            "The value that a variable has when the function begins; the first call of a name makes it.");
  graph.def(
      "iota",
      [](OwnedGraph &of, ElementType type, const std::vector<int64_t> &shape, int64_t dim) {
        return of.graph.iota(type, shape, dim, callerInPython());
      },
      py::arg("dtype"), py::arg("shape"), py::arg("dim"), "Each element is its index along dimension `dim`.");
  graph.def(
      "freeze",
      [](OwnedGraph &of, const std::vector<std::string> &patterns) { of.graph.freeze(patterns, callerInPython()); },
      py::arg("patterns"), "Variables made so far whose whole names match are not trained: [\"h0.*\"].");
  graph.def("minimize", &minimize, py::arg("loss"), py::arg("optimizer"), py::kw_only(), py::arg("accumulate") = 1,
            py::arg("accumulate_order") = py::none(), py::arg("reproducible") = py::none(),
            py::arg("schedule") = py::none(), py::arg("clip_norm") = py::none(), py::arg("clip_value") = py::none(),
            py::arg("loss_scale") = py::none(), py::arg("groups") = std::vector<ParameterGroup>(),
            "Makes the function a step of training: differentiates the scalar loss and updates what it depends on.\n\n"
            "accumulate: micro-batches that the step is computed in. accumulate_order: per-micro-batch or per-step. "
            "reproducible: sums over the batch are exact. clip_norm, clip_value: of gradients, one of them at most.");
  graph.def(
      "output",
      [](OwnedGraph &of, const std::string &name, const Tensor &tensor) {
        of.graph.output(name, tensor, callerInPython());
      },
      py::arg("name"), py::arg("tensor"), "A result of the function.");
  graph.def_property_readonly(
      "variable_names", [](const OwnedGraph &of) { return of.graph.variableNames(); },
      "In the order in which they were made; the optimizer's state is not among them.");
  graph.def(
      "text", [](OwnedGraph &of) { return valueOrRaise(of.graph.text()); },
      "The module as MLIR. Nothing can be added to the graph after.");
  return graph;
}

} // namespace splitcast::python
