// Layers consist of variables and ops.
#include "compiler/graph/GraphState.h"

#include "absl/strings/str_cat.h"

#include <cmath>

namespace splitcast {
namespace {

bool isFloat(const Tensor &tensor) {
  return mlir::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(GraphBuilder::valueOf(tensor).getType()));
}

Tensor invalidOf(const Tensor &operand) {
  GraphState *state = GraphBuilder::stateOf(operand);
  return state ? GraphBuilder::tensor(*state, mlir::Value()) : Tensor();
}

/// Returns a variable as the function of the builder's operands reads it.
Tensor layerVariable(GraphBuilder &builder, const std::string &name, const sbp::Shape &shape, const Init &init,
                     ElementType type) {
  VariableOptions options;
  options.type = type;
  return builder.variable(builder.operandFunction(), name, shape, init, options);
}

} // namespace

Tensor linear(const Tensor &x, const std::string &name, int64_t outputs, const LinearOptions &options, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp(absl::StrCat("linear '", name, "'"), x, at);
  if (!builder)
    return invalidOf(x);
  if (x.shape().size() != 2 || x.shape()[1] < 1 || outputs < 1 || !isFloat(x))
    return builder->fail(absl::StrCat("gives ", outputs,
                                      " outputs; its operand must be floats of two dimensions, samples "
                                      "and inputs, and there must be at least one input and one output"));
  const int64_t inputs = x.shape()[1];
  const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
  const Init init = options.init.value_or(Init::uniform(-bound, bound));
  Tensor weight = layerVariable(*builder, absl::StrCat(name, ".weight"), {inputs, outputs}, init, x.type());
  Tensor product = matmul(x, weight, {}, at);
  if (!options.bias)
    return product;
  return add(product, layerVariable(*builder, absl::StrCat(name, ".bias"), {outputs}, init, x.type()), at);
}

Tensor convolution(const Tensor &x, const std::string &name, int64_t outputs, const std::vector<int64_t> &kernel,
                   const ConvolutionLayerOptions &options, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp(absl::StrCat("convolution '", name, "'"), x, at);
  if (!builder)
    return invalidOf(x);
  const bool isImage = x.shape().size() == 4 && isFloat(x) && kernel.size() == 2 && kernel[0] > 0 && kernel[1] > 0;
  if (!isImage || options.groups < 1 || outputs < 1 || x.shape()[1] < 1 || x.shape()[1] % options.groups != 0)
    return builder->fail(absl::StrCat("gives ", outputs, " outputs in ", options.groups,
                                      " groups; its operand must be floats [samples, channels, height, width] whose "
                                      "channels the groups divide, and the kernel must have two numbers above 0"));
  const int64_t channels = x.shape()[1] / options.groups;
  const double bound =
      1.0 / std::sqrt(static_cast<double>(channels) * static_cast<double>(kernel[0]) * static_cast<double>(kernel[1]));
  const Init init = Init::uniform(-bound, bound);
  Tensor weight =
      layerVariable(*builder, absl::StrCat(name, ".weight"), {outputs, channels, kernel[0], kernel[1]}, init, x.type());
  Tensor result = convolution(x, weight, {options.strides, options.padding, options.dilation}, at);
  if (!options.bias)
    return result;
  Tensor bias = layerVariable(*builder, absl::StrCat(name, ".bias"), {outputs}, init, x.type());
  return add(result, reshape(bias, {outputs, 1, 1}, at), at);
}

Tensor batchNorm(const Tensor &x, const std::string &name, const BatchNormOptions &options, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp(absl::StrCat("batchNorm '", name, "'"), x, at);
  if (!builder)
    return invalidOf(x);
  if (x.shape().size() != 4 || !isFloat(x) || sbp::numElements(x.shape()) == 0)
    return builder->fail("needs floats [samples, channels, height, width], with at least one of each");
  GraphFunction &function = builder->operandFunction();
  const int64_t channels = x.shape()[1], count = sbp::numElements(x.shape()) / channels;
  Tensor weight = layerVariable(*builder, absl::StrCat(name, ".weight"), {channels}, Init::constant(1.0), x.type());
  Tensor bias = layerVariable(*builder, absl::StrCat(name, ".bias"), {channels}, Init::zeros(), x.type());
  VariableOptions notTrained;
  notTrained.type = x.type();
  notTrained.trainable = false;
  const std::string meanName = absl::StrCat(name, ".running_mean"), varianceName = absl::StrCat(name, ".running_var");
  Tensor runningMean = builder->variable(function, meanName, {channels}, Init::zeros(), notTrained);
  Tensor runningVariance = builder->variable(function, varianceName, {channels}, Init::constant(1.0), notTrained);
  if (!options.training)
    return batchNorm(x, weight, bias, runningMean, runningVariance, options.epsilon, at);
  const std::vector<int64_t> dims = {0, 2, 3};
  Tensor batchMean = mean(x, dims, at), batchVariance = variance(x, dims, at);
  const double m = options.momentum,
               unbiased = static_cast<double>(count) / static_cast<double>(std::max<int64_t>(count - 1, 1));
  auto moved = [&](const Tensor &from, const Tensor &to, double factor) {
    return add(scale(from, 1.0 - m, at), scale(stopGradient(to, at), m * factor, at), at);
  };
  for (const auto &[variable, value] : {std::pair(meanName, moved(runningMean, batchMean, 1.0)),
                                        {varianceName, moved(runningVariance, batchVariance, unbiased)}})
    if (value.isValid())
      builder->assign(function, variable, value);
  return batchNorm(x, weight, bias, batchMean, batchVariance, options.epsilon, at);
}

Tensor layerNorm(const Tensor &x, const std::string &name, double epsilon, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp(absl::StrCat("layerNorm '", name, "'"), x, at);
  if (!builder)
    return invalidOf(x);
  if (x.shape().empty() || !isFloat(x))
    return builder->fail("works along the last dimension; its operand must be floats and have one");
  const int64_t width = x.shape().back();
  Tensor weight = layerVariable(*builder, absl::StrCat(name, ".weight"), {width}, Init::constant(1.0), x.type());
  return layerNorm(x, weight, layerVariable(*builder, absl::StrCat(name, ".bias"), {width}, Init::zeros(), x.type()),
                   epsilon, at);
}

Tensor embeddingTable(const Tensor &ids, const std::string &name, int64_t rows, int64_t width, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp(absl::StrCat("embeddingTable '", name, "'"), ids, at);
  if (!builder)
    return invalidOf(ids);
  if (rows < 1 || width < 1)
    return builder->fail(absl::StrCat("has ", rows, " rows of ", width, " elements; both must be at least 1"));
  Tensor table =
      layerVariable(*builder, absl::StrCat(name, ".weight"), {rows, width}, Init::normal(0.0, 1.0), ElementType::F32);
  return embedding(table, ids, at);
}

} // namespace splitcast
