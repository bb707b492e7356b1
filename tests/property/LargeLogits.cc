#include "tests/property/LargeLogits.h"

#include "tests/property/KindBuilder.h"
#include "tests/property/TrainingOptions.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace splitcast::property {

namespace {

/// As a definition has it: a NaN counts, then an infinity.
double logSumExpOf(ArrayRef<double> row) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  for (double x : row) {
    if (std::isnan(x))
      return x;
    largest = std::max(largest, x);
  }
  if (std::isinf(largest))
    return largest;
  for (double x : row)
    sum += std::exp(x - largest);
  return largest + std::log(sum);
}

/// Rows of tenths, in many of which some elements are infinite, in a few all, and rarely one is a NaN.
Values rowsWithInfinities(Random &random, int64_t width) {
  enum Row { Finite, Above, Below, Both, AllBelow, HasNan };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return [&random, width, row = Finite](int64_t index) mutable {
    const bool isFirst = index % width == 0;
    if (isFirst)
      row = random.pick(std::vector<Row>{Finite, Above, Above, Below, Both, AllBelow, HasNan});
    const double tenth = 0.1 * random.between(-10, 10);
    if ((row == HasNan && isFirst) || ((row == Above || row == Both) && (isFirst || random.chance(20))))
      return row == HasNan ? std::nan("") : kInfinity;
    return row == AllBelow || ((row == Below || row == Both) && random.chance(50)) ? -kInfinity : tenth;
  };
}

/// The mean of the rows' losses.
double crossEntropyOf(ArrayRef<double> logits, ArrayRef<int64_t> labels) {
  const size_t classes = logits.size() / labels.size();
  double sum = 0;
  for (auto [row, label] : llvm::enumerate(labels)) {
    const ArrayRef<double> own = logits.slice(row * classes, classes);
    sum += logSumExpOf(own) - own[label];
  }
  return sum / static_cast<double>(labels.size());
}

/// x weight + bias, without rounding: these are integers and eighths.
std::vector<double> logitsOf(const differential::Tensor &x, const differential::Tensor &weight,
                             const differential::Tensor &bias) {
  const int64_t rows = x.shape[0], width = x.shape[1], classes = bias.shape[0];
  std::vector<double> logits;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t of = 0; of < classes; ++of) {
      logits.push_back(bias.floats[of]);
      for (int64_t i = 0; i < width; ++i)
        logits.back() += x.floats[row * width + i] * weight.floats[i * classes + of];
    }
  return logits;
}

} // namespace

GeneratedGraph largeLogits(Random &random, MLIRContext &context) {
  const int64_t parts = random.between(2, 3), classes = parts * random.between(2, 4);
  const int64_t rows = random.between(2, 6), width = random.between(1, 4), extent = random.between(2, 5);
  KindBuilder kind(random, {{"dp", random.between(1, 2)}, {"tp", parts}});
  kind.calls = {"train"}; // the next step's logits would be rounded to thousandths
  const double near = random.between(1, 3) * (random.chance(50) ? 5000.0 : -5000.0);
  const Values eighths = [&random](int64_t) { return 0.125 * random.between(-8, 8); };
  const Values shifted = [eighths, near](int64_t index) { return near + eighths(index); };
  Tensor x = kind.input({rows, width}, split(0), kind.integers(-2, 2));
  Tensor labels = kind.input({rows}, split(0), kind.integers(0, classes - 1), ElementType::I64);
  Tensor infinite = kind.input({rows, extent}, split(0), rowsWithInfinities(random, extent));
  Tensor weight = kind.variable("head.weight", {width, classes}, {{broadcast(), split(1)}}, eighths);
  Tensor bias = kind.variable("head.bias", {classes}, kind.maybeSplit(0), shifted);
  Tensor loss = meanCrossEntropy(add(matmul(x, weight), bias), labels);
  kind.minimize(loss, randomOptimizer(random), someNorm(random));
  kind.output("loss", loss);
  kind.output("log_sums", logSumExp(infinite));
  GeneratedGraph graph = kind.finish(Feature::LargeLogits, context, [](Ways &) {});
  const std::vector<differential::Tensor> &inputs = graph.experiment.calls.front().inputs;
  const auto &variables = graph.experiment.initial;
  auto expectedLoss = differential::Tensor::zeros({}, Float32Type::get(&context));
  expectedLoss.floats[0] =
      crossEntropyOf(logitsOf(inputs[0], variables.at("head.weight"), variables.at("head.bias")), inputs[1].integers);
  auto expectedSums = differential::Tensor::zeros({rows}, Float32Type::get(&context));
  for (int64_t row = 0; row < rows; ++row)
    expectedSums.floats[row] = logSumExpOf(ArrayRef(inputs[2].floats).slice(row * extent, extent));
  graph.expected = {{0, expectedLoss}, {1, expectedSums}};
  return graph;
}

} // namespace splitcast::property
