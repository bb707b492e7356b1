// The simplest language model over bytes. It looks up the embedding of each byte
// of a window, and predicts the next byte from them with two linear layers. It
// trains on any file.
#include "examples/common/Text.h"

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

/// Each step takes the next `batch` windows, each with the byte that follows it.
Batches batchesOf(const Windows &windows, const TextFlags &flags) {
  Batches batches;
  batches.add<int64_t>("bytes", [&](int64_t step, const sbp::Interval &rows, absl::Span<int64_t> to) {
    return windows.readRows(step * flags.batch + rows.begin, 0, flags.window, to);
  });
  batches.add<int64_t>("next", [&](int64_t step, const sbp::Interval &rows, absl::Span<int64_t> to) {
    return windows.readRows(step * flags.batch + rows.begin, flags.window, 1, to);
  });
  return batches;
}

absl::Status train(const TextFlags &flags, Launch &launch, const runtime::TokenFile &text) {
  Graph graph({launch.options().deviceKind, {{"dp", launch.size()}}});
  build(graph, flags);
  const RandomWindows windows(text, flags.window + 1, flags.training.seed);
  SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Training> training,
                             Training::create(flags.training, launch, graph, batchesOf(windows, flags)));
  TextProgress progress(flags.training.steps, flags.batch, training->session().memoryReport("train"));
  for (int64_t step = training->firstStep(); step <= flags.training.steps; ++step) {
    SPLITCAST_ASSIGN_OR_RETURN(StepResult result, training->step(step));
    SPLITCAST_RETURN_IF_ERROR(training->record(result, progress.show(result, launch.rank() == 0)));
  }
  return training->finish();
}

absl::Status run(const TextFlags &flags, Launch &launch) {
  absl::StatusOr<runtime::TokenFile> text = runtime::TokenFile::open(flags.text, {}, flags.window + 1);
  SPLITCAST_RETURN_IF_ERROR(launch.agree(text.status(), "opening of the text"));
  return train(flags, launch, *text);
}

} // namespace

int main(int argc, char **argv) {
  TextFlags text;
  text.training.steps = 1000;
  text.training.zero = {};
  text.training.data = {&text.text};
  Flags flags("text_model", "--text=FILE [flags]\nTrains a small language model on the bytes of a file.");
  flags.addString("text", &text.text, "FILE", "the file to train on; this flag is required");
  flags.addInteger("batch", &text.batch, 1, 1'000'000, "the batch size: windows per step, over all ranks");
  flags.addInteger("window", &text.window, 1, 100'000, "the number of bytes from which the next one is predicted");
  flags.addInteger("width", &text.width, 1, 100'000, "the width of the embedding");
  flags.addInteger("hidden", &text.hidden, 1, 1'000'000, "the width of the hidden layer");
  flags.addNumber("lr", &text.lr, 0, 1e6, "the learning rate of AdamW");
  text.training.addTo(flags);
  return launchMain(flags, argc, argv, text.training.launch, [&](Launch &launch) -> absl::Status {
    if (!flags.isGiven("lr"))
      text.training.sources.rates.setUnnamed();
    if (text.text.empty())
      return launch.agree(absl::InvalidArgumentError("no text is given; write --text=FILE"), "check of the flags");
    return run(text, launch);
  });
}
