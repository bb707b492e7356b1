// Functions that many models use and that consist of a few ops of 'nn', which
// the compiler fuses.
#include "compiler/graph/GraphState.h"
#include "compiler/graph/WideFloats.h"

#include "absl/strings/str_cat.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace splitcast {
namespace {

/// Returns the invalid tensor of the operands' graph.
Tensor invalidOf(llvm::ArrayRef<Tensor> operands) {
  for (const Tensor &operand : operands)
    if (GraphState *state = GraphBuilder::stateOf(operand))
      return GraphBuilder::tensor(*state, mlir::Value());
  return {};
}

/// Returns a scalar constant of the operand's element type.
Tensor inverse(const Tensor &x, Caller at) { return div(constantLike(x, 1.0, at), x, at); }

/// Returns the shape [rows..., last] with last = 1.
sbp::Shape withLastOfOne(sbp::Shape shape) {
  shape.back() = 1;
  return shape;
}

/// Reshapes [channels] so that it broadcasts to [samples, channels, ...].
Tensor perChannel(const Tensor &x, size_t rank, Caller at) {
  sbp::Shape shape(rank, 1);
  shape[1] = sbp::numElements(x.shape());
  return reshape(x, shape, at);
}

/// Returns whether each tensor is [channels], for x [samples, channels, ...].
bool arePerChannel(const Tensor &x, llvm::ArrayRef<Tensor> tensors) {
  return x.shape().size() >= 2 &&
         llvm::all_of(tensors, [&](const Tensor &each) { return each.shape() == sbp::Shape{x.shape()[1]}; });
}

} // namespace

Tensor named(const Tensor &x, const std::string &name, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp(absl::StrCat("named '", name, "'"), x, at);
  if (!builder)
    return invalidOf(x);
  if (name.empty())
    return builder->fail("has no name; give one of at least one character");
  builder->name(x, name);
  return x;
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

Tensor constantLike(const Tensor &x, double value, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("constantLike", x, at);
  if (!builder)
    return invalidOf(x);
  auto type = mlir::RankedTensorType::get({}, toMlir(&builder->state.context, x.type()));
  return builder->make<nn::ConstantOp>(type, builder->number(value));
}

Tensor silu(const Tensor &x, Caller at) {
  const WithinFunction within(x, "silu");
  return mul(x, sigmoid(x, at), at);
}

Tensor rsqrt(const Tensor &x, Caller at) {
  const WithinFunction within(x, "rsqrt");
  return inverse(sqrt(x, at), at);
}

// At 0 neither branch is taken, so that the gradient there is 0.
Tensor abs(const Tensor &x, Caller at) {
  const WithinFunction within(x, "abs");
  Tensor zero = constantLike(x, 0.0, at), isAbove = compare(x, zero, "gt", at), isBelow = compare(x, zero, "lt", at);
  if (!isAbove.isValid())
    return isAbove;
  auto ofX = [&](const Tensor &holds) { return x.type() == ElementType::F32 ? holds : cast(holds, x.type(), at); };
  Tensor isZero = compare(x, zero, "eq", at); // none of the three holds for NaN, which stays NaN
  return select(ofX(isAbove), x, select(ofX(isBelow), sub(zero, x, at), select(ofX(isZero), zero, x, at), at), at);
}

/// x^exponent for an exponent above 1 that is no integer. At 0, whose logarithm has no gradient, both are 0.
static Tensor realPower(const Tensor &x, double exponent, Caller at) {
  const Tensor zero = constantLike(x, 0.0, at), one = constantLike(x, 1.0, at);
  Tensor isZero = compare(x, zero, "eq", at);
  if (!isZero.isValid())
    return isZero;
  isZero = x.type() == ElementType::F32 ? isZero : cast(isZero, x.type(), at);
  return select(isZero, zero, exp(scale(log(select(isZero, one, x, at), at), exponent, at), at), at);
}

Tensor pow(const Tensor &x, double exponent, Caller at) {
  constexpr double kMostProducts = 8;
  const WithinFunction within(x, "pow");
  if (std::abs(exponent) == 0.5)
    return exponent > 0 ? sqrt(x, at) : rsqrt(x, at);
  if (exponent != std::round(exponent) && exponent > 1 && std::isfinite(exponent))
    return realPower(x, exponent, at);
  if (exponent != std::round(exponent) || std::abs(exponent) > kMostProducts)
    return exp(scale(log(x, at), exponent, at), at);
  if (exponent == 0) // NaN to the power of 0 is 1, too
    return x.isValid() ? broadcastTo(constantLike(x, 1.0, at), x.shape(), at) : x;
  // Powers of the inverse reach further than the inverse of a power, whose gradient would divide by its square.
  const Tensor base = exponent > 0 ? x : inverse(x, at);
  Tensor product = base;
  for (int i = 1; i < static_cast<int>(std::abs(exponent)); ++i)
    product = mul(product, base, at);
  return product;
}

/// Returns `a` where the comparison holds, and otherwise `b`.
static Tensor chosenBy(const char *predicate, const Tensor &a, const Tensor &b, Caller at) {
  const WithinFunction within(a, *predicate == 'g' ? "maximum" : "minimum");
  Tensor holds = compare(a, b, predicate, at);
  if (!holds.isValid())
    return holds;
  return select(a.type() == ElementType::F32 ? holds : cast(holds, a.type(), at), a, b, at);
}
Tensor maximum(const Tensor &a, const Tensor &b, Caller at) { return chosenBy("gt", a, b, at); }
Tensor minimum(const Tensor &a, const Tensor &b, Caller at) { return chosenBy("lt", a, b, at); }

// 1 less a number below 1 is above 0, where the logarithm is finite.
Tensor normal(const Tensor &like, Caller at) {
  const WithinFunction within(like, "normal");
  constexpr double kTurn = 6.283185307179586;
  Tensor distance = sqrt(scale(log(shift(neg(uniform(like, at), at), 1.0, at), at), -2.0, at), at);
  return mul(distance, cos(scale(uniform(like, at), kTurn, at), at), at);
}

//===----------------------------------------------------------------------===//
// Shapes and statistics
//===----------------------------------------------------------------------===//

Tensor broadcastTo(const Tensor &x, const sbp::Shape &shape, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp(absl::StrCat("broadcastTo(", shapeText(shape), ")"), x, at);
  if (!builder)
    return invalidOf(x);
  const sbp::Shape from = x.shape();
  const size_t added = shape.size() - from.size();
  bool fits = shape.size() >= from.size();
  sbp::Shape kept; // the dimensions that are not repeated
  std::vector<int64_t> repeated(fits ? added : 0);
  std::iota(repeated.begin(), repeated.end(), 0);
  for (size_t i = 0; fits && i < from.size(); ++i) {
    fits = from[i] == shape[added + i] || (from[i] == 1 && shape[added + i] >= 0);
    if (from[i] == shape[added + i])
      kept.push_back(from[i]);
    else
      repeated.push_back(static_cast<int64_t>(added + i));
  }
  if (!fits || std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent < 0; }))
    return builder->fail(
        "can only repeat dimensions of 1 and add dimensions before the first; the others must stay as they are");
  if (repeated.empty())
    return x;
  Tensor whole = reshape(x, kept, at);
  if (!whole.isValid())
    return whole;
  auto type = mlir::RankedTensorType::get(shape, toMlir(&builder->state.context, x.type()));
  return builder->make<nn::BroadcastOp>(type, GraphBuilder::valueOf(whole), llvm::ArrayRef<int64_t>(repeated));
}

Tensor variance(const Tensor &x, const std::vector<int64_t> &dims, Caller at) {
  const WithinFunction within(x, "variance");
  const Tensor wideX = wide(x, at);
  Tensor center = mean(wideX, dims, at);
  if (!center.isValid())
    return center;
  sbp::Shape shape = x.shape();
  for (int64_t dim : fromStart(dims, x))
    shape[dim] = 1;
  Tensor distance = sub(wideX, reshape(center, shape, at), at);
  return as(mean(mul(distance, distance, at), dims, at), x.type(), at);
}

// The largest element is subtracted first. Otherwise the logarithm of the sum
// would lose its digits beside it.
Tensor logSoftmax(const Tensor &x, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("logSoftmax", x, at);
  if (!builder)
    return invalidOf(x);
  const WithinFunction within(x, "logSoftmax");
  const sbp::Shape shape = x.shape();
  if (shape.empty() || sbp::numElements(shape) == 0)
    return sbp::numElements(shape) == 0 ? x
                                        : builder->fail("works along the last dimension; its operand must have one");
  const int64_t rows = sbp::numElements(shape) / shape.back();
  Tensor largest = stopGradient(maxPool(reshape(x, {rows, 1, shape.back()}, at), {1, shape.back()}, {}, at), at);
  if (!largest.isValid())
    return largest;
  Tensor shifted = sub(x, reshape(largest, withLastOfOne(shape), at), at), perRow = logSumExp(shifted, at);
  return perRow.isValid() ? sub(shifted, reshape(perRow, withLastOfOne(shape), at), at) : perRow;
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

Tensor rmsNorm(const Tensor &x, const Tensor &weight, double epsilon, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("rmsNorm", {x, weight}, at);
  if (!builder)
    return invalidOf({x, weight});
  const WithinFunction within(x, "rmsNorm");
  if (!isEpsilon(epsilon))
    return builder->fail(absl::StrCat("has epsilon = ", epsilon, "; it must be finite and at least 0"));
  if (x.shape().empty() || weight.shape() != sbp::Shape{x.shape().back()})
    return builder->fail(
        "works along the last dimension of its first operand; the weight must have that dimension alone");
  const Tensor wideX = wide(x, at);
  Tensor squares = mean(mul(wideX, wideX, at), {static_cast<int64_t>(x.shape().size()) - 1}, at);
  if (!squares.isValid())
    return squares;
  Tensor inverseRoot = rsqrt(shift(squares, epsilon, at), at);
  Tensor normed = mul(wideX, reshape(inverseRoot, withLastOfOne(x.shape()), at), at);
  return mul(as(normed, x.type(), at), weight, at);
}

Tensor groupNorm(const Tensor &x, const Tensor &weight, const Tensor &bias, int64_t groups, double epsilon, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("groupNorm", {x, weight, bias}, at);
  if (!builder)
    return invalidOf({x, weight, bias});
  const WithinFunction within(x, "groupNorm");
  if (!isEpsilon(epsilon))
    return builder->fail(absl::StrCat("has epsilon = ", epsilon, "; it must be finite and at least 0"));
  const sbp::Shape shape = x.shape();
  if (!arePerChannel(x, {weight, bias}) || groups < 1 || shape[1] % groups != 0 || sbp::numElements(shape) == 0)
    return builder->fail(absl::StrCat("has ", groups,
                                      " groups; x must be [samples, channels, ...] and not empty, weight and bias "
                                      "[channels], and the groups must divide the channels"));
  const int64_t perGroup = sbp::numElements(shape) / shape[0] / groups;
  Tensor rows = wide(reshape(x, {shape[0], groups, perGroup}, at), at);
  Tensor centered = sub(rows, reshape(mean(rows, {2}, at), {shape[0], groups, 1}, at), at);
  Tensor spread = mean(mul(centered, centered, at), {2}, at);
  if (!spread.isValid())
    return spread;
  Tensor inverseRoot = reshape(rsqrt(shift(spread, epsilon, at), at), {shape[0], groups, 1}, at);
  Tensor normed = as(reshape(mul(centered, inverseRoot, at), shape, at), x.type(), at);
  return add(mul(normed, perChannel(weight, shape.size(), at), at), perChannel(bias, shape.size(), at), at);
}

Tensor batchNorm(const Tensor &x, const Tensor &weight, const Tensor &bias, const Tensor &mean, const Tensor &variance,
                 double epsilon, Caller at) {
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("batchNorm", {x, weight, bias, mean, variance}, at);
  if (!builder)
    return invalidOf({x, weight, bias, mean, variance});
  const WithinFunction within(x, "batchNorm");
  if (!isEpsilon(epsilon))
    return builder->fail(absl::StrCat("has epsilon = ", epsilon, "; it must be finite and at least 0"));
  if (!arePerChannel(x, {weight, bias, mean, variance}))
    return builder->fail("needs x [samples, channels, ...], and weight, bias, mean and variance [channels]");
  const size_t rank = x.shape().size();
  Tensor factor = mul(weight, rsqrt(shift(variance, epsilon, at), at), at);
  Tensor centered = sub(x, perChannel(mean, rank, at), at);
  return add(mul(centered, perChannel(factor, rank, at), at), perChannel(bias, rank, at), at);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

namespace {

/// Repeats each head of x [samples, keys, heads, width] `times` times in a row.
Tensor repeatedHeads(const Tensor &x, int64_t times, Caller at) {
  if (times == 1)
    return x;
  const sbp::Shape s = x.shape();
  Tensor repeated = broadcastTo(reshape(x, {s[0], s[1], s[2], 1, s[3]}, at), {s[0], s[1], s[2], times, s[3]}, at);
  return reshape(repeated, {s[0], s[1], s[2] * times, s[3]}, at);
}

/// Returns 1 where a key is seen and 0 elsewhere, in the scores' element type
/// and a shape that broadcasts to theirs. Returns an invalid tensor if all keys
/// are seen.
Tensor seenKeys(const Tensor &scores, const AttentionOptions &options, Caller at) {
  const sbp::Shape shape = scores.shape();
  auto ofScores = [&](const Tensor &x) { return scores.type() == x.type() ? x : cast(x, scores.type(), at); };
  Tensor seen;
  if (GraphBuilder::stateOf(options.mask)) {
    Tensor ofKeys = notEqual(options.mask, 0, at);
    if (!ofKeys.isValid())
      return ofKeys;
    seen = reshape(ofScores(ofKeys), {shape[0], 1, 1, shape[3]}, at);
  }
  if (!options.causal)
    return seen;
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("attention", scores, at);
  auto numbers = [&](int64_t rows, int64_t columns, int64_t dim) {
    auto type = mlir::RankedTensorType::get({rows, columns}, builder->state.builder.getI64Type());
    return builder->make<nn::IotaOp>(type, dim);
  };
  Tensor isBefore = compare(numbers(1, shape[3], 1), numbers(shape[2], 1, 0), "le", at);
  if (!isBefore.isValid())
    return isBefore;
  return GraphBuilder::stateOf(seen) ? mul(seen, ofScores(isBefore), at) : ofScores(isBefore);
}

/// Returns what is wrong with the operands, or "" if their scores can be
/// computed. It checks what the op's verifier checks, since no such op is made
/// here.
std::string problemOfScores(const sbp::Shape &query, const sbp::Shape &key, const sbp::Shape &value,
                            const AttentionOptions &options) {
  if (key.size() != 4 || key != value || key[0] != query[0] || key[2] != query[2] || key[3] != query[3])
    return "has a key or value of a wrong shape; both must be [samples, keys, heads, width] with the query's samples "
           "and width, "
           "and a number of heads that divides the query's";
  if (GraphBuilder::stateOf(options.mask) && options.mask.shape() != sbp::Shape{key[0], key[1]})
    return absl::StrCat("has a mask ", shapeText(options.mask.shape()), "; it must be [samples, keys]");
  if (!GraphBuilder::stateOf(options.bias))
    return "";
  const sbp::Shape scores = {query[0], query[2], query[1], key[1]}, bias = options.bias.shape();
  bool fits = bias.size() <= scores.size();
  for (size_t i = 0; fits && i < bias.size(); ++i)
    fits = bias[bias.size() - 1 - i] == 1 || bias[bias.size() - 1 - i] == scores[scores.size() - 1 - i];
  return fits ? ""
              : absl::StrCat("has a bias ", shapeText(bias), "; it must broadcast to the scores, ", shapeText(scores));
}

constexpr double kUnseen = -std::numeric_limits<double>::infinity();

/// The softmax of scores, which is 0 where all scores of a row are `unseen`: -infinity.
Tensor softmaxOfSeen(const Tensor &scores, const Tensor &unseen, Caller at) {
  Tensor isSeen = compare(scores, unseen, "ne", at); // a NaN is, too
  if (!isSeen.isValid())
    return isSeen;
  sbp::Shape ofRows = scores.shape();
  ofRows.back() = 1;
  Tensor count = reshape(sum(isSeen, {-1}, at), ofRows, at);
  Tensor zero = constantLike(scores, 0.0, at);
  return select(count, softmax(select(count, scores, zero, at), at), zero, at);
}

/// Computes attention with its scores as tensors, for a bias or dropout.
Tensor attentionByScores(const Tensor &query, const Tensor &key, const Tensor &value, double scaleOfScores,
                         const AttentionOptions &options, Caller at) {
  const WithinFunction within(query, "attention");
  const std::vector<int64_t> byHeads = {0, 2, 1, 3};
  Tensor q = transpose(query, byHeads, at), k = transpose(key, byHeads, at), v = transpose(value, byHeads, at);
  Tensor scores = scale(matmul(q, k, {false, true}, at), scaleOfScores, at);
  if (GraphBuilder::stateOf(options.bias))
    scores = add(scores, options.bias, at);
  if (!scores.isValid())
    return scores;
  // The score of a key that is not seen is -infinity, in a bias, too: no score that is seen is below that.
  const Tensor seen = seenKeys(scores, options, at), unseen = constantLike(scores, kUnseen, at);
  if (GraphBuilder::stateOf(seen))
    scores = select(seen, scores, unseen, at);
  const bool mayHideAll = GraphBuilder::stateOf(options.mask) || GraphBuilder::stateOf(options.bias);
  Tensor weights = mayHideAll ? softmaxOfSeen(scores, unseen, at) : softmax(scores, at);
  if (options.dropout > 0.0)
    weights = dropout(weights, options.dropout, at);
  return transpose(matmul(weights, v, {}, at), byHeads, at);
}

} // namespace

Tensor attention(const Tensor &query, const Tensor &key, const Tensor &value, const AttentionOptions &options,
                 Caller at) {
  std::vector<Tensor> operands = {query, key, value};
  for (const Tensor &each : {options.mask, options.bias})
    if (GraphBuilder::stateOf(each))
      operands.push_back(each);
  std::optional<GraphBuilder> builder = GraphBuilder::forOp("attention", operands, at);
  if (!builder)
    return invalidOf(operands);
  if (query.shape().size() != 4 || query.shape()[3] < 1)
    return builder->fail("has a query that is not [samples, positions, heads, width]; reshape it");
  if (!(options.dropout >= 0.0 && options.dropout < 1.0))
    return builder->fail(absl::StrCat("has dropout = ", options.dropout, "; it must be at least 0 and below 1"));
  const double scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(query.shape()[3])));
  const int64_t heads = query.shape()[2];
  Tensor k = key, v = value;
  if (key.shape().size() == 4 && key.shape() == value.shape() && key.shape()[2] > 0 && heads % key.shape()[2] == 0) {
    k = repeatedHeads(key, heads / key.shape()[2], at);
    v = repeatedHeads(value, heads / key.shape()[2], at);
  }
  if (!k.isValid() || !v.isValid())
    return k.isValid() ? v : k;
  if (GraphBuilder::stateOf(options.bias) || options.dropout > 0.0) {
    if (std::string problem = problemOfScores(query.shape(), k.shape(), v.shape(), options); !problem.empty())
      return builder->fail(problem);
    return attentionByScores(query, k, v, scale, options, at);
  }
  return builder->make<nn::AttentionOp>(GraphBuilder::valueOf(query), GraphBuilder::valueOf(k),
                                        GraphBuilder::valueOf(v), GraphBuilder::valueOf(options.mask), scale,
                                        options.causal);
}

} // namespace splitcast
