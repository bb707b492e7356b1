#include "tests/property/Kinds.h"

#include "compiler/graph/Graph.h"
#include "tests/differential/EveryPass.h"
#include "tests/property/ModelState.h"
#include "tests/property/TrainingOptions.h"

#include "absl/strings/str_cat.h"
#include "mlir/Parser/Parser.h"

#include <cmath>
#include <functional>
#include <limits>

using namespace mlir;

namespace splitcast::property {

namespace {

using differential::Configuration;
using sbp::Shape;
using Ways = std::vector<Configuration>;
/// The value of a tensor's element.
using Values = std::function<double(int64_t index)>;

/// A model of a kind under construction: a graph, and what its inputs and variables hold.
class KindBuilder {
public:
  KindBuilder(Random &random, std::vector<sbp::Axis> axes, bool hasAttention = false)
      : random(random), graph({deviceOf(random, hasAttention), std::move(axes)}) {
    graph.function("train");
  }

  Tensor input(const Shape &shape, const Layout &layout, Values values, ElementType type = ElementType::F32) {
    inputs.push_back({shape, type, std::move(values)});
    return graph.input(absl::StrCat("x", inputs.size()), type, shape, layout);
  }
  /// With a name that is known, the same variable again.
  Tensor variable(const std::string &name, const Shape &shape, const Layout &layout, Values values,
                  ElementType type = ElementType::F32, bool trainable = true) {
    variables.try_emplace(name, Content{shape, type, std::move(values)});
    VariableOptions options;
    options.type = type;
    options.logical = layout;
    options.trainable = trainable;
    return graph.variable(name, shape, Init::zeros(), options);
  }
  void minimize(const Tensor &loss, const Optimizer &optimizer, const StepOptions &options = {}) {
    graph.minimize(loss, optimizer, options);
  }
  void output(const std::string &name, const Tensor &value) { graph.output(name, value); }

  /// Tenths from -1 to 1.
  Values tenths() {
    return [this](int64_t) { return 0.1 * random.between(-10, 10); };
  }
  Values integers(int64_t low, int64_t high) {
    return [this, low, high](int64_t) { return random.between(low, high); };
  }
  /// Whole, or split along the second axis.
  Layout maybeSplit(int64_t dim, int percent = 50) {
    return random.chance(percent) ? Layout({broadcast(), split(dim)}) : Layout();
  }

  /// Completes the model. Its two configurations are `change`d.
  GeneratedGraph finish(Feature kind, MLIRContext &context, function_ref<void(Ways &)> change);

  Random &random;

private:
  /// On GPUs the gradient of an attention adds up otherwise than without recomputation if its operands alone are
  /// computed again by collectives (nn-keep-statistics), so bits differ.
  static std::string deviceOf(Random &random, bool hasAttention) {
    return random.chance(10) && !hasAttention ? "cuda" : "cpu";
  }
  struct Content {
    Shape shape;
    ElementType type;
    Values values;
  };
  static differential::Tensor draw(const Content &content, MLIRContext &context);

  Graph graph;
  std::vector<Content> inputs;
  std::map<std::string, Content> variables;
};

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
  for (const auto &[name, content] : variables)
    result.experiment.initial[name] = draw(content, context);
  for (int step = 0; step < 2; ++step) {
    auto &call = result.experiment.calls.emplace_back(differential::Call{"train", {}});
    for (const Content &input : inputs)
      call.inputs.push_back(draw(input, context));
  }
  result.configurations = randomConfigurations(random, sbp::placementOf(*result.module));
  change(result.configurations);
  result.features.insert(toString(kind));
  return result;
}

/// Sometimes with the norm of all gradients, for a session to read.
StepOptions someNorm(Random &random) {
  StepOptions options;
  options.gradientNorm = random.chance(20);
  return options;
}

/// In the second configuration the forward is computed again for backward.
void recomputeInSecond(Ways &ways) { ways.back().recompute = sbp::Recompute::Yes; }

//===----------------------------------------------------------------------===//
// Recomputed blocks
//===----------------------------------------------------------------------===//

/// A residual stream [samples, positions, width] and what is added to it.
class BlockBuilder {
public:
  BlockBuilder(KindBuilder &kind, Shape stream)
      : kind(kind), random(kind.random), stream(std::move(stream)), rows({this->stream[0] * this->stream[1], width()}) {
  }

  Tensor block(const Tensor &x, const std::string &name) {
    Tensor matrix = reshape(normalized(x, name), rows);
    Tensor addend = random.chance(60) ? attentionOf(matrix, name) : twoLayers(matrix, name);
    return add(x, reshape(addend, stream));
  }
  /// The head. Layers of as many outputs may share a bias.
  Tensor linear(const Tensor &x, const std::string &name, int64_t outputs, int64_t splitDim, int percentBias = 40) {
    const Shape shape = {x.shape()[1], outputs};
    Tensor y = matmul(x, kind.variable(name + ".weight", shape, ofWeight(splitDim), kind.tenths()));
    if (!random.chance(percentBias))
      return y;
    const std::string owner = random.chance(25) ? absl::StrCat("tied", outputs) : name;
    return add(y, kind.variable(owner + ".bias", {outputs}, kind.maybeSplit(0, percentBias), kind.tenths()));
  }

private:
  static constexpr int kMostly = 80; ///< percent of the last biases, which the residual stream takes

  int64_t width() const { return stream.back(); }
  Layout ofWeight(int64_t splitDim) { return kind.maybeSplit(splitDim, hasSplitWeights ? 40 : 0); }

  Tensor normalized(const Tensor &x, const std::string &name) {
    if (random.chance(70))
      return x;
    const std::string owner = random.chance(30) ? "tied" : name;
    Tensor scale = kind.variable(owner + ".scale", {width()}, kind.maybeSplit(0, 40), kind.tenths());
    return random.chance(50) ? rmsNorm(x, scale, 0.1) : mul(x, scale);
  }
  Tensor attentionOf(const Tensor &matrix, const std::string &name) {
    const int64_t heads = random.between(1, 2), headWidth = random.between(2, 4);
    const auto ofHeads = [&](const char *what) {
      Tensor x = linear(matrix, absl::StrCat(name, what), heads * headWidth, 1);
      return reshape(x, {stream[0], stream[1], heads, headWidth});
    };
    AttentionOptions options;
    options.causal = random.chance(50);
    Tensor q = ofHeads(".q"), k = ofHeads(".k"), v = ofHeads(".v");
    Tensor seen = reshape(attention(q, k, v, options), {rows[0], heads * headWidth});
    return linear(seen, name + ".o", width(), 0, kMostly);
  }
  Tensor twoLayers(const Tensor &matrix, const std::string &name) {
    Tensor hidden = linear(matrix, name + ".fc1", random.between(3, 6), 1);
    const int64_t function = random.below(3);
    hidden = function == 0 ? gelu(hidden) : function == 1 ? silu(hidden) : tanh(hidden);
    return linear(hidden, name + ".fc2", width(), 0, kMostly);
  }

  KindBuilder &kind;
  Random &random;
  const bool hasSplitWeights = random.chance(40); // else only vectors are split
  Shape stream, rows;
};

/// Of one row per sample: cross-entropy or squares, sometimes beside the squares of what the head reads.
Tensor lossOf(KindBuilder &kind, const Tensor &pooled, const Tensor &outputs, const Layout &layout) {
  const Shape shape = outputs.shape();
  Tensor loss =
      kind.random.chance(50)
          ? meanCrossEntropy(outputs, kind.input({shape[0]}, layout, kind.integers(0, shape[1] - 1), ElementType::I64))
          : mse(outputs, kind.input(shape, layout, kind.tenths()));
  return kind.random.chance(40) ? add(loss, scale(mean(mul(pooled, pooled)), 0.3)) : loss;
}

GeneratedGraph recomputedBlocks(Random &random, MLIRContext &context) {
  KindBuilder kind(random, {{"dp", random.between(1, 2)}, {"tp", random.between(2, 3)}}, /*hasAttention=*/true);
  const Shape stream = {random.between(2, 4), random.between(2, 3), random.between(3, 5)};
  BlockBuilder blocks(kind, stream);
  Tensor x = kind.input(stream, split(0), kind.tenths());
  const int64_t count = random.chance(65) ? 1 : 2;
  for (int64_t i = 0; i < count; ++i)
    x = blocks.block(x, absl::StrCat("h.", i));
  Tensor pooled = mean(random.chance(70) ? tanh(x) : x, {1});
  Tensor outputs = blocks.linear(pooled, "head", random.between(2, 6), 1);
  Tensor loss = lossOf(kind, pooled, outputs, split(0));
  kind.minimize(loss, randomOptimizer(random), someNorm(random));
  kind.output("loss", loss);
  return kind.finish(Feature::RecomputedBlocks, context, recomputeInSecond);
}

//===----------------------------------------------------------------------===//
// Norms of batches in a pipeline
//===----------------------------------------------------------------------===//

class StageBuilder {
public:
  explicit StageBuilder(KindBuilder &kind) : kind(kind), random(kind.random) {}

  Tensor layer(const Tensor &x, const std::string &name, int64_t stage, bool isNormalized) {
    const int64_t width = random.between(2, 5);
    Tensor y = random.chance(20) ? gated(x, name, stage, width) : linear(x, name, stage, width);
    if (isNormalized)
      y = normalized(y, name, stage);
    return random.chance(40) ? tanh(y) : y;
  }
  Tensor linear(const Tensor &x, const std::string &name, int64_t stage, int64_t outputs) {
    Tensor y = matmul(x, at(stage, name + ".weight", {x.shape()[1], outputs}));
    return random.chance(60) ? add(y, at(stage, name + ".bias", {outputs})) : y;
  }

private:
  Tensor at(int64_t stage, const std::string &name, const Shape &shape) {
    return kind.variable(name, shape, sbp::Sbp::at(stage), kind.tenths());
  }
  /// A third of the outputs by the sigmoid of another, plus the last.
  Tensor gated(const Tensor &x, const std::string &name, int64_t stage, int64_t width) {
    Tensor all = linear(x, name, stage, 3 * width);
    const auto third = [&](int64_t i) { return slice(all, 1, i * width, width); };
    Tensor value = third(0), gate = third(1), addend = third(2);
    return add(mul(value, sigmoid(gate)), addend);
  }
  Tensor normalized(const Tensor &x, const std::string &name, int64_t stage) {
    constexpr double kEpsilon = 0.1;
    Tensor m = mean(x, {0}), v = variance(x, {0});
    if (random.chance(40))
      return div(sub(x, m), sqrt(shift(v, kEpsilon)));
    Tensor factor = at(stage, name + ".scale", {x.shape()[1]}), addend = at(stage, name + ".shift", {x.shape()[1]});
    return batchNorm(x, factor, addend, m, v, kEpsilon);
  }

  KindBuilder &kind;
  Random &random;
};

/// What the first stage reads: an input, or rows of a table.
Tensor rowsOf(KindBuilder &kind, int64_t rows, const Layout &layout) {
  const int64_t width = kind.random.between(2, 5), ids = kind.random.between(3, 6);
  if (kind.random.chance(65))
    return kind.input({rows, width}, layout, kind.tenths());
  Tensor table = kind.variable("table", {ids, width}, {}, kind.tenths());
  return abs(embedding(table, kind.input({rows}, layout, kind.integers(0, ids - 1), ElementType::I64)));
}

GeneratedGraph pipelinedNorms(Random &random, MLIRContext &context) {
  const int64_t stages = random.chance(70) ? 2 : 3, ranks = random.between(1, 2), count = random.between(2, 4);
  const int64_t rows = ranks * count * (random.chance(70) ? 1 : random.between(2, 3));
  KindBuilder kind(random, {{"pp", stages}, {"dp", ranks}});
  const Layout byRows({broadcast(), split(0)});
  StageBuilder builder(kind);
  Tensor x = rowsOf(kind, rows, byRows);
  const int64_t layers = stages + (random.chance(25) ? 1 : 0), normalized = random.below(layers);
  for (int64_t i = 0; i < layers; ++i)
    x = builder.layer(x, absl::StrCat("h.", i), i * stages / layers, i == normalized || random.chance(65));
  Tensor outputs = builder.linear(x, "head", stages - 1, random.between(1, 4));
  Tensor loss = lossOf(kind, x, outputs, byRows);
  kind.minimize(loss, randomOptimizer(random), someNorm(random));
  kind.output("loss", loss);
  const auto order = random.chance(50) ? sbp::AccumulateOrder::PerStep : sbp::AccumulateOrder::PerMicroBatch;
  GeneratedGraph graph = kind.finish(Feature::PipelinedNorms, context, [&](Ways &ways) {
    recomputeInSecond(ways);
    for (Configuration &way : ways) {
      way.axis = "dp";
      way.microBatches = count;
      way.order = order;
      way.pipeline = static_cast<sbp::PipelineSchedule>(random.below(3));
    }
  });
  graph.features.insert({toString(Feature::Placed), toString(Feature::MicroBatches)});
  if (order == sbp::AccumulateOrder::PerStep)
    graph.features.insert(toString(Feature::SummedPerStep));
  return graph;
}

//===----------------------------------------------------------------------===//
// Masked scores
//===----------------------------------------------------------------------===//

/// What a mask does, and to which keys.
struct Mask {
  enum class Way { Attention, Bias, Softmax, LogSumExp } way;
  double number; ///< in place of scores that are not seen, or added to them
  int64_t samples, keys;
  std::vector<bool> seen;      ///< by sample and key
  int64_t largestExponent = 4; ///< powers of ten in what is not seen

  static Mask draw(Random &random);
};

Mask Mask::draw(Random &random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double lowest = std::numeric_limits<float>::lowest();
  const auto way = static_cast<Way>(random.below(4));
  const double number = random.pick(std::vector<double>{-1e9, -1e9, -kInfinity, -kInfinity, lowest, lowest, NAN});
  Mask mask{way, number, random.between(2, 4), random.between(2, 4), {}};
  const bool hidesAll = random.chance(25); // keys of some samples
  // Scores must be far above a finite number that is added, and what is not seen counts where nothing is.
  if (!hidesAll && !(way == Way::Bias && number == -1e9))
    mask.largestExponent = 30;
  for (int64_t sample = 0; sample < mask.samples; ++sample) {
    const bool hides = hidesAll && random.chance(50);
    for (int64_t key = 0; key < mask.keys; ++key)
      mask.seen.push_back(!hides && (key == 0 || random.chance(50)));
  }
  return mask;
}

/// Queries of a few positions, and keys and values of which some are masked.
class MaskBuilder {
public:
  MaskBuilder(KindBuilder &kind, Mask mask)
      : kind(kind), random(kind.random), mask(std::move(mask)), causal(random.chance(40)),
        positions(causal ? this->mask.keys : random.between(1, 3)), heads(random.between(1, 2)),
        headWidth(random.between(2, 3)), byKeys(random.chance(35)) {}

  /// What is computed of the scores.
  Tensor result() {
    const int64_t width = random.between(2, 4);
    Tensor x = kind.input({mask.samples, positions, width}, split(0), kind.tenths());
    Tensor memory = kind.input({mask.samples, mask.keys, width}, ofKeys(1), valuesOfKeys(width));
    Tensor q = projected(x, "q"), k = projected(memory, "k"), v = projected(memory, "v");
    if (mask.way == Mask::Way::Attention || mask.way == Mask::Way::Bias)
      return attention(q, k, v, options());
    const std::vector<int64_t> byHeads = {0, 2, 1, 3};
    q = transpose(q, byHeads), k = transpose(k, byHeads), v = transpose(v, byHeads);
    Tensor scores = matmul(q, k, {false, true}), unseen = constantLike(scores, mask.number);
    scores = select(ofSeen(1.0, 0.0), scores, unseen);
    return mask.way == Mask::Way::LogSumExp ? logSumExp(scores) : matmul(softmax(scores), v);
  }

private:
  Layout ofKeys(int64_t dim) const { return byKeys ? Layout({split(0), split(dim)}) : split(0); }
  Tensor projected(const Tensor &x, const std::string &name) {
    const Shape shape = x.shape();
    Tensor weight = kind.variable(name, {shape[2], heads * headWidth}, kind.maybeSplit(1), kind.tenths());
    Tensor y = matmul(reshape(x, {-1, shape[2]}), weight);
    return reshape(y, {shape[0], shape[1], heads, headWidth});
  }
  /// Tenths where a key is seen, and numbers of all magnitudes from 1e4 on where it is not.
  Values valuesOfKeys(int64_t width) {
    return [this, width](int64_t index) {
      const double tenth = 0.1 * random.between(-10, 10);
      return mask.seen[index / width] ? tenth : tenth * std::pow(10.0, random.between(4, mask.largestExponent));
    };
  }
  /// An input that broadcasts to scores.
  Tensor ofSeen(double seen, double unseen) {
    const auto value = [this, seen, unseen](int64_t index) { return mask.seen[index] ? seen : unseen; };
    return kind.input({mask.samples, 1, 1, mask.keys}, ofKeys(3), value);
  }
  AttentionOptions options() {
    AttentionOptions result;
    result.causal = causal;
    if (mask.way == Mask::Way::Bias)
      result.bias = ofSeen(0.0, mask.number);
    if (mask.way == Mask::Way::Attention || random.chance(20))
      result.mask = kind.input(
          {mask.samples, mask.keys}, ofKeys(1), [this](int64_t index) { return mask.seen[index]; }, ElementType::I64);
    return result;
  }

  KindBuilder &kind;
  Random &random;
  const Mask mask;
  const bool causal;
  const int64_t positions, heads, headWidth;
  const bool byKeys; ///< whether keys are split along tp
};

GeneratedGraph maskedScores(Random &random, MLIRContext &context) {
  KindBuilder kind(random, {{"dp", random.between(1, 2)}, {"tp", random.between(1, 2)}}, /*hasAttention=*/true);
  const Mask mask = Mask::draw(random);
  MaskBuilder builder(kind, mask);
  Tensor result = builder.result();
  Tensor loss = mean(mul(result, kind.input(result.shape(), split(0), kind.tenths())));
  if (!std::isnan(mask.number) || random.chance(30)) // else all variables become NaN
    kind.minimize(loss, randomOptimizer(random), someNorm(random));
  kind.output("loss", loss);
  kind.output("result", result);
  return kind.finish(Feature::MaskedScores, context, [&](Ways &ways) {
    if (random.chance(50))
      recomputeInSecond(ways);
  });
}

//===----------------------------------------------------------------------===//
// Wide addends
//===----------------------------------------------------------------------===//

constexpr int64_t kLowestPower = -133, kHighestPower = 99; ///< of two: 1e-40 and 1e30

/// A term that is 0, whose gradient is the sum of an input's rows, times a power of two by element. With `isMixed`,
/// addends of one element have different powers.
Tensor wideTerm(KindBuilder &kind, int64_t rows, Shape shape, ElementType type, bool isMixed) {
  Random &random = kind.random;
  const auto power = [&random](int64_t) { return std::ldexp(1.0, random.between(kLowestPower, kHighestPower)); };
  Tensor wide = kind.variable("wide", shape, {}, kind.integers(0, 0), type);
  Tensor nothing = sub(wide, stopGradient(wide));
  if (!isMixed)
    nothing = mul(nothing, kind.variable("magnitudes", shape, {}, power, type, /*trainable=*/false));
  shape.insert(shape.begin(), rows);
  Values values = kind.integers(-8, 8);
  if (isMixed) // of one sign, so that the large do not leave the small
    values = [power, &random](int64_t i) { return power(i) * random.between(1, 15); };
  return sum(mul(kind.input(shape, split(0), values, type), nothing));
}

GeneratedGraph wideAddends(Random &random, MLIRContext &context) {
  const int64_t ranks = random.between(1, 4), count = random.between(ranks == 1 ? 2 : 1, 12);
  const int64_t rows = ranks * count * random.between(1, 2), extent = random.between(3, 4);
  const auto type = random.chance(70) ? ElementType::F64 : ElementType::F32;
  const bool isMixed = random.chance(25);
  const Shape shape = random.chance(65) ? Shape{extent, extent} : Shape{random.between(1, 7)};
  KindBuilder kind(random, {{"dp", ranks}});
  Tensor term = wideTerm(kind, rows, shape, type, isMixed);
  Tensor weight = kind.variable("weight", {extent, extent}, {}, kind.integers(-1, 1), type);
  Tensor loss = add(sum(matmul(kind.input({rows, extent}, split(0), kind.integers(-2, 2), type), weight)), term);
  loss = type == ElementType::F64 ? cast(loss, ElementType::F32) : loss;
  const double rate = random.chance(50) ? 1.0 : 0.5;
  kind.minimize(loss, random.chance(60) ? Optimizer(Sgd{rate}) : Optimizer(Momentum{rate, 0.5}));
  kind.output("loss", loss);
  GeneratedGraph graph = kind.finish(Feature::WideAddends, context, [&](Ways &ways) {
    for (Configuration &way : ways) {
      way.reproducible = true;
      way.microBatches = count;
      way.order = random.chance(50) ? sbp::AccumulateOrder::PerStep : sbp::AccumulateOrder::PerMicroBatch;
    }
  });
  graph.isOfIntegers = !isMixed;
  graph.features.insert({toString(Feature::SummedExactly), toString(Feature::StoppedGradient)});
  if (count > 1)
    graph.features.insert(toString(Feature::MicroBatches));
  return graph;
}

} // namespace

std::optional<GeneratedGraph> generateOfKind(uint64_t seed, MLIRContext &context) {
  constexpr int kPercent = 20, kAttempts = 4;
  static const std::vector<GeneratedGraph (*)(Random &, MLIRContext &)> kinds = {recomputedBlocks, pipelinedNorms,
                                                                                 maskedScores, wideAddends};
  Random random(seed ^ 0x3c79ac492ba7b653);
  if (!random.chance(kPercent))
    return std::nullopt;
  const auto generate = random.pick(kinds);
  GeneratedGraph graph = generate(random, context);
  for (int attempt = 1; attempt < kAttempts; ++attempt) {
    const absl::StatusOr<bool> isNear = differential::isNearInF32(*graph.module, graph.experiment);
    if (!isNear.ok() || *isNear)
      break;
    graph = generate(random, context);
  }
  return graph;
}

} // namespace splitcast::property
