// The ops of a graph. These functions check what the builders of the ops rely
// on (ranks, dimensions); the verifiers of the ops check the rest.
#include "compiler/graph/GraphState.h"
#include "compiler/graph/WideFloats.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <numeric>

namespace splitcast {
namespace {

mlir::Value valueOf(const Tensor &tensor) { return GraphBuilder::valueOf(tensor); }

/// Returns the invalid tensor of the operands' graph.
Tensor invalidOf(llvm::ArrayRef<Tensor> operands) {
  for (const Tensor &operand : operands)
    if (GraphState *state = GraphBuilder::stateOf(operand))
      return GraphBuilder::tensor(*state, mlir::Value());
  return {};
}

template <typename OpTy, typename... Args> Tensor unary(const char *name, Caller at, const Tensor &x, Args... args) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp(name, x, at);
  return builder ? builder->make<OpTy>(valueOf(x), args...) : invalidOf(x);
}

template <typename OpTy> Tensor binary(const char *name, Caller at, const Tensor &a, const Tensor &b) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp(name, {a, b}, at);
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

Tensor matmul(const Tensor &a, const Tensor &b, MatmulOptions options, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("matmul", {a, b}, at);
  if (!builder)
    return invalidOf({a, b});
  if (a.shape().size() < 2 || b.shape().size() != a.shape().size())
    return builder->fail("needs operands that have two dimensions, or more but equally many; reshape the operands");
  return builder->make<nn::MatmulOp>(valueOf(a), valueOf(b), options.transposeA, options.transposeB);
}

Tensor add(const Tensor &a, const Tensor &b, Caller at) { return binary<nn::AddOp>("add", at, a, b); }
Tensor sub(const Tensor &a, const Tensor &b, Caller at) { return binary<nn::SubOp>("sub", at, a, b); }
Tensor mul(const Tensor &a, const Tensor &b, Caller at) { return binary<nn::MulOp>("mul", at, a, b); }
Tensor div(const Tensor &a, const Tensor &b, Caller at) { return binary<nn::DivOp>("div", at, a, b); }
Tensor neg(const Tensor &x, Caller at) {
  const bool isInteger = x.isValid() && (x.type() == ElementType::I32 || x.type() == ElementType::I64);
  if (!isInteger)
    return unary<nn::NegOp>("neg", at, x);
  const WithinFunction within(x, "neg");
  return sub(constantLike(x, 0.0, at), x, at);
}
Tensor exp(const Tensor &x, Caller at) { return unary<nn::ExpOp>("exp", at, x); }
Tensor log(const Tensor &x, Caller at) { return unary<nn::LogOp>("log", at, x); }
Tensor sqrt(const Tensor &x, Caller at) { return unary<nn::SqrtOp>("sqrt", at, x); }
Tensor tanh(const Tensor &x, Caller at) { return unary<nn::TanhOp>("tanh", at, x); }
Tensor sin(const Tensor &x, Caller at) { return unary<nn::SinOp>("sin", at, x); }
Tensor cos(const Tensor &x, Caller at) { return unary<nn::CosOp>("cos", at, x); }
Tensor sigmoid(const Tensor &x, Caller at) { return unary<nn::SigmoidOp>("sigmoid", at, x); }
Tensor erf(const Tensor &x, Caller at) { return unary<nn::ErfOp>("erf", at, x); }
Tensor stopGradient(const Tensor &x, Caller at) { return unary<nn::StopGradientOp>("stopGradient", at, x); }
Tensor relu(const Tensor &x, Caller at) { return unary<nn::ReluOp>("relu", at, x); }
Tensor gelu(const Tensor &x, bool approximate, Caller at) { return unary<nn::GeluOp>("gelu", at, x, approximate); }
Tensor scale(const Tensor &x, double factor, Caller at) { return unary<nn::ScaleOp>("scale", at, x, factor); }
Tensor shift(const Tensor &x, double addend, Caller at) { return unary<nn::ShiftOp>("shift", at, x, addend); }

Tensor cast(const Tensor &x, ElementType type, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("cast", x, at);
  return builder ? builder->make<nn::CastOp>(valueOf(x), toMlir(&builder->state.context, type)) : invalidOf(x);
}

Tensor notEqual(const Tensor &x, int64_t value, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("notEqual", x, at);
  return builder ? builder->make<nn::NotEqualOp>(valueOf(x), toMlir(&builder->state.context, ElementType::F32), value)
                 : invalidOf(x);
}

Tensor compare(const Tensor &a, const Tensor &b, const std::string &predicate, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("compare", {a, b}, at);
  return builder ? builder->make<nn::CompareOp>(valueOf(a), valueOf(b), predicate,
                                                toMlir(&builder->state.context, ElementType::F32))
                 : invalidOf({a, b});
}

Tensor embedding(const Tensor &table, const Tensor &ids, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("embedding", {table, ids}, at);
  if (!builder)
    return invalidOf({table, ids});
  if (table.shape().size() != 2)
    return builder->fail("looks up rows of a table, which must have two dimensions");
  return builder->make<nn::EmbeddingOp>(valueOf(table), valueOf(ids));
}

/// Returns the shape with what a single extent of -1 stands for, if the others
/// leave a number for it.
static sbp::Shape withoutOpenExtent(sbp::Shape shape, int64_t elements) {
  auto open = std::find(shape.begin(), shape.end(), -1);
  if (open == shape.end() || llvm::count_if(shape, [](int64_t extent) { return extent < 0; }) > 1)
    return shape;
  *open = 1;
  const int64_t others = sbp::numElements(shape);
  *open = others > 0 && elements % others == 0 ? elements / others : -1;
  return shape;
}

Tensor reshape(const Tensor &x, const sbp::Shape &shape, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("reshape", x, at);
  if (!builder)
    return invalidOf(x);
  const sbp::Shape whole = withoutOpenExtent(shape, sbp::numElements(x.shape()));
  if (std::any_of(whole.begin(), whole.end(), [](int64_t extent) { return extent < 0; }) ||
      sbp::numElements(whole) != sbp::numElements(x.shape()))
    return builder->fail(absl::StrCat("gives shape ", shapeText(shape), "; it must have ", sbp::numElements(x.shape()),
                                      " elements, as the operand"));
  auto element = mlir::getElementTypeOrSelf(valueOf(x).getType());
  return builder->make<nn::ReshapeOp>(mlir::RankedTensorType::get(whole, element), valueOf(x));
}

Tensor transpose(const Tensor &x, const std::vector<int64_t> &permutation, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("transpose", x, at);
  return builder ? builder->make<nn::TransposeOp>(valueOf(x), llvm::ArrayRef<int64_t>(fromStart(permutation, x)))
                 : invalidOf(x);
}

Tensor slice(const Tensor &x, int64_t dim, int64_t start, int64_t count, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("slice", x, at);
  if (!builder)
    return invalidOf(x);
  sbp::Shape shape = x.shape();
  const int64_t along = fromStart(dim, x);
  if (along < 0 || along >= static_cast<int64_t>(shape.size()) || count < 0)
    return builder->fail(absl::StrCat("takes ", count, " elements along dimension ", dim,
                                      "; it must be a dimension of the operand, and the count at least 0"));
  shape[along] = count;
  auto type = mlir::RankedTensorType::get(shape, mlir::getElementTypeOrSelf(valueOf(x).getType()));
  mlir::OpBuilder &b = builder->state.builder;
  return builder->make<nn::SliceOp>(type, valueOf(x), b.getI64IntegerAttr(along), b.getI64IntegerAttr(start));
}

Tensor concat(const std::vector<Tensor> &parts, int64_t dim, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("concat", parts, at);
  if (!builder)
    return invalidOf(parts);
  sbp::Shape shape = parts.front().shape();
  const int64_t along = fromStart(dim, parts.front());
  if (along < 0 || along >= static_cast<int64_t>(shape.size()))
    return builder->fail(absl::StrCat("joins along dimension ", dim, "; it must be a dimension of its operands"));
  llvm::SmallVector<mlir::Value> values;
  shape[along] = 0;
  for (const Tensor &part : parts) {
    if (part.shape().size() != shape.size())
      return builder->fail("joins tensors of different numbers of dimensions; these must be equal");
    shape[along] += part.shape()[along];
    values.push_back(valueOf(part));
  }
  auto type = mlir::RankedTensorType::get(shape, mlir::getElementTypeOrSelf(values.front().getType()));
  return builder->make<nn::ConcatOp>(type, values, builder->state.builder.getI64IntegerAttr(along));
}

Tensor sum(const Tensor &x, Caller at) { return sum(x, allDims(x), at); }

Tensor sum(const Tensor &x, std::vector<int64_t> dims, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("sum", x, at);
  if (!builder)
    return invalidOf(x);
  dims = fromStart(std::move(dims), x);
  std::sort(dims.begin(), dims.end());
  auto rank = static_cast<int64_t>(x.shape().size());
  bool isTwice = std::adjacent_find(dims.begin(), dims.end()) != dims.end();
  if (isTwice || (!dims.empty() && (dims.front() < 0 || dims.back() >= rank)))
    return builder->fail(absl::StrCat("adds up over dimensions [", absl::StrJoin(dims, ", "),
                                      "]; they must be distinct dimensions of the operand, 0 to ", rank - 1));
  return builder->make<nn::ReduceSumOp>(valueOf(x), llvm::ArrayRef<int64_t>(dims));
}

Tensor mean(const Tensor &x, Caller at) { return mean(x, allDims(x), at); }

Tensor mean(const Tensor &x, std::vector<int64_t> dims, Caller at) {
  Tensor total = sum(wide(x, at), std::move(dims), at);
  if (!total.isValid())
    return total;
  int64_t count = sbp::numElements(x.shape()) / std::max<int64_t>(1, sbp::numElements(total.shape()));
  if (count == 0)
    return GraphBuilder::forOp("mean", x, at)->fail("is a mean of no elements");
  return as(scale(total, 1.0 / static_cast<double>(count), at), x.type(), at);
}

Tensor select(const Tensor &condition, const Tensor &chosen, const Tensor &other, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("select", {condition, chosen, other}, at);
  if (!builder)
    return invalidOf({condition, chosen, other});
  // Of another type, the condition becomes 0 and 1 first: a cast would make 0.5 a 0.
  Tensor holds = condition;
  if (condition.type() != chosen.type()) {
    const WithinFunction within(chosen, "select");
    holds = compare(condition, constantLike(condition, 0.0, at), "ne", at);
    if (holds.isValid() && holds.type() != chosen.type())
      holds = cast(holds, chosen.type(), at);
  }
  return holds.isValid() ? builder->make<nn::SelectOp>(valueOf(holds), valueOf(chosen), valueOf(other)) : holds;
}

Tensor meanOfPresent(const Tensor &x, const Tensor &present, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("meanOfPresent", {x, present}, at);
  if (!builder)
    return invalidOf({x, present});
  const sbp::Shape shape = x.shape();
  if (shape.empty() || present.shape() != sbp::Shape{shape.front()} || shape.front() == 0)
    return builder->fail("needs an integer for each row of its first operand, which must have at least one row");
  const int64_t perRow = sbp::numElements(shape) / shape.front();
  if (perRow == 0)
    return builder->fail("is a mean of no elements");
  const ElementType type = wideType(x.type());
  Tensor counts = as(notEqual(present, 0, at), type, at);
  if (!counts.isValid())
    return counts;
  sbp::Shape ofRows(shape.size(), 1);
  ofRows.front() = shape.front();
  Tensor zero = builder->make<nn::ConstantOp>(mlir::RankedTensorType::get({}, toMlir(&builder->state.context, type)),
                                              builder->number(0.0));
  Tensor total = sum(select(reshape(counts, ofRows, at), as(x, type, at), zero, at), at);
  return as(div(total, scale(sum(counts, at), static_cast<double>(perRow), at), at), x.type(), at);
}

Tensor softmax(const Tensor &x, Caller at) { return unary<nn::SoftmaxOp>("softmax", at, x); }

Tensor logSumExp(const Tensor &x, Caller at) { return unary<nn::LogSumExpOp>("logSumExp", at, x); }

Tensor softmaxCrossEntropy(const Tensor &logits, const Tensor &labels, std::optional<int64_t> ignored, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("softmaxCrossEntropy", {logits, labels}, at);
  if (!builder)
    return invalidOf({logits, labels});
  mlir::IntegerAttr none = ignored ? builder->state.builder.getI64IntegerAttr(*ignored) : mlir::IntegerAttr();
  return builder->make<nn::SoftmaxCrossEntropyOp>(valueOf(logits), valueOf(labels), none);
}

Tensor meanCrossEntropy(const Tensor &logits, const Tensor &labels, std::optional<int64_t> ignored, Caller at) {
  Tensor losses = softmaxCrossEntropy(logits, labels, ignored, at);
  if (!losses.isValid() || !ignored)
    return losses.isValid() ? mean(losses, at) : losses;
  Tensor counted = notEqual(labels, *ignored, at);
  if (!counted.isValid())
    return counted;
  Tensor count = as(sum(counted, at), wideType(losses.type()), at);
  return as(div(sum(wide(losses, at), at), count, at), losses.type(), at);
}

Tensor layerNorm(const Tensor &x, const Tensor &weight, const Tensor &bias, double epsilon, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("layerNorm", {x, weight, bias}, at);
  if (!builder)
    return invalidOf({x, weight, bias});
  if (!isEpsilon(epsilon))
    return builder->fail(absl::StrCat("has epsilon = ", epsilon, "; it must be finite and at least 0"));
  return builder->make<nn::LayerNormOp>(valueOf(x), valueOf(weight), valueOf(bias), epsilon);
}

Tensor dropout(const Tensor &x, double rate, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("dropout", x, at);
  if (!builder)
    return invalidOf(x);
  Tensor key = builder->randomKey();
  return key.isValid() ? builder->make<nn::DropoutOp>(valueOf(x), valueOf(key), rate) : key;
}

Tensor uniform(const Tensor &like, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("uniform", like, at);
  if (!builder)
    return invalidOf(like);
  Tensor key = builder->randomKey();
  return key.isValid() ? builder->make<nn::UniformOp>(valueOf(like), valueOf(key)) : key;
}

Tensor mse(const Tensor &x, const Tensor &target, Caller at) {
  if (x.isValid() && target.isValid() && x.shape() != target.shape())
    if (std::optional<GraphBuilder> builder = GraphBuilder::forOp("mse", {x, target}, at))
      return builder->fail("compares tensors of different shapes; they must be equal");
  Tensor difference = wide(sub(x, target, at), at);
  if (!difference.isValid())
    return difference;
  return as(mean(mul(difference, difference, at), at), x.type(), at);
}

Tensor boxTo(const Tensor &x, const Layout &layout, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("boxTo", x, at);
  sbp::NdAttr signature = builder ? builder->signature(layout, x.shape()) : sbp::NdAttr();
  if (!signature)
    return invalidOf(x);
  auto type = sbp::withSignature(valueOf(x).getType(), signature);
  return builder->make<sbp::BoxingOp>(type, valueOf(x), sbp::SlotAttr());
}

} // namespace splitcast
