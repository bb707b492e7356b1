//===- Policy.h - What is decided about how variables are stored and moved ------===//
//
// A policy may be said of one variable, of a group of them (a layer), or of all. What a variable does not say, its
// group does; then the group around that one ("h" around "h.0"); then the options of 'enable-zero'; then the defaults
// here.
//
//   said of        stage   strategy   keep
//   @h.0.w         -       -          always
//   group "h.0"    -       tensor     -
//   group "h"      3       bucket     never
//   all            1       -          -
//   @h.0.w has     3       tensor     always
//
// The table in Policy.cc is all that is known of a decision: its name, values, default and help. The IR's #sbp.policy,
// the passes' and pipelines' options, the flags of all tools and the Graph API are read and printed by it.
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

/// What can be decided. Values are those of the enums below, or numbers.
enum class Decision {
  Stage,         ///< of ZeRO, 0 to 3
  Strategy,      ///< how what is split lies
  Keep,          ///< what becomes of a gathered parameter between forward and backward
  Prefetch,      ///< groups ahead of its use at which a gather starts, or kAutomatic
  PrefetchBytes, ///< that gathers ahead of their use take at most; 0: any number
  BucketBytes,   ///< up to which consecutive groups share a bucket
  Recompute,     ///< what of that which forward makes in a group is made again for backward, and not kept
  Update,        ///< when an update runs
  ComputeType,   ///< what the graph reads of a variable is rounded to it
  WholeBytes,    ///< a variable of at most so many bytes is as at stage 0; 0: none is
};
inline constexpr int kNumDecisions = 10;
/// Of Prefetch: as many groups as a gather takes time, by what is computed meanwhile.
inline constexpr int64_t kAutomatic = -1;

enum class Strategy { Bucket, Tensor, Whole };
enum class Keep { Never, Last, Always, Step };
enum class Recompute { No, Yes, Elementwise };
enum class Update { Last, Reduced };
enum class ComputeType { Own, BF16, F16 };
/// When ranks add up the gradients of a step in micro-batches: those of each, or each rank's own sum of all.
enum class AccumulateOrder { PerMicroBatch, PerStep };

struct DecisionInfo {
  Decision decision;
  const char *name; ///< "bucket-bytes"
  const char *help;
  std::vector<const char *> choices; ///< a value is the index of its text; empty: any number that is not negative
  int64_t standard;                  ///< when nobody says
  bool mayBeAutomatic = false;       ///< "auto" is kAutomatic

  std::string toString(int64_t value) const;
  std::optional<int64_t> parse(std::string_view text) const;
  /// "0, 1, 2 or 3"
  std::string allowed() const;
};

/// One per decision, in their order.
const std::vector<DecisionInfo> &decisionInfos();

/// Where parameters that stage 3 splits lie whole, as at stage 2, so that ranks of a machine have one copy of them:
/// nowhere, everywhere, or where the ranks that run find that they can.
enum class OneCopy { No, Yes, Auto };

/// Decisions, each of which may be left open.
class Policy {
public:
  /// What is said of this decision. (What holds, the named functions below say.)
  std::optional<int64_t> get(Decision decision) const { return values[static_cast<int>(decision)]; }
  /// Requires a value of DecisionInfo.
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

  /// What this leaves open is as in `weaker`.
  Policy over(const Policy &weaker) const;
  bool isEmpty() const { return *this == Policy(); }

  /// With the defaults for what is open.
  Policy completed() const;

  // What holds: what is said, or the default.
  int64_t stage() const { return valueOf(Decision::Stage); }
  Strategy strategy() const { return static_cast<Strategy>(valueOf(Decision::Strategy)); }
  /// Of master weights that are split and whose stage has whole parameters: for a step.
  Keep keep() const { return splitsMasters() && stage() < 3 ? Keep::Step : static_cast<Keep>(valueOf(Decision::Keep)); }
  int64_t prefetch() const { return valueOf(Decision::Prefetch); }
  int64_t prefetchBytes() const { return valueOf(Decision::PrefetchBytes); }
  int64_t bucketBytes() const { return valueOf(Decision::BucketBytes); }
  int64_t wholeBytes() const { return valueOf(Decision::WholeBytes); }
  Recompute recompute() const { return static_cast<Recompute>(valueOf(Decision::Recompute)); }
  Update update() const { return static_cast<Update>(valueOf(Decision::Update)); }
  ComputeType computeType() const { return static_cast<ComputeType>(valueOf(Decision::ComputeType)); }

  // What a stage of ZeRO means (of a frozen variable, only what parameters do).
  bool splitsUpdates() const { return stage() >= 1; } ///< and optimizer state
  bool reducesEarly() const { return stage() != 1; }  ///< gradients where they are made, not when backward has ended
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

/// All that 'enable-zero' can be told.
struct ZeroOptions {
  Policy policy;    ///< of variables that say nothing, and whose groups do not
  std::string axis; ///< of the placement, to split along; empty: its first
  OneCopy oneCopy = OneCopy::Auto;
  /// A function that assigns nothing keeps what it gathers between its runs, up to so many bytes.
  int64_t holdGathersBytes = int64_t{256} << 20;
  /// Bytes that the predicted peak of a rank may have; 0: any. A session chooses what the policy leaves open so that it
  /// has no more (compiler/launch/MemoryLimit.h); passes know nothing of it.
  int64_t memoryLimit = 0;
  /// Micro-batches that a step is computed in, of functions that do not say it themselves.
  int64_t accumulate = 1;
  /// Of functions that do not say it themselves. Another order is another rounding.
  AccumulateOrder accumulateOrder = AccumulateOrder::PerMicroBatch;
  /// In which order ranks that layers lie at work on a step's micro-batches. It changes no bit.
  PipelineSchedule pipeline = PipelineSchedule::OneForwardOneBackward;
  /// Of functions that do not say it themselves: sums over the batch have no rounding, and so no order.
  bool reproducible = false;
  /// Groups that are recomputed, and groups within them, whatever they say themselves.
  std::vector<std::string> recomputedGroups;
};

/// "no", "yes" or "auto".
std::string toString(OneCopy oneCopy);

/// "per-micro-batch" or "per-step".
std::string toString(AccumulateOrder order);
std::optional<AccumulateOrder> parseAccumulateOrder(std::string_view text);

/// How one of them is shown in a help text.
struct OptionInfo {
  std::string name;
  std::string help;    ///< with the default
  std::string allowed; ///< "bucket, tensor or whole"
  std::string standard;
  bool isOfStorage; ///< read by 'sbp-zero-storage'
  /// What a tool that runs calls the value of a flag of the same name; empty: the flag takes none, and says yes.
  /// Nothing: there is no such flag.
  std::optional<std::string> flagValue;
};
std::vector<OptionInfo> zeroOptionInfos();

/// Sets one option, of all or of those that OptionInfo::isOfStorage. An error, which says what is allowed, or nothing.
std::optional<std::string> setZeroOption(std::string_view name, std::string_view value, ZeroOptions *options,
                                         bool ofStorageOnly = false);
/// Requires a name of zeroOptionInfos().
std::string zeroOptionText(std::string_view name, const ZeroOptions &options);

/// "stage=3,strategy=tensor" or "stage=3 strategy=tensor", onto what `options` has. An error or nothing; after an error
/// `options` is unchanged.
std::optional<std::string> parseZeroOptions(std::string_view text, ZeroOptions *options, bool ofStorageOnly = false);
/// The same from the defaults on, as a user tells a tool or pipeline: what contradicts itself is an error, too.
std::optional<std::string> parseEnableZero(std::string_view text, ZeroOptions *options);
/// As parseZeroOptions, of a policy alone.
std::optional<std::string> parsePolicy(std::string_view text, Policy *policy);
/// "stage=3,strategy=tensor": what the policy says.
std::string toString(const Policy &policy);

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_POLICY_H
