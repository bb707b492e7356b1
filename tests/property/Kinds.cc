#include "tests/property/Kinds.h"

#include "tests/property/KindBuilder.h"
#include "tests/property/LargeLogits.h"
#include "tests/property/MaskedScores.h"
#include "tests/property/SessionTurns.h"
#include "tests/property/TrainingOptions.h"

#include "tests/differential/EveryPass.h"

#include "absl/strings/str_cat.h"

#include <cmath>

using namespace mlir;

namespace splitcast::property {

namespace {

using differential::Configuration;
using sbp::Shape;

//===----------------------------------------------------------------------===//
// Recomputed blocks
//===----------------------------------------------------------------------===//

/// A residual stream [samples, positions, width] and what is added to it.
class BlockBuilder {
public:
  /// Whether the last biases are split, and all else is whole: then a function of the residual stream, such as the tanh
  /// before the pooling, is computed in parts or whole, as its uses want it.
  const bool isStreamSplitAlone;

  BlockBuilder(KindBuilder &kind, Shape stream)
      : isStreamSplitAlone(kind.random.chance(75)), kind(kind), random(kind.random), stream(std::move(stream)),
        rows({this->stream[0] * this->stream[1], width()}) {}

  Tensor block(const Tensor &x, const std::string &name) {
    Tensor matrix = reshape(normalized(x, name), rows);
    Tensor addend = random.chance(isStreamSplitAlone ? 85 : 60) ? attentionOf(matrix, name) : twoLayers(matrix, name);
    return add(x, reshape(addend, stream));
  }
  /// The head. Layers of as many outputs may share a bias.
  Tensor linear(const Tensor &x, const std::string &name, int64_t outputs, int64_t splitDim, int percentBias = 40) {
    const Shape shape = {x.shape()[1], outputs};
    Tensor y = matmul(x, kind.variable(name + ".weight", shape, ofWeight(splitDim), kind.tenths()));
    if (!random.chance(percentBias))
      return y;
    const std::string owner = random.chance(isStreamSplitAlone ? 0 : 25) ? absl::StrCat("tied", outputs) : name;
    const int percent = !isStreamSplitAlone ? percentBias : percentBias == kMostly ? 100 : 0;
    return add(y, kind.variable(owner + ".bias", {outputs}, kind.maybeSplit(0, percent), kind.tenths()));
  }

private:
  static constexpr int kMostly = 80; ///< percent of the last biases, which the residual stream takes

  int64_t width() const { return stream.back(); }
  Layout ofWeight(int64_t splitDim) { return kind.maybeSplit(splitDim, hasSplitWeights ? 40 : 0); }

  Tensor normalized(const Tensor &x, const std::string &name) {
    if (random.chance(70))
      return x;
    const std::string owner = random.chance(30) ? "tied" : name;
    const Layout layout = kind.maybeSplit(0, isStreamSplitAlone ? 0 : 40);
    Tensor scale = kind.variable(owner + ".scale", {width()}, layout, kind.tenths());
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
  const bool hasSplitWeights = !isStreamSplitAlone && random.chance(40); ///< else only vectors are split
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
  Tensor pooled = mean(random.chance(blocks.isStreamSplitAlone ? 95 : 70) ? tanh(x) : x, {1});
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
    Tensor y = random.chance(20)   ? gated(x, name, stage, width)
               : random.chance(20) ? pooled(x, name, stage, width)
                                   : linear(x, name, stage, width);
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
  /// The means of outputs that are laid out as images, whose dimensions may have as many elements as a micro-batch.
  Tensor pooled(const Tensor &x, const std::string &name, int64_t stage, int64_t width) {
    const int64_t side = x.shape()[0] == 2 ? 3 : 2; // a step whose images are as wide as the batch is long is refused
    Tensor images = reshape(linear(x, name, stage, width * side * side), {x.shape()[0], width, side, side});
    return mean(images, {2, 3});
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

GeneratedGraph pipeline(Random &random, MLIRContext &context, bool isReproducible) {
  const int64_t stages = random.chance(70) ? 2 : 3, count = random.between(2, 4);
  // Sums of several addends on several ranks show by their bits where they are added.
  const int64_t ranks = random.chance(isReproducible ? 60 : 20) ? 1 : random.between(2, 3);
  const int64_t rows = ranks * count * (isReproducible || random.chance(10) ? 1 : random.between(2, 3));
  KindBuilder kind(random, {{"pp", stages}, {"dp", ranks}});
  const Layout byRows({broadcast(), split(0)});
  StageBuilder builder(kind);
  Tensor x = rowsOf(kind, rows, byRows);
  const int64_t layers = stages + (random.chance(25) ? 1 : 0),
                normalized = random.chance(60) ? 0 : random.below(layers);
  for (int64_t i = 0; i < layers; ++i)
    x = builder.layer(x, absl::StrCat("h.", i), i * stages / layers, i == normalized || random.chance(65));
  Tensor outputs = builder.linear(x, "head", stages - 1, random.between(1, 4));
  Tensor loss = lossOf(kind, x, outputs, byRows);
  kind.minimize(loss, randomOptimizer(random), someNorm(random));
  kind.output("loss", loss);
  const auto order = random.chance(50) ? sbp::AccumulateOrder::PerStep : sbp::AccumulateOrder::PerMicroBatch;
  const auto feature = isReproducible ? Feature::ReproduciblePipelines : Feature::PipelinedNorms;
  GeneratedGraph graph = kind.finish(feature, context, [&](Ways &ways) {
    recomputeInSecond(ways);
    for (Configuration &way : ways) {
      way.axis = "dp";
      way.reproducible = isReproducible;
      way.microBatches = count;
      way.order = order;
      way.pipeline = static_cast<sbp::PipelineSchedule>(random.below(3));
    }
  });
  graph.features.insert({toString(Feature::Placed), toString(Feature::MicroBatches)});
  if (isReproducible)
    graph.features.insert(toString(Feature::SummedExactly));
  else if (order == sbp::AccumulateOrder::PerStep)
    graph.features.insert(toString(Feature::SummedPerStep));
  return graph;
}

GeneratedGraph pipelinedNorms(Random &random, MLIRContext &context) { return pipeline(random, context, false); }
GeneratedGraph reproduciblePipelines(Random &random, MLIRContext &context) { return pipeline(random, context, true); }

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

//===----------------------------------------------------------------------===//
// One of them
//===----------------------------------------------------------------------===//

constexpr int kPercent = 20; ///< of all seeds

using Kind = GeneratedGraph (*)(Random &, MLIRContext &);

Random randomOfKinds(uint64_t seed) { return Random(seed ^ 0x3c79ac492ba7b653); }

GeneratedGraph generateAny(Random &random, const std::vector<Kind> &kinds, MLIRContext &context) {
  constexpr int kAttempts = 4;
  const Kind generate = random.pick(kinds);
  GeneratedGraph graph = generate(random, context);
  for (int attempt = 1; attempt < kAttempts; ++attempt) {
    const absl::StatusOr<bool> isNear = differential::isNearInF32(*graph.module, graph.experiment);
    if (!isNear.ok() || *isNear)
      break;
    graph = generate(random, context);
  }
  return graph;
}

} // namespace

std::optional<GeneratedGraph> generateOfKind(uint64_t seed, MLIRContext &context) {
  Random random = randomOfKinds(seed);
  if (!random.chance(kPercent))
    return std::nullopt;
  return generateAny(random, {recomputedBlocks, pipelinedNorms, reproduciblePipelines, maskedScores, wideAddends},
                     context);
}

std::optional<GeneratedGraph> generateBeside(uint64_t seed, MLIRContext &context) {
  constexpr int kPercentBeside = 12;
  Random random(seed ^ 0x2545f4914f6cdd1d);
  if (randomOfKinds(seed).chance(kPercent) || !random.chance(kPercentBeside))
    return std::nullopt;
  return generateAny(random, {largeLogits, sessionTurns}, context);
}

} // namespace splitcast::property
