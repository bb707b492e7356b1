// The ops and layers of a graph. What a builder of an op takes for granted (ranks, dimensions) is checked before; the
// rest is the op's own verifier.
#include "compiler/GraphState.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace splitcast {
namespace {

mlir::Value valueOf(const Tensor &tensor) { return GraphBuilder::valueOf(tensor); }

/// The invalid tensor of the graph that the operands are of.
Tensor invalidOf(llvm::ArrayRef<Tensor> operands) {
  for (const Tensor &operand : operands)
    if (GraphState *state = GraphBuilder::stateOf(operand))
      return GraphBuilder::tensor(*state, mlir::Value());
  return {};
}

bool isFloat(const Tensor &tensor) {
  return mlir::isa<mlir::FloatType>(mlir::getElementTypeOrSelf(valueOf(tensor).getType()));
}

template <typename OpTy, typename... Args> Tensor unary(const char *name, const Tensor &x, Args... args) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp(name, x);
  return builder ? builder->make<OpTy>(valueOf(x), args...) : invalidOf(x);
}

template <typename OpTy> Tensor binary(const char *name, const Tensor &a, const Tensor &b) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp(name, {a, b});
  return builder ? builder->make<OpTy>(valueOf(a), valueOf(b)) : invalidOf({a, b});
}

std::vector<int64_t> allDims(const Tensor &x) {
  std::vector<int64_t> dims(x.shape().size());
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

} // namespace

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

Tensor matmul(const Tensor &a, const Tensor &b, MatmulOptions options) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("matmul", {a, b});
  if (!builder)
    return invalidOf({a, b});
  if (a.shape().size() != 2 || b.shape().size() != 2)
    return builder->fail("multiplies matrices, which have two dimensions; reshape the operands");
  return builder->make<nn::MatmulOp>(valueOf(a), valueOf(b), options.transposeA, options.transposeB);
}

Tensor add(const Tensor &a, const Tensor &b) { return binary<nn::AddOp>("add", a, b); }
Tensor sub(const Tensor &a, const Tensor &b) { return binary<nn::SubOp>("sub", a, b); }
Tensor mul(const Tensor &a, const Tensor &b) { return binary<nn::MulOp>("mul", a, b); }
Tensor div(const Tensor &a, const Tensor &b) { return binary<nn::DivOp>("div", a, b); }
Tensor neg(const Tensor &x) { return unary<nn::NegOp>("neg", x); }
Tensor exp(const Tensor &x) { return unary<nn::ExpOp>("exp", x); }
Tensor log(const Tensor &x) { return unary<nn::LogOp>("log", x); }
Tensor sqrt(const Tensor &x) { return unary<nn::SqrtOp>("sqrt", x); }
Tensor tanh(const Tensor &x) { return unary<nn::TanhOp>("tanh", x); }
Tensor relu(const Tensor &x) { return unary<nn::ReluOp>("relu", x); }
Tensor gelu(const Tensor &x, bool approximate) { return unary<nn::GeluOp>("gelu", x, approximate); }
Tensor scale(const Tensor &x, double factor) { return unary<nn::ScaleOp>("scale", x, factor); }
Tensor shift(const Tensor &x, double addend) { return unary<nn::ShiftOp>("shift", x, addend); }

Tensor cast(const Tensor &x, ElementType type) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("cast", x);
  return builder ? builder->make<nn::CastOp>(valueOf(x), toMlir(&builder->state.context, type)) : invalidOf(x);
}

Tensor embedding(const Tensor &table, const Tensor &ids) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("embedding", {table, ids});
  if (!builder)
    return invalidOf({table, ids});
  if (table.shape().size() != 2)
    return builder->fail("looks up rows of a table, which has two dimensions");
  return builder->make<nn::EmbeddingOp>(valueOf(table), valueOf(ids));
}

Tensor reshape(const Tensor &x, const sbp::Shape &shape) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("reshape", x);
  if (!builder)
    return invalidOf(x);
  if (std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent < 0; }) ||
      sbp::numElements(shape) != sbp::numElements(x.shape()))
    return builder->fail(absl::StrCat("gives shape ", shapeText(shape), "; it must have ", sbp::numElements(x.shape()),
                                      " elements, as the operand"));
  auto element = mlir::getElementTypeOrSelf(valueOf(x).getType());
  return builder->make<nn::ReshapeOp>(mlir::RankedTensorType::get(shape, element), valueOf(x));
}

Tensor sum(const Tensor &x) { return sum(x, allDims(x)); }

Tensor sum(const Tensor &x, std::vector<int64_t> dims) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("sum", x);
  if (!builder)
    return invalidOf(x);
  std::sort(dims.begin(), dims.end());
  auto rank = static_cast<int64_t>(x.shape().size());
  bool isTwice = std::adjacent_find(dims.begin(), dims.end()) != dims.end();
  if (isTwice || (!dims.empty() && (dims.front() < 0 || dims.back() >= rank)))
    return builder->fail(absl::StrCat("adds up over dimensions [", absl::StrJoin(dims, ", "),
                                      "]; they must be distinct dimensions of the operand, 0 to ", rank - 1));
  return builder->make<nn::ReduceSumOp>(valueOf(x), llvm::ArrayRef<int64_t>(dims));
}

Tensor mean(const Tensor &x) { return mean(x, allDims(x)); }

Tensor mean(const Tensor &x, std::vector<int64_t> dims) {
  Tensor total = sum(x, std::move(dims));
  if (!total.isValid())
    return total;
  int64_t count = sbp::numElements(x.shape()) / std::max<int64_t>(1, sbp::numElements(total.shape()));
  if (count == 0)
    return GraphBuilder::forOp("mean", x)->fail("is a mean of no elements");
  return scale(total, 1.0 / static_cast<double>(count));
}

Tensor softmaxCrossEntropy(const Tensor &logits, const Tensor &labels) {
  return binary<nn::SoftmaxCrossEntropyOp>("softmaxCrossEntropy", logits, labels);
}

Tensor mse(const Tensor &x, const Tensor &target) {
  if (x.isValid() && target.isValid() && x.shape() != target.shape())
    if (std::optional<GraphBuilder> builder = GraphBuilder::forOp("mse", {x, target}))
      return builder->fail("compares tensors of two shapes; they must be equal");
  Tensor difference = sub(x, target);
  return mean(mul(difference, difference));
}

Tensor boxTo(const Tensor &x, const Layout &layout) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("boxTo", x);
  sbp::NdAttr signature = builder ? builder->signature(layout, x.shape()) : sbp::NdAttr();
  if (!signature)
    return invalidOf(x);
  auto type = sbp::withSignature(valueOf(x).getType(), signature);
  return builder->make<sbp::BoxingOp>(type, valueOf(x), sbp::SlotAttr());
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

/// A variable of the function that `x` is of.
static Tensor layerVariable(GraphBuilder &builder, const std::string &name, const sbp::Shape &shape, const Init &init,
                            ElementType type) {
  VariableOptions options;
  options.type = type;
  return builder.variable(builder.operandFunction(), name, shape, init, options);
}

Tensor linear(const Tensor &x, const std::string &name, int64_t outputs, const LinearOptions &options) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp(absl::StrCat("linear '", name, "'"), x);
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
  Tensor product = matmul(x, weight);
  if (!options.bias)
    return product;
  return add(product, layerVariable(*builder, absl::StrCat(name, ".bias"), {outputs}, init, x.type()));
}

Tensor embeddingTable(const Tensor &ids, const std::string &name, int64_t rows, int64_t width) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp(absl::StrCat("embeddingTable '", name, "'"), ids);
  if (!builder)
    return invalidOf(ids);
  if (rows < 1 || width < 1)
    return builder->fail(absl::StrCat("has ", rows, " rows of ", width, "; both are at least 1"));
  Tensor table =
      layerVariable(*builder, absl::StrCat(name, ".weight"), {rows, width}, Init::normal(0.0, 1.0), ElementType::F32);
  return embedding(table, ids);
}

} // namespace splitcast
