// Measures memory and time of a training step, with and without ZeRO. The model
// is a chain of linear layers of equal size, trained with Adam to minimize the
// mean squared error against random targets.
#include "compiler/launch/LaunchReport.h"
#include "examples/common/Training.h"
#include "runtime/io/Random.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

using namespace splitcast;

namespace {

struct RecipeFlags {
  int64_t layers = 20, width = 2000, batch = 20;
  TrainingFlags training;
};

void build(Graph &graph, const RecipeFlags &flags, int64_t ranks) {
  graph.function("train");
  const sbp::Shape shape = {flags.batch * ranks, flags.width};
  Tensor x = graph.input("x", ElementType::F32, shape, split(0));
  Tensor target = graph.input("target", ElementType::F32, shape, split(0));
  Tensor y = x;
  for (int64_t layer = 0; layer < flags.layers; ++layer)
    y = linear(y, absl::StrCat("layer", layer), flags.width);
  Tensor loss = mse(y, target);
  graph.minimize(loss, Adam{0.01});
  graph.output("loss", loss);
}

/// A fill with standard normal numbers, the same ones in every step.
BatchFill<float> normal(const RecipeFlags &flags, const char *name) {
  const runtime::RandomKey key{static_cast<uint64_t>(flags.training.seed), runtime::hashName(name)};
  return [key, width = flags.width](int64_t, const sbp::Interval &rows, absl::Span<float> to) {
    runtime::fillNormal(key, rows.begin * width, rows.count * width, 0.0F, 1.0F, to.data());
    return absl::OkStatus();
  };
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

void printTimes(const std::vector<double> &seconds) {
  // The first step is not counted: it touches all memory for the first time.
  std::vector<double> counted(seconds.begin() + (seconds.size() > 1 ? 1 : 0), seconds.end());
  if (!counted.empty())
    printf("step time: median %.4f s, minimum %.4f s, of %zu steps\n", median(counted),
           *std::min_element(counted.begin(), counted.end()), counted.size());
}

std::string highWater() { return megabytes(processMemory().highWaterBytes); }

absl::Status run(const RecipeFlags &flags, Launch &launch) {
  const bool isFirst = launch.rank() == 0;
  const std::string atStart = highWater();
  Graph graph({launch.options().deviceKind, {{"dp", launch.size()}}});
  build(graph, flags, launch.size());
  Batches batches;
  batches.add("x", normal(flags, "data.x")).add("target", normal(flags, "data.target"));
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Training> training,
                             Training::create(flags.training, launch, graph, batches));
  if (isFirst) {
    printf("memory: %s\n", memoryText(training->session().memoryReport("train")).c_str());
    printf("high-water mark of rank 0: at the start %s, after building %s\n", atStart.c_str(), highWater().c_str());
  }
  std::vector<double> seconds;
  for (int64_t step = training->firstStep(); step <= flags.training.steps; ++step) {
    const std::string before = highWater();
    SPLITCAST_ASSIGN_OR_RETURN(StepResult result, training->step(step));
    seconds.push_back(result.seconds);
    if (isFirst)
      printf("step %lld: loss %.9g, %.4f s, high-water mark before %s, after %s\n", static_cast<long long>(step),
             result.loss, result.seconds, before.c_str(), highWater().c_str());
    SPLITCAST_RETURN_IF_ERROR(training->record(result));
  }
  SPLITCAST_ASSIGN_OR_RETURN(double sum, training->sumOf(graph.variableNames()));
  if (isFirst) {
    printf("sum of all parameters: %.17g\n", sum);
    printTimes(seconds);
  }
  return training->finish();
}

} // namespace

int main(int argc, char **argv) {
  RecipeFlags recipe;
  recipe.training.steps = 5;
  Flags flags("recipe", "[flags]\nTrains linear layers of equal size on random targets, and prints the memory and time "
                        "of each step.");
  flags.addInteger("layers", &recipe.layers, 1, 10'000, "the number of linear layers");
  flags.addInteger("width", &recipe.width, 1, 100'000, "the number of inputs and of outputs of each layer");
  flags.addInteger("batch", &recipe.batch, 1, 1'000'000, "the number of samples per rank in a batch");
  recipe.training.addTo(flags);
  return launchMain(flags, argc, argv, recipe.training.launch, [&](Launch &launch) { return run(recipe, launch); });
}
