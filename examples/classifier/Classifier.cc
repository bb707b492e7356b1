// A classifier of points around ten centers, with layers of 256, 128 and 10
// elements. It is trained with SGD; the ranks split each batch. Then a second
// function of the module, which reads the same variables, predicts the labels of
// points that were not trained on.
#include "examples/common/Training.h"
#include "runtime/io/Random.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <algorithm>

using namespace splitcast;

namespace {

constexpr int64_t kInputs = 256, kClasses = 10, kBatch = 128, kPredicted = 1000;
/// The number of the batch whose points are predicted. It is above the largest
/// --steps, so no training sees them.
constexpr int64_t kUnseenStep = 2'000'000'000;

struct ClassifierFlags {
  int64_t hidden = 128;
  TrainingFlags training;
};

Tensor logits(const Tensor &x, int64_t hidden) { return linear(relu(linear(x, "fc1", hidden)), "fc2", kClasses); }

void build(Graph &graph, int64_t hidden) {
  graph.function("train");
  Tensor x = graph.input("x", ElementType::F32, {kBatch, kInputs}, split(0));
  Tensor labels = graph.input("labels", ElementType::I64, {kBatch}, split(0));
  Tensor loss = mean(softmaxCrossEntropy(logits(x, hidden), labels));
  graph.minimize(loss, Sgd{1e-3});
  graph.output("loss", loss);
  graph.function("predict");
  graph.output("logits", logits(graph.input("x", ElementType::F32, {kPredicted, kInputs}, split(0)), hidden));
}

/// An unlimited number of samples. Each is a center, chosen at random, plus
/// noise, and depends only on the seed and its index.
class Samples {
public:
  explicit Samples(int64_t seed) : seed(static_cast<uint64_t>(seed)) {}

  int64_t label(int64_t index) const {
    double uniform = 0;
    runtime::fillUniform(key("data.labels"), index, 1, 0.0F, 1.0F, &uniform);
    return std::min(kClasses - 1, static_cast<int64_t>(uniform * kClasses));
  }

  void fill(int64_t index, absl::Span<float> x) const {
    float center[kInputs];
    runtime::fillNormal(key("data.centers"), label(index) * kInputs, kInputs, 0.0F, 1.0F, center);
    runtime::fillNormal(key("data.noise"), index * kInputs, kInputs, 0.0F, 2.0F, x.data());
    for (int64_t i = 0; i < kInputs; ++i)
      x[i] += center[i];
  }

private:
  runtime::RandomKey key(const char *name) const { return {seed, runtime::hashName(name)}; }
  uint64_t seed;
};

Batches batchesOf(const Samples &samples) {
  Batches batches;
  batches.add<float>("x", [&](int64_t step, const sbp::Interval &rows, absl::Span<float> to) {
    for (int64_t row = 0; row < rows.count; ++row)
      samples.fill(step * kBatch + rows.begin + row, to.subspan(row * kInputs, kInputs));
    return absl::OkStatus();
  });
  batches.add<int64_t>("labels", [&](int64_t step, const sbp::Interval &rows, absl::Span<int64_t> to) {
    for (int64_t row = 0; row < rows.count; ++row)
      to[row] = samples.label(step * kBatch + rows.begin + row);
    return absl::OkStatus();
  });
  return batches;
}

/// Returns how many of this rank's rows have their largest logit at the label.
absl::StatusOr<int64_t> countCorrect(Session &session, const Samples &samples) {
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<TensorInfo> outputs, session.outputs("predict"));
  const TensorInfo &info = outputs.front();
  std::vector<float> scores(info.localElements());
  SPLITCAST_RETURN_IF_ERROR(session.getOutput("predict", 0, scores.data()));
  int64_t correct = 0;
  for (int64_t row = 0; row < info.boxes[0][0].count; ++row) {
    const float *first = scores.data() + row * kClasses;
    int64_t best = std::max_element(first, first + kClasses) - first;
    correct += best == samples.label(kUnseenStep * kBatch + info.boxes[0][0].begin + row);
  }
  return correct;
}

absl::Status predict(Training &training, const Samples &samples) {
  SPLITCAST_RETURN_IF_ERROR(training.runOnce("predict", kUnseenStep));
  SPLITCAST_ASSIGN_OR_RETURN(int64_t correct, countCorrect(training.session(), samples));
  SPLITCAST_ASSIGN_OR_RETURN(
      std::vector<std::string> all,
      training.launch().communicator().exchange(absl::StrCat(correct), {"count of correct predictions"}));
  int64_t total = 0;
  for (const std::string &text : all) {
    int64_t count = 0;
    if (absl::SimpleAtoi(text, &count))
      total += count;
  }
  if (training.launch().rank() == 0)
    printf("accuracy on %lld unseen samples: %.4f\n", static_cast<long long>(kPredicted),
           static_cast<double>(total) / kPredicted);
  return absl::OkStatus();
}

absl::Status run(const ClassifierFlags &flags, Launch &launch) {
  Graph graph({launch.options().deviceKind, {{"dp", launch.size()}}});
  build(graph, flags.hidden);
  Samples samples(flags.training.seed);
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Training> training,
                             Training::create(flags.training, launch, graph, batchesOf(samples)));
  for (int64_t step = training->firstStep(); step <= flags.training.steps; ++step) {
    SPLITCAST_ASSIGN_OR_RETURN(StepResult result, training->step(step));
    if (launch.rank() == 0)
      printf("step %lld: loss %.9g\n", static_cast<long long>(step), result.loss);
    SPLITCAST_RETURN_IF_ERROR(training->record(result));
  }
  SPLITCAST_RETURN_IF_ERROR(predict(*training, samples));
  return training->finish();
}

} // namespace

int main(int argc, char **argv) {
  ClassifierFlags classifier;
  Flags flags("classifier", "[flags]\nTrains a classifier on points around ten centers, and predicts with it.");
  flags.addInteger("hidden", &classifier.hidden, 1, 1'000'000, "the width of the hidden layer");
  classifier.training.addTo(flags);
  return launchMain(flags, argc, argv, classifier.training.launch,
                    [&](Launch &launch) { return run(classifier, launch); });
}
