// A GPT-2-shaped language model over bytes: trains on any file, then writes a sample.
#include "examples/common/Text.h"
#include "examples/gpt/Model.h"
#include "examples/gpt/Sample.h"

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

using namespace splitcast;

namespace {

constexpr int64_t kMostRanks = 1'000'000; ///< of an axis
constexpr int64_t kAbsent =
    -1; ///< what the next token is said to be where there is none, which is left out of the loss

struct GptFlags {
  std::string text, tokens; ///< files; one of them is given
  int64_t tokenBytes = 2;   ///< of those of `tokens`
  std::string validation;   ///< a file of the same kind
  int64_t validateEvery = 100, validationBatches = 10;
  GptSizes sizes;
  int64_t batch = 32;
  std::string order = "random"; ///< of the windows, or "sequential"
  double lr = 6e-4, weightDecay = 0.01;
  bool isSequential() const { return order == "sequential"; }
  bool isRateGiven = false, isDecayGiven = false; ///< by flags of their own
  std::string optimizerText = "adamw", scheduleText;
  std::optional<Optimizer> optimizer; ///< set by check
  std::optional<RateSchedule> schedule;
  std::vector<std::string> groupTexts;
  std::vector<ParameterGroup> groups; ///< set by check
  std::string lossScaleText;
  std::optional<LossScale> lossScale; ///< set by check
  std::string frozenText;             ///< patterns
  double clipNorm = 0, clipValue = 0; ///< 0: gradients are not clipped by it
  std::vector<sbp::Axis> mesh;        ///< empty: one axis, dp, of all ranks
  int64_t pipelineRounds = 1;
  std::string prompt;
  SampleOptions sample;
  TrainingFlags training;

  int64_t sizeOf(const std::string &axis) const {
    auto found = std::find_if(mesh.begin(), mesh.end(), [&](const sbp::Axis &each) { return each.name == axis; });
    return found == mesh.end() ? 1 : found->size;
  }
  ModelAxis modelAxis(const std::string &name) const {
    for (size_t axis = 0; axis < mesh.size(); ++axis)
      if (mesh[axis].name == name)
        return {static_cast<int64_t>(axis), mesh[axis].size, name == "pp" ? pipelineRounds : 1};
    return {};
  }

  const std::string &data() const { return tokens.empty() ? text : tokens; }
  runtime::TokenFormat format() const {
    return tokens.empty() ? runtime::TokenFormat() : runtime::TokenFormat{tokenBytes, sizes.vocabulary};
  }
};

/// The loss of a batch of windows, in a function of its own.
Tensor lossIn(Graph &graph, const std::string &function, const GptFlags &flags, bool drops) {
  const sbp::Shape window = {flags.batch, flags.sizes.context};
  graph.function(function);
  Tensor tokens = graph.input("tokens", ElementType::I64, window, split(0));
  Tensor next = graph.input("next", ElementType::I64, window, split(0));
  Tensor logits = gptLogits(graph, tokens, flags.sizes, drops, flags.modelAxis("tp"), flags.modelAxis("pp"));
  return meanCrossEntropy(logits, reshape(next, {flags.batch * flags.sizes.context}),
                          flags.isSequential() ? std::optional(kAbsent) : std::nullopt);
}

void build(Graph &graph, const GptFlags &flags) {
  Tensor loss = lossIn(graph, "train", flags, /*drops=*/true);
  StepOptions step;
  step.schedule = flags.schedule;
  if (flags.clipNorm > 0)
    step.clipNorm = flags.clipNorm;
  if (flags.clipValue > 0)
    step.clipValue = flags.clipValue;
  step.lossScale = flags.lossScale;
  step.groups = flags.groups;
  graph.minimize(loss, *flags.optimizer, step);
  graph.output("loss", loss);
  // These read the same variables, however they lie; nothing here knows of ZeRO.
  if (!flags.validation.empty())
    graph.output("loss", lossIn(graph, "validate", flags, /*drops=*/false));
  graph.function("write");
  Tensor written = graph.input("tokens", ElementType::I64, {1, flags.sizes.context});
  graph.output("logits", boxTo(gptLogits(graph, written, flags.sizes, /*drops=*/false, flags.modelAxis("tp"),
                                         flags.modelAxis("pp")),
                               broadcast()));
  if (!flags.frozenText.empty())
    graph.freeze(absl::StrSplit(flags.frozenText, ','));
}

std::string describe(const Graph::Parameters &parameters) {
  return parameters.trained == parameters.all
             ? absl::StrCat(parameters.all, " parameters")
             : absl::StrCat(parameters.all, " parameters, of which ", parameters.trained, " are trained");
}

/// Whether "adamw,lr=0.1" says a number; of weight-decay, with either line between.
bool saysNumber(const std::string &optimizerText, const std::string &number) {
  for (absl::string_view part : absl::StrSplit(optimizerText, ','))
    if (absl::StrReplaceAll(part.substr(0, part.find('=')), {{"_", "-"}}) == number)
      return true;
  return false;
}

/// A number that --optimizer and a flag of its own both say.
absl::Status saidTwice(const GptFlags &flags, const std::string &number) {
  return absl::InvalidArgumentError(absl::StrCat("--optimizer=", flags.optimizerText, " says ", number, ", and --",
                                                 number, " is given, too; leave one of them out"));
}

/// What --optimizer says, with the numbers that have flags of their own. Which optimizers have a weight decay, and by
/// which default, they know.
absl::Status readOptimizer(GptFlags &flags) {
  const bool saysRate = saysNumber(flags.optimizerText, "lr");
  if (saysRate && flags.isRateGiven)
    return saidTwice(flags, "lr");
  if (flags.isDecayGiven && saysNumber(flags.optimizerText, "weight-decay"))
    return saidTwice(flags, "weight-decay");
  std::string text = flags.optimizerText, flag;
  if (!saysRate)
    absl::StrAppendFormat(&text, ",lr=%.17g", flags.lr);
  if (flags.isDecayGiven) {
    absl::StrAppendFormat(&text, ",weight-decay=%.17g", flags.weightDecay);
    flag = absl::StrFormat(" --weight-decay=%g", flags.weightDecay);
  }
  if (auto wrong = parseOptimizer(text, &flags.optimizer))
    return absl::InvalidArgumentError(absl::StrCat("--optimizer=", flags.optimizerText, flag, ": ", *wrong));
  if (flags.scheduleText.empty())
    return absl::OkStatus();
  if (auto wrong = parseRateSchedule(flags.scheduleText, &flags.schedule))
    return absl::InvalidArgumentError(absl::StrCat("--schedule=", flags.scheduleText, ": ", *wrong));
  return absl::OkStatus();
}

/// "no_decay:*.bias,*.norm.weight:adamw,weight-decay=0": name, patterns, and an optimizer, whose rate is --lr where it
/// says none.
absl::Status readGroup(const std::string &text, GptFlags &flags) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 2));
  if (parts.size() < 3)
    return absl::InvalidArgumentError(
        absl::StrCat("--group=", text, " has ", parts.size(), " parts; write NAME:PATTERN,...:OPTIMIZER"));
  std::string optimizerText = parts[2];
  if (!saysNumber(optimizerText, "lr"))
    absl::StrAppendFormat(&optimizerText, ",lr=%.17g", flags.lr);
  std::optional<Optimizer> optimizer;
  if (auto wrong = parseOptimizer(optimizerText, &optimizer))
    return absl::InvalidArgumentError(absl::StrCat("--group=", text, ": ", *wrong));
  flags.groups.push_back({parts[0], absl::StrSplit(parts[1], ','), *optimizer});
  return absl::OkStatus();
}

absl::Status readGroups(GptFlags &flags) {
  for (const std::string &text : flags.groupTexts)
    SPLITCAST_RETURN_IF_ERROR(readGroup(text, flags));
  return absl::OkStatus();
}

absl::Status checkData(const GptFlags &flags) {
  if (flags.text.empty() && flags.tokens.empty())
    return absl::InvalidArgumentError("no text is given; write --text=FILE, or --tokens=FILE for numbers of tokens");
  if (!flags.text.empty() && !flags.tokens.empty())
    return absl::InvalidArgumentError("--text and --tokens both say what to train on; give one of them");
  if (flags.tokenBytes == 3)
    return absl::InvalidArgumentError("--token-bytes is '3'; it must be 1, 2 or 4");
  if (!flags.tokens.empty() && flags.sample.bytes > 0)
    return absl::InvalidArgumentError(absl::StrCat("--sample=", flags.sample.bytes,
                                                   " asks for bytes of text, and --tokens are numbers that only a "
                                                   "tokenizer can read; give --sample=0"));
  return absl::OkStatus();
}

/// Of a mesh, in their order: the last one has neighbouring ranks.
constexpr const char *kAxes[] = {"dp", "pp", "tp"};

/// "dp=2,pp=2,tp=2"
absl::Status readMesh(const std::string &text, std::vector<sbp::Axis> &mesh) {
  mesh.clear();
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<std::string> words = absl::StrSplit(part, '=');
    int64_t size = 0;
    const auto *place = std::find(std::begin(kAxes), std::end(kAxes), words[0]);
    if (words.size() != 2 || place == std::end(kAxes) || !absl::SimpleAtoi(words[1], &size) || size < 1 ||
        size > kMostRanks)
      return absl::InvalidArgumentError(absl::StrCat("'", part,
                                                     "' is no axis of a mesh; write dp=D,pp=P,tp=T, with the "
                                                     "ranks that the batch, the blocks and each block are divided "
                                                     "between"));
    if (std::any_of(mesh.begin(), mesh.end(), [&](const sbp::Axis &axis) { return axis.name == words[0]; }))
      return absl::InvalidArgumentError(absl::StrCat("axis '", words[0], "' is there twice; give it once"));
    if (!mesh.empty() && place < std::find(std::begin(kAxes), std::end(kAxes), mesh.back().name))
      return absl::InvalidArgumentError(absl::StrCat("axis '", words[0], "' is behind '", mesh.back().name,
                                                     "', whose ranks are to be nearer to each other; give it first"));
    mesh.push_back({words[0], size});
  }
  return absl::OkStatus();
}

absl::Status checkMesh(GptFlags &flags, int64_t ranks) {
  if (flags.mesh.empty())
    flags.mesh = {{"dp", ranks}};
  if (flags.mesh.front().name != "dp")
    flags.mesh.insert(flags.mesh.begin(), {"dp", 1}); // which ZeRO splits along
  int64_t places = 1;
  for (const sbp::Axis &axis : flags.mesh)
    places *= axis.size;
  if (places != ranks)
    return absl::InvalidArgumentError(
        absl::StrCat("--mesh has ", places, " places, but ", ranks, " ranks are running; start as many"));
  if (flags.sizes.heads % flags.sizeOf("tp") != 0)
    return absl::InvalidArgumentError(absl::StrCat("--heads=", flags.sizes.heads, " is no multiple of tp=",
                                                   flags.sizeOf("tp"), " of --mesh; each rank takes whole heads"));
  const int64_t stages = flags.sizeOf("pp") * flags.pipelineRounds;
  if (flags.sizes.layers < stages)
    return absl::InvalidArgumentError(absl::StrCat("--layers=", flags.sizes.layers, " are fewer than the ", stages,
                                                   " stages of pp=", flags.sizeOf("pp"), " in ", flags.pipelineRounds,
                                                   " rounds; each stage takes at least one"));
  return absl::OkStatus();
}

absl::Status check(GptFlags &flags, int64_t ranks) {
  SPLITCAST_RETURN_IF_ERROR(checkMesh(flags, ranks));
  SPLITCAST_RETURN_IF_ERROR(checkData(flags));
  if (flags.sizes.width % flags.sizes.heads != 0)
    return absl::InvalidArgumentError(absl::StrCat("--width=", flags.sizes.width, " is no multiple of --heads=",
                                                   flags.sizes.heads, "; each head takes an equal part"));
  if (flags.sizes.isNeox && flags.sizes.width / flags.sizes.heads % 8 != 0)
    return absl::InvalidArgumentError(absl::StrCat("--neox turns pairs of a quarter of each head, which has ",
                                                   flags.sizes.width / flags.sizes.heads,
                                                   " numbers; let --width / --heads be a multiple of 8"));
  SPLITCAST_RETURN_IF_ERROR(readOptimizer(flags));
  if (absl::Status status = readGroups(flags); !status.ok() || flags.lossScaleText.empty())
    return status;
  nn::LossScaleModel model{LossScale()};
  if (auto wrong = model.parse(flags.lossScaleText))
    return absl::InvalidArgumentError(absl::StrCat("--loss-scale=", flags.lossScaleText, ": ", *wrong));
  flags.lossScale = model.scale();
  return absl::OkStatus();
}

/// The bytes [first, first + count) of a text.
absl::StatusOr<std::string> textOf(const runtime::TokenFile &text, int64_t first, int64_t count) {
  std::vector<int64_t> bytes(count);
  SPLITCAST_RETURN_IF_ERROR(text.read(first, count, bytes.data()));
  return std::string(bytes.begin(), bytes.end());
}

absl::Status writeSample(const GptFlags &flags, Launch &launch, Session &session, const runtime::TokenFile &text) {
  if (flags.sample.bytes == 0)
    return absl::OkStatus();
  std::string prompt = flags.prompt;
  if (prompt.empty()) { // goes on from the middle of the text
    const int64_t bytes = (flags.sizes.context + 1) / 2;
    SPLITCAST_ASSIGN_OR_RETURN(prompt, textOf(text, (text.size() - bytes) / 2, bytes));
  }
  absl::StatusOr<std::string> sample = sampleText(session, "write", prompt, flags.sample);
  if (!sample.ok() || launch.rank() != 0)
    return sample.status();
  SPLITCAST_ASSIGN_OR_RETURN(std::string all, textOf(text, 0, text.size()));
  const double known = shareOfKnownWords(sample->substr(prompt.size()), all);
  for (char &character : *sample) // a terminal obeys some
    if (!absl::ascii_isprint(static_cast<unsigned char>(character)) && character != '\n')
      character = '?';
  printf("--- sample ---\n%s\n--- %.0f%% of the written words of three or more letters occur in the text ---\n",
         sample->c_str(), 100 * known);
  return absl::OkStatus();
}

/// A step takes `batch` windows, and of each the `context` tokens from `from` on.
BatchFill<int64_t> fillOf(const Windows &windows, const GptFlags &flags, int64_t from) {
  return [&, from](int64_t step, const sbp::Interval &rows, absl::Span<int64_t> to) {
    return windows.readRows(step * flags.batch + rows.begin, from, flags.sizes.context, to);
  };
}

/// Tokens are all but the last of each window, next ones all but the first.
Batches batchesOf(const Windows &windows, const GptFlags &flags) {
  Batches batches;
  batches.add("tokens", fillOf(windows, flags, 0)).add("next", fillOf(windows, flags, 1));
  return batches;
}

/// The same windows in each epoch, whose last step has fewer than `batch`: what is behind them is filled with `absent`.
BatchFill<int64_t> fillOfEpoch(const SequentialWindows &windows, const GptFlags &flags, int64_t from, int64_t absent) {
  return [&, from, absent](int64_t step, const sbp::Interval &rows, absl::Span<int64_t> to) {
    const int64_t batches = (windows.size() + flags.batch - 1) / flags.batch, context = flags.sizes.context;
    const int64_t first = step % batches * flags.batch + rows.begin;
    const int64_t present = std::clamp<int64_t>(windows.size() - first, 0, rows.count) * context;
    std::fill(to.begin() + present, to.end(), absent);
    return windows.readRows(first, from, context, to.first(present));
  };
}

Batches epochsOf(const SequentialWindows &windows, const GptFlags &flags) {
  Batches batches;
  batches.add("tokens", fillOfEpoch(windows, flags, 0, 0)).add("next", fillOfEpoch(windows, flags, 1, kAbsent));
  return batches;
}

absl::Status train(const GptFlags &flags, Launch &launch, const runtime::TokenFile &data,
                   const std::optional<runtime::TokenFile> &held) {
  const int64_t context = flags.sizes.context;
  Graph graph({launch.options().deviceKind, flags.mesh});
  build(graph, flags);
  const RandomWindows windows(data, context + 1, flags.training.seed);
  const SequentialWindows epochs(data, context + 1);
  const EvenWindows heldWindows(held ? *held : data, context + 1, flags.validationBatches * flags.batch);
  Validation validation{held ? flags.validateEvery : 0, flags.validationBatches, batchesOf(heldWindows, flags)};
  SPLITCAST_ASSIGN_OR_RETURN(
      std::unique_ptr<Training> training,
      Training::create(flags.training, launch, graph,
                       flags.isSequential() ? epochsOf(epochs, flags) : batchesOf(windows, flags),
                       std::move(validation)));
  const sbp::Policy policy = training->session().chosenPolicy().value_or(flags.training.zero.policy);
  if (launch.rank() == 0)
    printf("%s, %lld ranks, ZeRO stage %lld\n", describe(graph.parameters()).c_str(),
           static_cast<long long>(launch.size()), static_cast<long long>(policy.stage()));
  TextProgress progress(flags.training.steps, flags.batch * context, training->session().memoryReport("train"));
  for (int64_t step = training->firstStep(); step <= flags.training.steps; ++step) {
    SPLITCAST_ASSIGN_OR_RETURN(StepResult result, training->step(step));
    SPLITCAST_RETURN_IF_ERROR(training->record(result, progress.show(result, launch.rank() == 0)));
  }
  SPLITCAST_RETURN_IF_ERROR(training->finish());
  return writeSample(flags, launch, training->session(), data);
}

absl::Status run(GptFlags &flags, Launch &launch) {
  SPLITCAST_RETURN_IF_ERROR(launch.agree(check(flags, launch.size()), "check of the flags"));
  const int64_t least = flags.sizes.context + 1;
  absl::StatusOr<runtime::TokenFile> data = runtime::TokenFile::open(flags.data(), flags.format(), least);
  SPLITCAST_RETURN_IF_ERROR(launch.agree(data.status(), "opening of the data"));
  if (flags.validation.empty())
    return train(flags, launch, *data, std::nullopt);
  absl::StatusOr<runtime::TokenFile> held = runtime::TokenFile::open(flags.validation, flags.format(), least);
  SPLITCAST_RETURN_IF_ERROR(launch.agree(held.status(), "opening of the data to validate on"));
  return train(flags, launch, *data, *std::move(held));
}

void addDataFlags(Flags &flags, GptFlags &gpt) {
  flags.addString("text", &gpt.text, "FILE", "what to train on, each byte a token");
  flags.addString("tokens", &gpt.tokens, "FILE", "or numbers of tokens, one after the other, the least byte first");
  flags.addInteger("token-bytes", &gpt.tokenBytes, 1, 4, "of a token of --tokens: 1, 2 or 4");
  flags.addString("validation", &gpt.validation, "FILE", "of the same kind, whose loss is computed now and then");
  flags.addInteger("validate-every", &gpt.validateEvery, 1, 1'000'000'000, "steps from one such loss to the next");
  flags.addInteger("validation-batches", &gpt.validationBatches, 1, 1'000'000,
                   "that it is the mean of, all over the file");
  flags.addInteger("batch", &gpt.batch, 1, 1'000'000, "windows per step, over all ranks");
  flags.addChoice("order", &gpt.order, {"random", "sequential"},
                  "of windows: at random places, or one behind the other, again and again; the last step of each "
                  "round has what is left");
}

void addModelFlags(Flags &flags, GptFlags &gpt) {
  flags.addInteger("vocabulary", &gpt.sizes.vocabulary, 256, 10'000'000, "tokens that are told apart; a byte is one");
  flags.addInteger("context", &gpt.sizes.context, 1, 100'000, "bytes in a window");
  flags.addInteger("layers", &gpt.sizes.layers, 1, 10'000, "blocks");
  flags.addInteger("heads", &gpt.sizes.heads, 1, 10'000, "of attention, per block");
  flags.addInteger("width", &gpt.sizes.width, 1, 1'000'000, "numbers that stand for a byte");
  flags.addParsed(
      "mesh", "dp=D,pp=P,tp=T",
      "ranks that the batch, that the blocks, and that each block's heads and wide layer, are divided between; without "
      "it the batch only",
      false, [&](const std::string &text) { return readMesh(text, gpt.mesh); });
  flags.addInteger("pipeline-rounds", &gpt.pipelineRounds, 1, 1000,
                   "how many stages of the pipeline each of its ranks has, one for each round of what flows through");
  flags.addSwitch("neox", &gpt.sizes.isNeox, "blocks as GPT-NeoX's, with rotary positions, and an output matrix");
  flags.addInteger("adapters", &gpt.sizes.adapterRank, 0, 100'000,
                   "rank of the low-rank matrices that are trained beside those of each block, instead of all else; 0: "
                   "none");
  flags.addString("freeze", &gpt.frozenText, "PATTERN,...",
                  "variables that are not trained, by names in which * is any text: wte.weight,h0.*");
  flags.addNumber("dropout", &gpt.sizes.dropout, 0, 0.99, "probability that an element is left out while training");
}

void addOptimizerFlags(Flags &flags, GptFlags &gpt) {
  flags.addNumber("lr", &gpt.lr, 0, 1e6, "learning rate");
  flags.addNumber("weight-decay", &gpt.weightDecay, 0, 1e6, "of an optimizer that has one; adamw without it: 0.01");
  flags.addString("optimizer", &gpt.optimizerText, "NAME,NUMBER=X,...",
                  absl::StrCat(nn::knownOptimizers(), ", and its numbers"));
  flags.addString("schedule", &gpt.scheduleText, "NAME,NUMBER=X,...",
                  absl::StrCat("by what the learning rate is multiplied: ", nn::knownRates(),
                               "; cosine,steps=1500,warmup=100 say"));
  flags.addParsed("group", "NAME:PATTERN,...:OPTIMIZER",
                  "variables with an optimizer of their own, by names in which * is any text; --lr holds where it says "
                  "no lr, all else it says itself: "
                  "no_decay:*.bias,*norm.weight:adamw,weight-decay=0",
                  true, [&](const std::string &text) {
                    gpt.groupTexts.push_back(text);
                    return absl::OkStatus();
                  });
  flags.addNumber("clip-norm", &gpt.clipNorm, 0, 1e30, "that all gradients together have at most; 0: any");
  flags.addNumber("clip-value", &gpt.clipValue, 0, 1e30, "that an element of a gradient has at most; 0: any");
  flags.addString(
      "loss-scale", &gpt.lossScaleText, "initial=X,NUMBER=X,...",
      "what the loss is multiplied by for backward, as compute-type=f16 needs it: initial=65536, and growth, "
      "backoff and interval");
}

} // namespace

int main(int argc, char **argv) {
  GptFlags gpt;
  gpt.training.steps = 1500;
  gpt.training.zero = {};
  Flags flags("gpt", "--text=FILE [flags]\nTrains a GPT-2-shaped model on the bytes of a file, and writes a sample.");
  addDataFlags(flags, gpt);
  addModelFlags(flags, gpt);
  addOptimizerFlags(flags, gpt);
  flags.addInteger("sample", &gpt.sample.bytes, 0, 1'000'000, "bytes to write after training");
  flags.addString("prompt", &gpt.prompt, "TEXT", "what the sample goes on from; without it, the middle of the text");
  flags.addNumber("temperature", &gpt.sample.temperature, 0, 100, "0: the likeliest byte always; 1: as learned");
  gpt.training.addTo(flags);
  return launchMain(flags, argc, argv, gpt.training.launch, [&](Launch &launch) {
    gpt.isRateGiven = flags.isGiven("lr");
    gpt.isDecayGiven = flags.isGiven("weight-decay");
    if (!gpt.tokens.empty() && !flags.isGiven("sample"))
      gpt.sample.bytes = 0;
    return run(gpt, launch);
  });
}
