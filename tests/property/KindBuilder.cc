#include "tests/property/KindBuilder.h"

#include "tests/property/TrainingOptions.h"

#include "absl/strings/str_cat.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace splitcast::property {

void KindBuilder::function(const std::string &name) {
  graph.function(name);
  current = name;
}

Tensor KindBuilder::input(const sbp::Shape &shape, const Layout &layout, Values values, ElementType type) {
  std::vector<Content> &own = inputs[current];
  own.push_back({shape, type, std::move(values)});
  return graph.input(absl::StrCat("x", own.size()), type, shape, layout);
}

Tensor KindBuilder::variable(const std::string &name, const sbp::Shape &shape, const Layout &layout, Values values,
                             ElementType type, bool trainable) {
  variables.try_emplace(name, Content{shape, type, std::move(values)});
  VariableOptions options;
  options.type = type;
  options.logical = layout;
  options.trainable = trainable;
  return graph.variable(name, shape, init, options);
}

differential::Tensor KindBuilder::draw(const Content &content, MLIRContext &context) {
  Builder b(&context);
  const Type element = content.type == ElementType::F32   ? Type(b.getF32Type())
                       : content.type == ElementType::F64 ? Type(b.getF64Type())
                                                          : Type(b.getI64Type());
  auto tensor = differential::Tensor::zeros(content.shape, element);
  for (int64_t i = 0; i < tensor.numElements(); ++i) {
    const double value = content.values(i);
    if (element.isF32())
      tensor.floats[i] = static_cast<float>(value);
    else if (element.isF64())
      tensor.floats[i] = value;
    else
      tensor.integers[i] = static_cast<int64_t>(value);
  }
  return tensor;
}

GeneratedGraph KindBuilder::finish(Feature kind, MLIRContext &context, function_ref<void(Ways &)> change) {
  const absl::StatusOr<std::string> text = graph.text();
  if (!text.ok())
    llvm::report_fatal_error(text.status().ToString().c_str());
  GeneratedGraph result;
  result.module = parseSourceString<ModuleOp>(*text, &context);
  result.halfRounding = halfRoundingOf(*result.module);
  for (const auto &[name, content] : variables)
    result.experiment.initial[name] = draw(content, context);
  for (const std::string &name : calls) {
    auto &call = result.experiment.calls.emplace_back(differential::Call{name, {}});
    for (const Content &input : inputs[name])
      call.inputs.push_back(draw(input, context));
  }
  result.configurations = randomConfigurations(random, sbp::placementOf(*result.module));
  change(result.configurations);
  result.features.insert(toString(kind));
  return result;
}

StepOptions someNorm(Random &random) {
  StepOptions options;
  options.gradientNorm = random.chance(20);
  return options;
}

void recomputeInSecond(Ways &ways) { ways.back().recompute = sbp::Recompute::Yes; }

} // namespace splitcast::property
