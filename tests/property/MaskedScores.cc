#include "tests/property/MaskedScores.h"

#include "tests/property/KindBuilder.h"
#include "tests/property/TrainingOptions.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace splitcast::property {

namespace {

using sbp::Shape;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What a mask does, and to which keys.
struct Mask {
  enum class Way { Attention, Bias, Softmax, LogSumExp } way;
  double number; ///< in place of scores that are not seen, or added to them
  int64_t samples, keys;
  bool causal;
  std::vector<bool> seen;      ///< by sample and key: whether scores are not changed
  std::vector<bool> shown;     ///< by sample and key: what the attention has as its mask; empty if it has none
  int64_t largestExponent = 4; ///< powers of ten in what is not seen

  static Mask draw(Random &random);

private:
  void drawSeen(Random &random);
  void drawBiased(Random &random);
};

Mask Mask::draw(Random &random) {
  const double lowest = std::numeric_limits<float>::lowest();
  const Way way =
      random.pick(std::vector<Way>{Way::Attention, Way::Bias, Way::Bias, Way::Bias, Way::Softmax, Way::LogSumExp});
  std::vector<double> numbers = {-1e9, -1e9, lowest, lowest, -kInfinity, NAN};
  if (way == Way::Bias)
    numbers.insert(numbers.end(), {-1e9, lowest});
  else
    numbers.insert(numbers.end(), {-kInfinity, kInfinity});
  Mask mask{way, random.pick(numbers), random.between(2, 4), random.between(2, 4), random.chance(40), {}, {}};
  if (way == Way::Attention)
    mask.number = -kInfinity;
  if (way == Way::Bias)
    mask.drawBiased(random);
  else
    mask.drawSeen(random);
  return mask;
}

/// Some keys of each sample are seen, or of some samples none, where what is not seen counts.
void Mask::drawSeen(Random &random) {
  const bool hidesAll = random.chance(25);
  largestExponent = hidesAll ? 4 : 30;
  for (int64_t sample = 0; sample < samples; ++sample) {
    const bool hides = hidesAll && random.chance(50);
    for (int64_t key = 0; key < keys; ++key)
      seen.push_back(!hides && (key == 0 || random.chance(50)));
  }
  if (way == Way::Attention)
    shown = seen;
}

/// A position may see one key only, to which the number is added: the mask shows that one, or it is the first of a
/// causal attention. (Of two such keys, a finite number would leave rounded scores. Other scores must be far above it.)
void Mask::drawBiased(Random &random) {
  enum Rows { Some, Lone, First };
  const bool hasMask = !causal || random.chance(30);
  largestExponent = std::isfinite(number) ? 4 : 30;
  for (int64_t sample = 0; sample < samples; ++sample) {
    std::vector<Rows> ways = {Some};
    if (hasMask)
      ways.insert(ways.end(), {Lone, Lone});
    if (causal)
      ways.insert(ways.end(), {First, First});
    const Rows rows = random.pick(ways);
    const int64_t lone = random.below(keys), alwaysSeen = rows == First ? 1 : 0;
    for (int64_t key = 0; key < keys; ++key) {
      seen.push_back(rows == Lone ? key != lone : key == alwaysSeen || (key > alwaysSeen && random.chance(50)));
      if (hasMask)
        shown.push_back(rows == Lone ? key == lone : rows == First || seen.back());
    }
  }
}

/// Queries of a few positions, and keys and values of which some are masked.
class MaskBuilder {
public:
  MaskBuilder(KindBuilder &kind, Mask mask)
      : kind(kind), random(kind.random), mask(std::move(mask)),
        positions(this->mask.causal ? this->mask.keys : random.between(1, 3)), heads(random.between(1, 2)),
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

  int64_t numHeads() const { return heads; }

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
    result.causal = mask.causal;
    if (mask.way == Mask::Way::Bias)
      result.bias = ofSeen(0.0, mask.number);
    if (!mask.shown.empty())
      result.mask = kind.input(
          {mask.samples, mask.keys}, ofKeys(1), [this](int64_t index) { return mask.shown[index]; }, ElementType::I64);
    return result;
  }

  KindBuilder &kind;
  Random &random;
  const Mask mask;
  const int64_t positions, heads, headWidth;
  const bool byKeys; ///< whether keys are split along tp
};

/// Computes the first call's result from its definition, in f64.
class MaskReference {
public:
  MaskReference(const Mask &mask, const differential::Experiment &experiment, int64_t heads)
      : mask(mask), x(experiment.calls.front().inputs[0]), memory(experiment.calls.front().inputs[1]),
        initial(experiment.initial), heads(heads), headWidth(initial.at("q").shape[1] / heads), positions(x.shape[1]) {}

  differential::Tensor result() {
    const bool isAttention = mask.way == Mask::Way::Attention || mask.way == Mask::Way::Bias;
    Shape shape = isAttention ? Shape{mask.samples, positions, heads} : Shape{mask.samples, heads, positions};
    if (mask.way != Mask::Way::LogSumExp)
      shape.push_back(headWidth);
    auto result = differential::Tensor::zeros(shape, x.elementType);
    auto *next = result.floats.begin().base();
    for (at.sample = 0; at.sample < shape[0]; ++at.sample)
      for (int64_t one = 0; one < shape[1]; ++one)
        for (int64_t two = 0; two < shape[2]; ++two) {
          at.head = isAttention ? two : one;
          at.position = isAttention ? one : two;
          next = llvm::copy(row(), next);
        }
    return result;
  }

private:
  double projected(const differential::Tensor &of, const char *name, int64_t position, int64_t column) const {
    const differential::Tensor &weight = initial.at(name);
    const int64_t width = weight.shape[0];
    double sum = 0;
    for (int64_t i = 0; i < width; ++i)
      sum += of.floats[(at.sample * of.shape[1] + position) * width + i] *
             weight.floats[i * weight.shape[1] + at.head * headWidth + column];
    return sum;
  }

  bool isShown(int64_t key) const {
    if (mask.way != Mask::Way::Attention && mask.way != Mask::Way::Bias)
      return true;
    return (!mask.causal || key <= at.position) && (mask.shown.empty() || mask.shown[at.sample * mask.keys + key]);
  }

  /// With a finite number added, as f32 has it.
  double scoreOf(int64_t key) const {
    const bool isSeen = mask.seen[at.sample * mask.keys + key];
    double score = 0;
    for (int64_t i = 0; i < headWidth; ++i)
      score += projected(x, "q", at.position, i) * projected(memory, "k", key, i);
    if (mask.way == Mask::Way::Softmax || mask.way == Mask::Way::LogSumExp)
      return isSeen ? score : mask.number;
    score /= std::sqrt(static_cast<double>(headWidth));
    return mask.way == Mask::Way::Bias && !isSeen ? static_cast<float>(score + mask.number) : score;
  }

  /// What the position is given: of values, or the logarithm.
  std::vector<double> row() const {
    double largest = -kInfinity, sum = 0;
    std::vector<double> scores(mask.keys, -kInfinity), result(headWidth, 0.0);
    bool hasNan = false;
    for (int64_t key = 0; key < mask.keys; ++key) {
      if (isShown(key))
        scores[key] = scoreOf(key);
      hasNan |= std::isnan(scores[key]);
      largest = std::max(largest, hasNan ? -kInfinity : scores[key]);
    }
    const bool isInfinite = std::isinf(largest);
    for (double score : scores)
      sum += std::exp(score - (isInfinite ? 0.0 : largest));
    if (mask.way == Mask::Way::LogSumExp)
      return {hasNan ? NAN : isInfinite ? largest : largest + std::log(sum)};
    if (hasNan || (isInfinite && (largest > 0 || mask.way == Mask::Way::Softmax)))
      return std::vector<double>(headWidth, NAN);
    for (int64_t key = 0; key < mask.keys && !isInfinite; ++key)
      for (int64_t i = 0; i < headWidth; ++i)
        result[i] += std::exp(scores[key] - largest) / sum * projected(memory, "v", key, i);
    return result;
  }

  const Mask &mask;
  const differential::Tensor &x, &memory;
  const differential::Variables &initial;
  const int64_t heads, headWidth, positions;
  struct {
    int64_t sample = 0, head = 0, position = 0;
  } at; ///< the row that is computed
};

} // namespace

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
  GeneratedGraph graph = kind.finish(Feature::MaskedScores, context, [&](Ways &ways) {
    if (random.chance(50))
      recomputeInSecond(ways);
  });
  graph.expected.push_back({1, MaskReference(mask, graph.experiment, builder.numHeads()).result()});
  return graph;
}

} // namespace splitcast::property
