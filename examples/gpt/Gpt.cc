// Trains a language model shaped like GPT-2 (or GPT-NeoX) on the bytes of any
// file, or on token ids, and then writes a sample of text.
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

constexpr int64_t kMostRanks = 1'000'000; ///< the largest number of ranks along an axis of --mesh
constexpr int64_t kAbsent = -1;           ///< the label of a position without a next token; the loss ignores it

struct GptFlags {
  std::string text, tokens; ///< paths; exactly one of them is given
  int64_t tokenBytes = 2;   ///< bytes per token id in `tokens`
  std::string validation;   ///< the path of a file of the same format; if empty, there is no validation
  int64_t validateEvery = 100, validationBatches = 10;
  GptSizes sizes;
  int64_t batch = 32;
  std::string order = "random"; ///< the order of the windows: "random" or "sequential"
  double lr = 6e-4, weightDecay = 0.01;
  bool isSequential() const { return order == "sequential"; }
  bool isRateGiven = false, isDecayGiven = false; ///< whether --lr and --weight-decay are given
  std::string optimizerText = "adamw", scheduleText;
  std::optional<Optimizer> optimizer; ///< set by check
  std::optional<RateSchedule> schedule;
  std::vector<std::string> groupTexts;
  std::vector<ParameterGroup> groups; ///< set by check
  std::string lossScaleText;
  std::optional<LossScale> lossScale; ///< set by check
  std::string frozenText;             ///< patterns of names of variables, separated by commas
  double clipNorm = 0, clipValue = 0; ///< 0: no clipping by the norm, or by the value
  std::vector<sbp::Axis> mesh;        ///< if empty, one axis, dp, of all ranks
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

/// Adds a function that computes the loss of a batch of windows.
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
  // The functions below read the same variables. How ZeRO splits these makes no
  // difference to the graph.
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

/// Whether a text such as "adamw,lr=0.1" sets the number of this name. In the
/// text, "weight_decay" is the same as "weight-decay".
bool saysNumber(const std::string &optimizerText, const std::string &number) {
  for (absl::string_view part : absl::StrSplit(optimizerText, ','))
    if (absl::StrReplaceAll(part.substr(0, part.find('=')), {{"_", "-"}}) == number)
      return true;
  return false;
}

/// Whether a flag names a learning rate.
bool namesRate(const GptFlags &flags) {
  return flags.isRateGiven || saysNumber(flags.optimizerText, "lr") ||
         std::any_of(flags.groupTexts.begin(), flags.groupTexts.end(),
                     [](const std::string &text) { return saysNumber(text.substr(text.rfind(':') + 1), "lr"); });
}

/// Returns the error that --optimizer and the flag --NUMBER set the same number.
absl::Status saidTwice(const GptFlags &flags, const std::string &number) {
  return absl::InvalidArgumentError(absl::StrCat("--optimizer=", flags.optimizerText, " sets ", number,
                                                 ", and so does --", number, "; leave one of them out"));
}

/// Parses --optimizer, after adding the numbers that have flags of their own, and
/// --schedule. --weight-decay is added only if it is given: not every optimizer
/// has a weight decay, and each has its own default.
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

/// Parses "no_decay:*.bias,*ln*.weight:adamw,weight-decay=0": a name, patterns,
/// and an optimizer, whose learning rate is that of --lr unless it sets its own.
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
    return absl::InvalidArgumentError(
        "no training data is given; write --text=FILE, or --tokens=FILE for a file of token ids");
  if (!flags.text.empty() && !flags.tokens.empty())
    return absl::InvalidArgumentError("--text and --tokens are both given as training data; give one of them");
  if (flags.tokenBytes == 3)
    return absl::InvalidArgumentError("--token-bytes is '3'; it must be 1, 2 or 4");
  if (!flags.tokens.empty() && flags.sample.bytes > 0)
    return absl::InvalidArgumentError(absl::StrCat("--sample=", flags.sample.bytes,
                                                   " asks for a sample of text, but --tokens has token ids, which "
                                                   "only their tokenizer can turn into text; give --sample=0"));
  return absl::OkStatus();
}

/// The axes of a mesh, in the order in which they must be given. Ranks are
/// numbered row-major, so neighbours along the last axis have consecutive
/// numbers; tensor parallelism, which communicates most, takes these.
constexpr const char *kAxes[] = {"dp", "pp", "tp"};

/// Parses a mesh such as "dp=2,pp=2,tp=2".
absl::Status readMesh(const std::string &text, std::vector<sbp::Axis> &mesh) {
  mesh.clear();
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    const std::vector<std::string> words = absl::StrSplit(part, '=');
    int64_t size = 0;
    const auto *place = std::find(std::begin(kAxes), std::end(kAxes), words[0]);
    if (words.size() != 2 || place == std::end(kAxes) || !absl::SimpleAtoi(words[1], &size) || size < 1 ||
        size > kMostRanks)
      return absl::InvalidArgumentError(absl::StrCat("'", part,
                                                     "' is not an axis of a mesh; write dp=D,pp=P,tp=T, the numbers of "
                                                     "ranks that divide the batch, the blocks, and each block, each "
                                                     "from 1 to ",
                                                     kMostRanks));
    if (std::any_of(mesh.begin(), mesh.end(), [&](const sbp::Axis &axis) { return axis.name == words[0]; }))
      return absl::InvalidArgumentError(absl::StrCat("axis '", words[0], "' is given twice; give it once"));
    if (!mesh.empty() && place < std::find(std::begin(kAxes), std::end(kAxes), mesh.back().name))
      return absl::InvalidArgumentError(absl::StrCat("axis '", words[0], "' comes after '", mesh.back().name,
                                                     "', whose ranks must be nearer to each other; give '", words[0],
                                                     "' first"));
    mesh.push_back({words[0], size});
  }
  return absl::OkStatus();
}

absl::Status checkMesh(GptFlags &flags, int64_t ranks) {
  if (flags.mesh.empty())
    flags.mesh = {{"dp", ranks}};
  if (flags.mesh.front().name != "dp")
    flags.mesh.insert(flags.mesh.begin(), {"dp", 1}); // ZeRO splits along the first axis
  int64_t places = 1;
  for (const sbp::Axis &axis : flags.mesh)
    places *= axis.size;
  if (places != ranks)
    return absl::InvalidArgumentError(
        absl::StrCat("--mesh has ", places, " ranks, but ", ranks, " are running; start as many as --mesh has"));
  if (flags.sizes.heads % flags.sizeOf("tp") != 0)
    return absl::InvalidArgumentError(absl::StrCat("--heads=", flags.sizes.heads, " is not a multiple of tp=",
                                                   flags.sizeOf("tp"), " of --mesh; each rank takes whole heads"));
  const int64_t stages = flags.sizeOf("pp") * flags.pipelineRounds;
  if (flags.sizes.layers < stages)
    return absl::InvalidArgumentError(absl::StrCat(
        "--layers=", flags.sizes.layers, " is less than the ", stages, " stages of pp=", flags.sizeOf("pp"),
        " with --pipeline-rounds=", flags.pipelineRounds, "; each stage needs at least one layer"));
  return absl::OkStatus();
}

absl::Status check(GptFlags &flags, int64_t ranks) {
  SPLITCAST_RETURN_IF_ERROR(checkMesh(flags, ranks));
  SPLITCAST_RETURN_IF_ERROR(checkData(flags));
  if (flags.sizes.width % flags.sizes.heads != 0)
    return absl::InvalidArgumentError(absl::StrCat("--width=", flags.sizes.width, " is not a multiple of --heads=",
                                                   flags.sizes.heads, "; all heads have the same width"));
  if (flags.sizes.isNeox && flags.sizes.width / flags.sizes.heads % 8 != 0)
    return absl::InvalidArgumentError(absl::StrCat("--neox rotates pairs of elements in a quarter of each head, whose "
                                                   "width is ",
                                                   flags.sizes.width / flags.sizes.heads,
                                                   "; --width / --heads must be a multiple of 8"));
  SPLITCAST_RETURN_IF_ERROR(readOptimizer(flags));
  if (!namesRate(flags))
    flags.training.sources.rates.setUnnamed();
  if (absl::Status status = readGroups(flags); !status.ok() || flags.lossScaleText.empty())
    return status;
  nn::LossScaleModel model{LossScale()};
  if (auto wrong = model.parse(flags.lossScaleText))
    return absl::InvalidArgumentError(absl::StrCat("--loss-scale=", flags.lossScaleText, ": ", *wrong));
  flags.lossScale = model.scale();
  return absl::OkStatus();
}

/// Returns bytes [first, first + count) of a text.
absl::StatusOr<std::string> textOf(const runtime::TokenFile &text, int64_t first, int64_t count) {
  std::vector<int64_t> bytes(count);
  SPLITCAST_RETURN_IF_ERROR(text.read(first, count, bytes.data()));
  return std::string(bytes.begin(), bytes.end());
}

absl::Status writeSample(const GptFlags &flags, Launch &launch, Session &session, const runtime::TokenFile &text) {
  if (flags.sample.bytes == 0)
    return absl::OkStatus();
  std::string prompt = flags.prompt;
  if (prompt.empty()) { // continue the middle of the training text
    const int64_t bytes = (flags.sizes.context + 1) / 2;
    SPLITCAST_ASSIGN_OR_RETURN(prompt, textOf(text, (text.size() - bytes) / 2, bytes));
  }
  absl::StatusOr<std::string> sample = sampleText(session, "write", prompt, flags.sample);
  if (!sample.ok() || launch.rank() != 0)
    return sample.status();
  SPLITCAST_ASSIGN_OR_RETURN(std::string all, textOf(text, 0, text.size()));
  const double known = shareOfKnownWords(sample->substr(prompt.size()), all);
  for (char &character : *sample) // some control characters would change the state of a terminal
    if (!absl::ascii_isprint(static_cast<unsigned char>(character)) && character != '\n')
      character = '?';
  printf("--- sample ---\n%s\n--- %.0f%% of the written words of three or more letters occur in the text ---\n",
         sample->c_str(), 100 * known);
  return absl::OkStatus();
}

/// A fill that takes, from each of a step's `batch` windows, the `context` tokens
/// that begin at `from`.
BatchFill<int64_t> fillOf(const Windows &windows, const GptFlags &flags, int64_t from) {
  return [&, from](int64_t step, const sbp::Interval &rows, absl::Span<int64_t> to) {
    return windows.readRows(step * flags.batch + rows.begin, from, flags.sizes.context, to);
  };
}

/// The input "tokens" is all tokens of a window but the last, and "next" all but
/// the first.
Batches batchesOf(const Windows &windows, const GptFlags &flags) {
  Batches batches;
  batches.add("tokens", fillOf(windows, flags, 0)).add("next", fillOf(windows, flags, 1));
  return batches;
}

/// Like fillOf, but goes through all windows in each epoch. The last step of an
/// epoch may have fewer than `batch` windows; the rows after them are filled with
/// `absent`.
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
  gpt.training.data = {&gpt.text, &gpt.tokens, &gpt.validation};
  flags.addString("text", &gpt.text, "FILE", "the file to train on; each of its bytes is a token");
  flags.addString("tokens", &gpt.tokens, "FILE",
                  "instead of --text: a file of token ids, which are unsigned integers, least significant byte first");
  flags.addInteger("token-bytes", &gpt.tokenBytes, 1, 4, "the number of bytes per token id in --tokens: 1, 2 or 4");
  flags.addString(
      "validation", &gpt.validation, "FILE",
      "a file of the same format that is not trained on; its loss is computed every --validate-every steps");
  flags.addInteger("validate-every", &gpt.validateEvery, 1, 1'000'000'000,
                   "the number of steps from one validation to the next");
  flags.addInteger("validation-batches", &gpt.validationBatches, 1, 1'000'000,
                   "the number of batches per validation, spread evenly over the file");
  flags.addInteger("batch", &gpt.batch, 1, 1'000'000, "the batch size: windows per step, over all ranks");
  flags.addChoice("order", &gpt.order, {"random", "sequential"},
                  "the order of the windows: random: at random places; sequential: one after the other, in epochs "
                  "whose last step has only the windows that are left");
}

void addModelFlags(Flags &flags, GptFlags &gpt) {
  flags.addInteger("vocabulary", &gpt.sizes.vocabulary, 256, 10'000'000,
                   "the vocabulary size; token ids are less than it, and bytes need 256");
  flags.addInteger("context", &gpt.sizes.context, 1, 100'000,
                   "the context length: the number of tokens that a prediction sees at most");
  flags.addInteger("layers", &gpt.sizes.layers, 1, 10'000, "the number of transformer blocks");
  flags.addInteger("heads", &gpt.sizes.heads, 1, 10'000, "the number of attention heads per block");
  flags.addInteger("width", &gpt.sizes.width, 1, 1'000'000, "the width of the embedding, a multiple of --heads");
  flags.addParsed(
      "mesh", "dp=D,pp=P,tp=T",
      "the numbers of ranks that divide the batch (dp), the blocks (pp, a pipeline), and the heads and the wide layer "
      "of each block (tp); an axis may be left out; without this flag all ranks divide the batch",
      false, [&](const std::string &text) { return readMesh(text, gpt.mesh); });
  flags.addInteger("pipeline-rounds", &gpt.pipelineRounds, 1, 1000,
                   "the number of pipeline stages per rank; with 2, each micro-batch passes all ranks of pp twice");
  flags.addSwitch("neox", &gpt.sizes.isNeox,
                  "use the architecture of GPT-NeoX: rotary positions, attention and MLP in parallel, and an output "
                  "matrix of its own");
  flags.addInteger("adapters", &gpt.sizes.adapterRank, 0, 100'000,
                   "the rank of low-rank adapters (LoRA) of each block's matrices, which alone are trained; 0: no "
                   "adapters");
  flags.addString("freeze", &gpt.frozenText, "PATTERN,...",
                  "do not train the variables whose names match a pattern, in which * stands for any text: "
                  "wte.weight,h0.*");
  flags.addNumber("dropout", &gpt.sizes.dropout, 0, 0.99, "the dropout probability in training");
}

void addOptimizerFlags(Flags &flags, GptFlags &gpt) {
  flags.addNumber("lr", &gpt.lr, 0, 1e6, "the learning rate");
  flags.addNumber("weight-decay", &gpt.weightDecay, 0, 1e6,
                  "the weight decay, if the optimizer has one; by default the optimizer's own, for adamw");
  flags.addString("optimizer", &gpt.optimizerText, "NAME,NUMBER=X,...",
                  absl::StrCat("the optimizer: ", nn::knownOptimizers(),
                               "; its numbers may follow, as in adamw,beta2=0.95 (", gpt.optimizerText, ")"));
  flags.addString("schedule", &gpt.scheduleText, "NAME,NUMBER=X,...",
                  absl::StrCat("a factor on the learning rate that depends on the step: ", nn::knownRates(),
                               ", such as cosine,steps=1500,warmup=100; without this flag it is 1"));
  flags.addParsed("group", "NAME:PATTERN,...:OPTIMIZER",
                  "train the variables whose names match a pattern, in which * stands for any text, with an optimizer "
                  "of their own; of the flags it takes only --lr, unless it sets lr itself: "
                  "no_decay:*.bias,*ln*.weight:adamw,weight-decay=0; may be repeated",
                  true, [&](const std::string &text) {
                    gpt.groupTexts.push_back(text);
                    return absl::OkStatus();
                  });
  flags.addNumber("clip-norm", &gpt.clipNorm, 0, 1e30,
                  "clip the gradients so that the norm of all of them together is at most X; 0: do not clip");
  flags.addNumber("clip-value", &gpt.clipValue, 0, 1e30,
                  "clip each element of the gradients to [-X, X]; 0: do not clip");
  flags.addString("loss-scale", &gpt.lossScaleText, "initial=X,NUMBER=X,...",
                  "a factor on the loss for backward, which compute-type=f16 needs: its numbers are initial, growth, "
                  "backoff and interval, such as initial=65536");
}

} // namespace

int main(int argc, char **argv) {
  GptFlags gpt;
  gpt.training.steps = 1500;
  gpt.training.zero = {};
  Flags flags("gpt", "--text=FILE [flags]\nTrains a language model shaped like GPT-2 on the bytes of a file, and then "
                     "writes a sample of text.");
  addDataFlags(flags, gpt);
  addModelFlags(flags, gpt);
  addOptimizerFlags(flags, gpt);
  flags.addInteger("sample", &gpt.sample.bytes, 0, 1'000'000,
                   "the number of bytes of text to write after training; with --tokens only 0 is allowed, and is the "
                   "default");
  flags.addString("prompt", &gpt.prompt, "TEXT",
                  "the text that the sample continues; without this flag, the middle of the training text");
  flags.addNumber("temperature", &gpt.sample.temperature, 0, 100,
                  "the temperature of sampling; 0: always the likeliest byte; 1: the learned probabilities");
  gpt.training.addTo(flags);
  return launchMain(flags, argc, argv, gpt.training.launch, [&](Launch &launch) {
    gpt.isRateGiven = flags.isGiven("lr");
    gpt.isDecayGiven = flags.isGiven("weight-decay");
    if (!gpt.tokens.empty() && !flags.isGiven("sample"))
      gpt.sample.bytes = 0;
    return run(gpt, launch);
  });
}
