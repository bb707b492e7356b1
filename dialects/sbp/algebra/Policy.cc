#include "dialects/sbp/algebra/Policy.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace splitcast::sbp {

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

const std::vector<DecisionInfo> &decisionInfos() {
  static const std::vector<DecisionInfo> infos = {
      {Decision::Stage,
       "stage",
       "what is split: 0 nothing, 1 optimizer state, 2 gradients too, 3 parameters too",
       {"0", "1", "2", "3"},
       2},
      {Decision::Strategy,
       "strategy",
       "how split variables lie: in one flat range per group, each by rows, or in a flat range that is cut between "
       "variables, so that each belongs to one rank",
       {"bucket", "tensor", "whole"},
       static_cast<int64_t>(Strategy::Bucket)},
      {Decision::Keep,
       "keep",
       "whether gathered parameters stay between forward and backward; 'last' keeps the group that forward uses last, "
       "'step' gathers once for all micro-batches of a step",
       {"never", "last", "always", "step"},
       static_cast<int64_t>(Keep::Last)},
      {Decision::Prefetch,
       "prefetch",
       "how many groups ahead of their use gathers start; 'auto': as many as are computed while one is gathered",
       {},
       kAutomatic,
       /*mayBeAutomatic=*/true},
      {Decision::PrefetchBytes,
       "prefetch-bytes",
       "the most bytes that gathers ahead of their use take; 0: no limit",
       {},
       0},
      {Decision::BucketBytes,
       "bucket-bytes",
       "joins groups into one bucket until it has so many bytes; 0: one bucket per group",
       {},
       0},
      {Decision::Recompute,
       "recompute",
       "whether backward computes a group's activations again, so that they are not kept until then; 'elementwise': "
       "only those that elementwise ops compute from kept values",
       {"no", "yes", "elementwise"},
       static_cast<int64_t>(Recompute::No)},
      {Decision::Update,
       "update",
       "whether variables are updated when backward has ended, or (stages 2 and 3) as soon as their gradient is "
       "reduced",
       {"last", "reduced"},
       static_cast<int64_t>(Update::Reduced)},
      {Decision::ComputeType,
       "compute-type",
       "the type in which the graph reads a variable of a wider type, which then holds the master weights",
       {"own", "bf16", "f16"},
       static_cast<int64_t>(ComputeType::Own)},
      {Decision::WholeBytes,
       "whole-bytes",
       "variables of at most so many bytes stay whole, as at stage 0, unless they have a stage of their own; 0: none",
       {},
       0},
  };
  return infos;
}

static std::optional<int64_t> parseNumber(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool isNumber = error == std::errc() && end == text.data() + text.size() && value >= 0;
  return isNumber ? std::optional(value) : std::nullopt;
}

static constexpr char kAuto[] = "auto", kAnyNumber[] = "a number that is not negative",
                      kPositiveNumber[] = "a number from 1 on";

std::string DecisionInfo::toString(int64_t value) const {
  if (mayBeAutomatic && value == kAutomatic)
    return kAuto;
  return choices.empty() ? std::to_string(value) : choices[value];
}

std::optional<int64_t> DecisionInfo::parse(std::string_view text) const {
  if (mayBeAutomatic && text == kAuto)
    return kAutomatic;
  if (choices.empty())
    return parseNumber(text);
  auto found = std::find(choices.begin(), choices.end(), text);
  return found == choices.end() ? std::nullopt : std::optional<int64_t>(found - choices.begin());
}

std::string DecisionInfo::allowed() const {
  if (choices.empty())
    return (mayBeAutomatic ? std::string(kAuto) + " or " : "") + kAnyNumber;
  std::string text = choices.front();
  for (size_t i = 1; i < choices.size(); ++i)
    text += std::string(i + 1 == choices.size() ? " or " : ", ") + choices[i];
  return text;
}

Policy Policy::over(const Policy &weaker) const {
  Policy result = weaker;
  for (int i = 0; i < kNumDecisions; ++i)
    if (values[i])
      result.values[i] = values[i];
  return result;
}

Policy Policy::completed() const {
  Policy result = *this;
  for (const DecisionInfo &info : decisionInfos())
    result.set(info.decision, valueOf(info.decision));
  return result;
}

int64_t Policy::valueOf(Decision decision) const {
  return get(decision).value_or(decisionInfos()[static_cast<int>(decision)].standard);
}

std::string toString(const Policy &policy) {
  std::string text;
  for (const DecisionInfo &info : decisionInfos())
    if (std::optional<int64_t> value = policy.get(info.decision))
      text += (text.empty() ? "" : ",") + std::string(info.name) + "=" + info.toString(*value);
  return text;
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

std::string toString(OneCopy oneCopy) {
  return oneCopy == OneCopy::No ? "no" : oneCopy == OneCopy::Yes ? "yes" : "auto";
}

std::string toString(AccumulateOrder order) {
  return order == AccumulateOrder::PerStep ? "per-step" : "per-micro-batch";
}

std::optional<AccumulateOrder> parseAccumulateOrder(std::string_view text) {
  for (AccumulateOrder order : {AccumulateOrder::PerMicroBatch, AccumulateOrder::PerStep})
    if (text == toString(order))
      return order;
  return std::nullopt;
}

namespace {

/// An option of 'enable-zero' that applies to the whole module, so that no
/// variable has it.
struct ModuleOption {
  const char *name;
  const char *help;
  const char *allowed;
  bool isOfStorage;
  std::optional<std::string> flagValue;
  bool (*set)(std::string_view text, ZeroOptions *options);
  std::string (*get)(const ZeroOptions &options);
};

const ModuleOption moduleOptions[] = {
    {"axis", "the placement's axis along which ZeRO splits; its first axis if none is given", "the name of an axis",
     true, std::nullopt,
     [](std::string_view text, ZeroOptions *options) {
       options->axis = text;
       return true;
     },
     [](const ZeroOptions &options) { return options.axis; }},
    {"one-copy",
     "whether parameters that stage 3 would split lie whole, as at stage 2, so that the ranks of a machine share one "
     "copy of them; 'auto': if the ranks that run find that they can share memory",
     "no, yes or auto", true, std::nullopt,
     [](std::string_view text, ZeroOptions *options) {
       for (OneCopy oneCopy : {OneCopy::No, OneCopy::Yes, OneCopy::Auto})
         if (text == toString(oneCopy)) {
           options->oneCopy = oneCopy;
           return true;
         }
       return false;
     },
     [](const ZeroOptions &options) { return toString(options.oneCopy); }},
    {"hold-gathers-bytes",
     "a function that assigns nothing keeps what it gathers between its runs, up to so many bytes; 0: nothing",
     kAnyNumber, false, std::nullopt,
     [](std::string_view text, ZeroOptions *options) {
       std::optional<int64_t> value = parseNumber(text);
       options->holdGathersBytes = value.value_or(options->holdGathersBytes);
       return value.has_value();
     },
     [](const ZeroOptions &options) { return std::to_string(options.holdGathersBytes); }},
    {"memory-limit",
     "the most bytes that a rank's predicted peak may have; 0: no limit. A program that runs chooses stage and "
     "recompute for it, where these are left open",
     kAnyNumber, false, std::nullopt,
     [](std::string_view text, ZeroOptions *options) {
       std::optional<int64_t> value = parseNumber(text);
       options->memoryLimit = value.value_or(options->memoryLimit);
       return value.has_value();
     },
     [](const ZeroOptions &options) { return std::to_string(options.memoryLimit); }},
    {"accumulate", "the micro-batches in which a step is computed, one after the other; their gradients are added up",
     kPositiveNumber, false, "K",
     [](std::string_view text, ZeroOptions *options) {
       std::optional<int64_t> value = parseNumber(text);
       if (value.value_or(0) > 0)
         options->accumulate = *value;
       return value.value_or(0) > 0;
     },
     [](const ZeroOptions &options) { return std::to_string(options.accumulate); }},
    {"accumulate-order",
     "when ranks sum up gradients: after each micro-batch, or once per step, so that each rank keeps whole sums until "
     "then",
     "per-micro-batch or per-step", false, "ORDER",
     [](std::string_view text, ZeroOptions *options) {
       std::optional<AccumulateOrder> order = parseAccumulateOrder(text);
       options->accumulateOrder = order.value_or(options->accumulateOrder);
       return order.has_value();
     },
     [](const ZeroOptions &options) { return toString(options.accumulateOrder); }},
    {"pipeline",
     "the order in which the stages of a pipeline work on micro-batches: one micro-batch after the other, forward of "
     "all and then backward of all, or alternately forward and backward of one",
     "sequential, gpipe or 1f1b", false, "ORDER",
     [](std::string_view text, ZeroOptions *options) {
       std::optional<PipelineSchedule> schedule = parsePipelineSchedule(text);
       options->pipeline = schedule.value_or(options->pipeline);
       return schedule.has_value();
     },
     [](const ZeroOptions &options) { return toString(options.pipeline); }},
    {"reproducible",
     "whether sums over the batch are exact, so that a step in equally many micro-batches in all has the same bits on "
     "every number of ranks and with both values of accumulate-order",
     "no or yes", false, "",
     [](std::string_view text, ZeroOptions *options) {
       options->reproducible = text == "yes" || (text != "no" && options->reproducible);
       return text == "yes" || text == "no";
     },
     [](const ZeroOptions &options) -> std::string { return options.reproducible ? "yes" : "no"; }},
};

std::string misfit(std::string_view name, std::string_view value, const std::string &allowed) {
  return std::string(name) + " is '" + std::string(value) + "', which must be " + allowed;
}

std::string unknown(std::string_view name, const std::vector<std::string> &known) {
  std::string text = "it has no option '" + std::string(name) + "'; options are ";
  for (size_t i = 0; i < known.size(); ++i)
    text += (i == 0 ? "" : i + 1 == known.size() ? " and " : ", ") + known[i];
  return text;
}

std::optional<std::string> setDecision(std::string_view name, std::string_view value, Policy *policy) {
  std::vector<std::string> known;
  for (const DecisionInfo &info : decisionInfos()) {
    known.push_back(info.name);
    if (name != info.name)
      continue;
    std::optional<int64_t> parsed = info.parse(value);
    if (!parsed)
      return misfit(name, value, info.allowed());
    policy->set(info.decision, *parsed);
    return std::nullopt;
  }
  return unknown(name, known);
}

/// Returns the words of a text that are separated by commas or spaces. Nothing
/// between two commas, or after the last one, is an empty word.
std::vector<std::string_view> wordsOf(std::string_view text) {
  constexpr std::string_view spaces = " \t\n";
  std::vector<std::string_view> words;
  bool wantsWord = false;
  for (size_t at = 0; (at = text.find_first_not_of(spaces, at)) != std::string_view::npos;) {
    size_t end = std::min(text.find_first_of(" \t\n,", at), text.size());
    words.push_back(text.substr(at, end - at));
    size_t next = std::min(text.find_first_not_of(spaces, end), text.size());
    wantsWord = next < text.size() && text[next] == ',';
    at = next + (wantsWord ? 1 : 0);
  }
  if (wantsWord)
    words.emplace_back();
  return words;
}

/// Calls `set` with each name=value of the text. Returns the first error.
template <typename Set> std::optional<std::string> parseList(std::string_view text, Set set) {
  std::set<std::string_view> seen;
  for (std::string_view word : wordsOf(text)) {
    size_t equals = std::min(word.find('='), word.size());
    std::string_view name = word.substr(0, equals);
    if (!seen.insert(name).second)
      return "it has '" + std::string(name) + "' twice; give it once";
    if (std::optional<std::string> error = set(name, word.substr(std::min(equals + 1, word.size()))))
      return error;
  }
  return std::nullopt;
}

} // namespace

std::vector<OptionInfo> zeroOptionInfos() {
  std::vector<OptionInfo> infos;
  for (const DecisionInfo &info : decisionInfos())
    infos.push_back({info.name,
                     std::string(info.help) + ": " + info.allowed() + " (" + info.toString(info.standard) + ")",
                     info.allowed(), info.toString(info.standard), /*isOfStorage=*/true, std::nullopt});
  for (const ModuleOption &option : moduleOptions) {
    std::string standard = option.get(ZeroOptions());
    infos.push_back({option.name, option.help + (standard.empty() ? std::string() : " (" + standard + ")"),
                     option.allowed, standard, option.isOfStorage, option.flagValue});
  }
  return infos;
}

std::optional<std::string> setZeroOption(std::string_view name, std::string_view value, ZeroOptions *options,
                                         bool ofStorageOnly) {
  std::vector<std::string> known;
  for (const DecisionInfo &info : decisionInfos()) {
    if (name == info.name)
      return setDecision(name, value, &options->policy);
    known.push_back(info.name);
  }
  for (const ModuleOption &option : moduleOptions) {
    if (ofStorageOnly && !option.isOfStorage)
      continue;
    if (name == option.name)
      return option.set(value, options) ? std::nullopt : std::optional(misfit(name, value, option.allowed));
    known.push_back(option.name);
  }
  return unknown(name, known);
}

std::string zeroOptionText(std::string_view name, const ZeroOptions &options) {
  for (const DecisionInfo &info : decisionInfos())
    if (name == info.name)
      return info.toString(options.policy.get(info.decision).value_or(info.standard));
  for (const ModuleOption &option : moduleOptions)
    if (name == option.name)
      return option.get(options);
  return {};
}

std::optional<std::string> parseZeroOptions(std::string_view text, ZeroOptions *options, bool ofStorageOnly) {
  ZeroOptions parsed = *options;
  std::optional<std::string> error = parseList(text, [&](std::string_view name, std::string_view value) {
    return setZeroOption(name, value, &parsed, ofStorageOnly);
  });
  if (error)
    return error;
  *options = parsed;
  return std::nullopt;
}

std::optional<std::string> parseEnableZero(std::string_view text, ZeroOptions *options) {
  ZeroOptions parsed;
  if (std::optional<std::string> error = parseZeroOptions(text, &parsed))
    return error;
  if (parsed.policy.bucketBytes() > 0 && parsed.policy.strategy() == Strategy::Tensor)
    return "bucket-bytes applies to buckets, but strategy=tensor makes none; leave one of the two out";
  *options = parsed;
  return std::nullopt;
}

std::optional<std::string> parsePolicy(std::string_view text, Policy *policy) {
  Policy parsed = *policy;
  std::optional<std::string> error =
      parseList(text, [&](std::string_view name, std::string_view value) { return setDecision(name, value, &parsed); });
  if (!error)
    *policy = parsed;
  return error;
}

} // namespace splitcast::sbp
