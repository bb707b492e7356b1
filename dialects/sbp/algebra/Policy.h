//===- Policy.h - Decisions about how variables are stored and moved ------===//
//
// A policy may be set for one variable, for a group of variables (a layer), or for all. Its group makes the decisions
// that a variable leaves open; then the group around that one ("h" around "h.0"); then the options of 'enable-zero';
// then the defaults here.
//
//   set for        stage   strategy   keep
//   @h.0.w         -       -          always
//   group "h.0"    -       tensor     -
//   group "h"      3       bucket     never
//   all            1       -          -
//   @h.0.w has     3       tensor     always
//
// The table in Policy.cc is the only place that defines a decision: its name, values, default and help. The IR's
// #sbp.policy, the options of passes and pipelines, the flags of all tools and the Graph API are read and printed by
// this table.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ALGEBRA_POLICY_H
#define SPLITCAST_DIALECTS_SBP_ALGEBRA_POLICY_H

#include "dialects/sbp/algebra/PipelineOrder.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace splitcast::sbp {

/// The decisions of a policy. Their values are those of the enums below, or numbers.
enum class Decision {
  Stage,         ///< of ZeRO, 0 to 3
  Strategy,      ///< how tensors that ZeRO splits lie
  Keep,          ///< how long a gathered parameter is kept between forward and backward
  Prefetch,      ///< how many groups ahead of its use a gather starts, or kAutomatic
  PrefetchBytes, ///< the most bytes that gathers ahead of their use may take; 0: any number
  BucketBytes,   ///< the bytes up to which consecutive groups share a bucket
  Recompute,     ///< which of a group's forward values are recomputed for backward instead of kept
  Update,        ///< when an update runs
  ComputeType,   ///< the type to which the value that the graph reads of a variable is rounded
  WholeBytes,    ///< a variable of at most so many bytes is treated as at stage 0; 0: none is
};
inline constexpr int kNumDecisions = 10;
/// A value of Prefetch: the compiler chooses the number of groups, so that the computation meanwhile takes as long as
/// the gather.
inline constexpr int64_t kAutomatic = -1;

enum class Strategy { Bucket, Tensor, Whole };
enum class Keep { Never, Last, Always, Step };
enum class Recompute { No, Yes, Elementwise };
enum class Update { Last, Reduced };
enum class ComputeType { Own, BF16, F16 };
/// When ranks add up the gradients of a step in micro-batches: after each micro-batch, or once, each rank having summed
/// its own over all micro-batches.
enum class AccumulateOrder { PerMicroBatch, PerStep };

struct DecisionInfo {
  Decision decision;
  const char *name; ///< "bucket-bytes"
  const char *help;
  std::vector<const char *> choices; ///< a value is an index; empty: any number from 0 on
  int64_t standard;                  ///< the default
  bool mayBeAutomatic = false;       ///< whether "auto" is allowed, which is kAutomatic

  std::string toString(int64_t value) const;
  std::optional<int64_t> parse(std::string_view text) const;
  /// The values that are allowed, as "0, 1, 2 or 3".
  std::string allowed() const;
};

/// The table: one entry per decision, in their order.
const std::vector<DecisionInfo> &decisionInfos();

/// Where parameters that stage 3 would split are stored whole, as at stage 2, so that the ranks of a machine share one
/// copy of them: nowhere, everywhere, or where the ranks find at run time that they can share memory.
enum class OneCopy { No, Yes, Auto };

/// Decisions, each of which may be left open.
class Policy {
public:
  /// The value that was set for this decision. (The named functions below return the value that applies.)
  std::optional<int64_t> get(Decision decision) const { return values[static_cast<int>(decision)]; }
  /// Sets a decision. Requires a value that its DecisionInfo allows.
  Policy &set(Decision decision, int64_t value) {
    values[static_cast<int>(decision)] = value;
    return *this;
  }
  Policy &setStage(int64_t stage) { return set(Decision::Stage, stage); }
  Policy &setStrategy(Strategy strategy) { return set(Decision::Strategy, static_cast<int64_t>(strategy)); }
  Policy &setKeep(Keep keep) { return set(Decision::Keep, static_cast<int64_t>(keep)); }
  Policy &setPrefetch(int64_t groups) { return set(Decision::Prefetch, groups); }
  Policy &setPrefetchBytes(int64_t bytes) { return set(Decision::PrefetchBytes, bytes); }
  Policy &setBucketBytes(int64_t bytes) { return set(Decision::BucketBytes, bytes); }
  Policy &setRecompute(Recompute recompute) { return set(Decision::Recompute, static_cast<int64_t>(recompute)); }
  Policy &setUpdate(Update update) { return set(Decision::Update, static_cast<int64_t>(update)); }
  Policy &setWholeBytes(int64_t bytes) { return set(Decision::WholeBytes, bytes); }
  Policy &setComputeType(ComputeType type) { return set(Decision::ComputeType, static_cast<int64_t>(type)); }

  /// Returns this policy, with the decisions that it leaves open as in `weaker`.
  Policy over(const Policy &weaker) const;
  bool isEmpty() const { return *this == Policy(); }

  /// Returns this policy, with the defaults for the decisions that it leaves open.
  Policy completed() const;

  // The values that apply: those that were set, or the defaults.
  int64_t stage() const { return valueOf(Decision::Stage); }
  Strategy strategy() const { return static_cast<Strategy>(valueOf(Decision::Strategy)); }
  /// Master weights that are split, at a stage that keeps parameters whole, are gathered once per step.
  Keep keep() const { return splitsMasters() && stage() < 3 ? Keep::Step : static_cast<Keep>(valueOf(Decision::Keep)); }
  int64_t prefetch() const { return valueOf(Decision::Prefetch); }
  int64_t prefetchBytes() const { return valueOf(Decision::PrefetchBytes); }
  int64_t bucketBytes() const { return valueOf(Decision::BucketBytes); }
  int64_t wholeBytes() const { return valueOf(Decision::WholeBytes); }
  Recompute recompute() const { return static_cast<Recompute>(valueOf(Decision::Recompute)); }
  Update update() const { return static_cast<Update>(valueOf(Decision::Update)); }
  ComputeType computeType() const { return static_cast<ComputeType>(valueOf(Decision::ComputeType)); }

  // What a stage of ZeRO means (for a frozen variable, only splitsParameters applies).
  bool splitsUpdates() const { return stage() >= 1; } ///< and optimizer state
  bool reducesEarly() const { return stage() != 1; }  ///< gradients when they are made, not after backward
  bool splitsGradients() const { return stage() >= 2; }
  bool splitsParameters() const { return stage() >= 3; }
  /// Variables that are read in another type are master weights: optimizer state.
  bool splitsMasters() const { return computeType() != ComputeType::Own && splitsUpdates(); }

  bool operator==(const Policy &other) const { return values == other.values; }
  bool operator!=(const Policy &other) const { return values != other.values; }
  bool operator<(const Policy &other) const { return values < other.values; }

  // NOLINTNEXTLINE(readability-identifier-naming): llvm::hash_combine asks for it by this name
  friend size_t hash_value(const Policy &policy) {
    size_t hash = 0;
    for (std::optional<int64_t> value : policy.values)
      hash = hash * 1000003 + static_cast<size_t>(value.value_or(-1));
    return hash;
  }

private:
  int64_t valueOf(Decision decision) const;

  std::array<std::optional<int64_t>, kNumDecisions> values;
};

/// All options of 'enable-zero'.
struct ZeroOptions {
  Policy policy;    ///< for the decisions that variables and their groups leave open
  std::string axis; ///< the axis of the placement to split along; empty: its first
  OneCopy oneCopy = OneCopy::Auto;
  /// The most gathered bytes that a function keeps between its runs, if it assigns no variable.
  int64_t holdGathersBytes = int64_t{256} << 20;
  /// The most bytes that the predicted peak of a rank may have; 0: any number. A session makes the decisions that the
  /// policy leaves open so that the peak stays within it (compiler/launch/MemoryLimit.h); passes do not read it.
  int64_t memoryLimit = 0;
  /// The number of micro-batches of a step, for functions without an attribute that sets it.
  int64_t accumulate = 1;
  /// For functions without an attribute that sets it. Another order rounds differently.
  AccumulateOrder accumulateOrder = AccumulateOrder::PerMicroBatch;
  /// The order in which the ranks of a pipeline work on a step's micro-batches. It changes no bit.
  PipelineSchedule pipeline = PipelineSchedule::OneForwardOneBackward;
  /// For functions without an attribute that sets it: sums over the batch are exact, so that their order does not
  /// matter.
  bool reproducible = false;
  /// Groups that are recomputed whatever their own policies say, with the groups within them.
  std::vector<std::string> recomputedGroups;
};

/// Returns "no", "yes" or "auto".
std::string toString(OneCopy oneCopy);

/// Returns "per-micro-batch" or "per-step".
std::string toString(AccumulateOrder order);
std::optional<AccumulateOrder> parseAccumulateOrder(std::string_view text);

/// How one option is shown in a help text.
struct OptionInfo {
  std::string name;
  std::string help;    ///< includes the default
  std::string allowed; ///< "bucket, tensor or whole"
  std::string standard;
  bool isOfStorage; ///< read by 'sbp-zero-storage'
  /// The name of the flag's value in the help of tools that run a program and have a flag of this name. If it is empty,
  /// the flag takes no value and means yes; if there is none, there is no such flag.
  std::optional<std::string> flagValue;
};
std::vector<OptionInfo> zeroOptionInfos();

/// Sets one option; with `ofStorageOnly` it must be one with OptionInfo::isOfStorage. Returns an error, which says what
/// is allowed, or nothing.
std::optional<std::string> setZeroOption(std::string_view name, std::string_view value, ZeroOptions *options,
                                         bool ofStorageOnly = false);
/// Returns the value of an option as text. Requires a name of zeroOptionInfos().
std::string zeroOptionText(std::string_view name, const ZeroOptions &options);

/// Sets the options of a text such as "stage=3,strategy=tensor" or "stage=3 strategy=tensor"; the others keep their
/// values. Returns an error or nothing; after an error `options` is unchanged.
std::optional<std::string> parseZeroOptions(std::string_view text, ZeroOptions *options, bool ofStorageOnly = false);
/// The same, beginning with the defaults, for the text that a user gives to a tool or pipeline: contradictions are
/// errors, too.
std::optional<std::string> parseEnableZero(std::string_view text, ZeroOptions *options);
/// The same as parseZeroOptions, for a policy alone.
std::optional<std::string> parsePolicy(std::string_view text, Policy *policy);
/// Returns the decisions that the policy makes, as "stage=3,strategy=tensor".
std::string toString(const Policy &policy);

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_POLICY_H
