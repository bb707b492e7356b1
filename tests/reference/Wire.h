//===- Wire.h - Collectives between simulated ranks ----------------------------===//
//
// The n-th collective that a rank starts in a group is the n-th of every other rank of that group (the same ranks in
// the same order). It is done once all have started it. What goes from rank to rank is copied block by block, and
// counted.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_WIRE_H
#define SPLITCAST_TESTS_REFERENCE_WIRE_H

#include "dialects/ccl/algebra/Collective.h"
#include "tests/reference/Tensor.h"

#include <map>
#include <optional>

namespace splitcast::reference {

/// What one rank did with one kind of collective.
struct CollectiveCount {
  int64_t calls = 0;
  int64_t bytesSent = 0; ///< to other ranks; what stays on a rank is not sent
};

using RankCounts = std::map<ccl::CollectiveKind, CollectiveCount>;

/// One rank's start of a collective.
struct Call {
  ccl::CollectiveKind kind = ccl::CollectiveKind::AllGather;
  std::string what;
  std::vector<int64_t> ranks;
  int64_t index = 0;             ///< of this rank in `ranks`
  std::vector<int64_t> blocks;   ///< elements
  std::vector<int64_t> received; ///< where the kind's result is these
  TensorRef input;
  mlir::RankedTensorType resultType;
};

/// 'all_gather "w" over ranks [0, 1]', for messages.
std::string describe(const Call &call);

/// A collective that a rank has started.
struct Ticket {
  std::vector<int64_t> ranks;
  int64_t sequence = 0; ///< of the group's collectives
  int64_t index = 0;
};

class Wire {
public:
  /// One entry of `counts` per rank; borrowed.
  Wire(std::vector<RankCounts> &counts, Precision precision) : counts(counts), precision(precision) {}

  /// Starts a collective; the last rank to start it does the work of all.
  ///   Errors  InvalidArgument: the call does not fit the rank, or the call of another rank (both are named), or sums
  ///           elements that are not floats.
  absl::StatusOr<Ticket> start(int64_t rank, Call call);

  /// The result, or null while some rank has not started it.
  TensorRef result(const Ticket &ticket) const;

  /// As 'all_gather "w" over ranks [0, 1], not started by rank 1'.
  std::string describePending(const Ticket &ticket) const;

  /// FailedPrecondition when a collective was started by some of its ranks only.
  absl::Status checkAllDone() const;

private:
  struct Collective {
    std::vector<std::optional<Call>> calls; ///< by index
    std::vector<TensorRef> results;         ///< empty until all have started it
  };
  struct Group {
    std::vector<int64_t> started; ///< collectives that each member has started
    std::vector<Collective> collectives;
  };

  const Collective &find(const Ticket &ticket) const;
  void run(Collective &collective);
  std::string missing(const Collective &collective) const;

  std::vector<RankCounts> &counts;
  Precision precision;
  std::map<std::vector<int64_t>, Group> groups;
};

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_WIRE_H
