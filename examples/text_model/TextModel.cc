// The simplest language model over bytes: a window of bytes, each looked up in a table, and two layers that say which
// byte comes next. Trains on any file.
#include "compiler/LaunchReport.h"
#include "examples/common/Training.h"
#include "runtime/io/Random.h"
#include "runtime/io/Text.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <cmath>

using namespace splitcast;

namespace {

constexpr int64_t kVocabulary = 256;

struct TextFlags {
  std::string text;
  int64_t batch = 256, window = 16, width = 32, hidden = 256;
  double lr = 2e-3;
  TrainingFlags training;
};

void build(Graph &graph, const TextFlags &flags) {
  graph.function("train");
  Tensor bytes = graph.input("bytes", ElementType::I64, {flags.batch, flags.window}, split(0));
  Tensor next = graph.input("next", ElementType::I64, {flags.batch}, split(0));
  Tensor window =
      reshape(embeddingTable(bytes, "embedding", kVocabulary, flags.width), {flags.batch, flags.window * flags.width});
  Tensor logits = linear(gelu(linear(window, "hidden", flags.hidden)), "output", kVocabulary);
  Tensor loss = mean(softmaxCrossEntropy(logits, next));
  graph.minimize(loss, AdamW{flags.lr});
  graph.output("loss", loss);
}

/// Windows at random places of the text.
class Windows {
public:
  Windows(const TextFlags &flags, const runtime::TextFile &text) : flags(flags), text(text) {}

  absl::Status makeBatch(const std::string &input, int64_t step, const sbp::Interval &rows, void *to) const {
    auto *out = static_cast<int64_t *>(to);
    const bool isNext = input == "next";
    const int64_t bytes = isNext ? 1 : flags.window;
    std::vector<unsigned char> buffer(bytes);
    for (int64_t row = 0; row < rows.count; ++row) {
      int64_t begin = place(step * flags.batch + rows.begin + row) + (isNext ? flags.window : 0);
      if (absl::Status status = text.read(begin, bytes, buffer.data()); !status.ok())
        return status;
      out = std::copy(buffer.begin(), buffer.end(), out);
    }
    return absl::OkStatus();
  }

private:
  int64_t place(int64_t sample) const {
    runtime::RandomKey key{static_cast<uint64_t>(flags.training.seed), runtime::hashName("data.places")};
    double uniform = 0;
    runtime::fillUniform(key, sample, 1, 0.0F, 1.0F, &uniform);
    const int64_t places = text.sizeBytes() - flags.window;
    return std::min(places - 1, static_cast<int64_t>(uniform * static_cast<double>(places)));
  }

  const TextFlags &flags;
  const runtime::TextFile &text;
};

/// A line at the first and the last step, and in between every second and every tenth of the run.
class Progress {
public:
  Progress(const TextFlags &flags, const MemoryReport &memory)
      : steps(flags.training.steps), batch(flags.batch), predicted(megabytes(memory.peakBytes())) {}

  void show(const StepResult &result, double tokensPerSecond, int64_t residentBytes) {
    const absl::Time now = absl::Now();
    const bool isTenth = result.step % std::max<int64_t>(1, steps / 10) == 0;
    if (result.step != 1 && result.step != steps && !isTenth && now - shown < absl::Seconds(1))
      return;
    shown = now;
    const double left = std::ceil(static_cast<double>((steps - result.step) * batch) / tokensPerSecond);
    printf("step %lld/%lld  loss %.4f  %.0f tokens/s  memory %s (predicted peak %s)  time left %lld:%02lld\n",
           static_cast<long long>(result.step), static_cast<long long>(steps), result.loss, tokensPerSecond,
           megabytes(residentBytes).c_str(), predicted.c_str(), static_cast<long long>(left) / 60,
           static_cast<long long>(left) % 60);
    fflush(stdout);
  }

private:
  int64_t steps, batch;
  std::string predicted;
  absl::Time shown = absl::InfinitePast();
};

absl::Status train(const TextFlags &flags, Launch &launch, const runtime::TextFile &text) {
  Graph graph({"cpu", {{"dp", launch.size()}}});
  build(graph, flags);
  Windows windows(flags, text);
  absl::StatusOr<std::unique_ptr<Training>> training = Training::create(
      flags.training, launch, graph, [&](const std::string &input, int64_t step, const sbp::Interval &rows, void *to) {
        return windows.makeBatch(input, step, rows, to);
      });
  if (!training.ok())
    return training.status();
  Progress progress(flags, (*training)->session().memoryReport("train"));
  const absl::Time begin = absl::Now();
  absl::Status status = (*training)->run(nullptr, [&](const StepResult &result, nlohmann::ordered_json &metrics) {
    const double elapsed = std::max(1e-9, absl::ToDoubleSeconds(absl::Now() - begin));
    const double tokensPerSecond = static_cast<double>(result.step * flags.batch) / elapsed;
    const int64_t resident = processMemory().residentBytes;
    metrics["tokens_per_second"] = tokensPerSecond;
    metrics["resident_bytes"] = resident;
    if (launch.rank() == 0)
      progress.show(result, tokensPerSecond, resident);
  });
  return status.ok() ? (*training)->finish() : status;
}

absl::Status run(const TextFlags &flags, Launch &launch) {
  absl::StatusOr<runtime::TextFile> text = runtime::TextFile::open(flags.text, flags.window + 1);
  if (absl::Status status = launch.agree(text.status(), "opening of the text"); !status.ok())
    return status;
  return train(flags, launch, *text);
}

} // namespace

int main(int argc, char **argv) {
  TextFlags text;
  text.training.steps = 1000;
  text.training.stage = 2;
  Flags flags("text_model", "--text=FILE [flags]\nTrains a small language model on the bytes of a file.");
  flags.addString("text", &text.text, "FILE", "what to train on");
  flags.addInteger("batch", &text.batch, 1, 1'000'000, "windows per step, over all ranks");
  flags.addInteger("window", &text.window, 1, 100'000, "bytes from which the next is predicted");
  flags.addInteger("width", &text.width, 1, 100'000, "numbers that stand for a byte");
  flags.addInteger("hidden", &text.hidden, 1, 1'000'000, "outputs of the first layer");
  flags.addNumber("lr", &text.lr, 0, 1e6, "learning rate of AdamW");
  text.training.addTo(flags);
  return launchMain(flags, argc, argv, text.training.launch, [&](Launch &launch) -> absl::Status {
    if (text.text.empty())
      return launch.agree(absl::InvalidArgumentError("no text is given; write --text=FILE"), "check of the flags");
    return run(text, launch);
  });
}
