// Layers: variables and ops.
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

/// A variable of the function that the builder's operands are of.
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
                                      "and inputs, and there is at least one input and one output"));
  const int64_t inputs = x.shape()[1];
  const double bound = 1.0 / std::sqrt(static_cast<double>(inputs));
  const Init init = options.init.value_or(Init::uniform(-bound, bound));
  Tensor weight = layerVariable(*builder, absl::StrCat(name, ".weight"), {inputs, outputs}, init, x.type());
  Tensor product = matmul(x, weight, {}, at);
  if (!options.bias)
    return product;
  return add(product, layerVariable(*builder, absl::StrCat(name, ".bias"), {outputs}, init, x.type()), at);
}

Tensor layerNorm(const Tensor &x, const std::string &name, double epsilon, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp(absl::StrCat("layerNorm '", name, "'"), x, at);
  if (!builder)
    return invalidOf(x);
  if (x.shape().empty() || !isFloat(x))
    return builder->fail("works along the last dimension of floats; its operand must have one");
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
    return builder->fail(absl::StrCat("has ", rows, " rows of ", width, "; both are at least 1"));
  Tensor table =
      layerVariable(*builder, absl::StrCat(name, ".weight"), {rows, width}, Init::normal(0.0, 1.0), ElementType::F32);
  return embedding(table, ids, at);
}

} // namespace splitcast
