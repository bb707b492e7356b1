//===- Wire.h - Collectives between simulated ranks ----------------------------===//
//
// A group is a list of ranks in a certain order. The n-th collective that a rank starts in a group belongs together
// with the n-th one of every other rank of the group. It is computed when all have started it. Bytes that go from rank
// to rank are counted.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_WIRE_H
#define SPLITCAST_TESTS_REFERENCE_WIRE_H

#include "dialects/ccl/algebra/Collective.h"
#include "tests/reference/Tensor.h"

#include <map>
#include <optional>

namespace splitcast::reference {

/// The calls and the traffic of a rank for one kind of collective.
struct CollectiveCount {
  int64_t calls = 0;
  int64_t bytesSent = 0; ///< to other ranks only
};

using RankCounts = std::map<ccl::CollectiveKind, CollectiveCount>;

/// The start of a collective by one rank.
struct Call {
  ccl::CollectiveKind kind = ccl::CollectiveKind::AllGather;
  std::string what;
  std::vector<int64_t> ranks;
  int64_t index = 0;             ///< the index of this rank in `ranks`
  std::vector<int64_t> blocks;   ///< the numbers of elements
  std::vector<int64_t> received; ///< the blocks of the result, for kinds that receive other blocks than they send
  TensorRef input;
  mlir::RankedTensorType resultType;
};

/// Returns 'all_gather "w" over ranks [0, 1]', for messages.
std::string describe(const Call &call);

/// A collective that a rank has started.
struct Ticket {
  std::vector<int64_t> ranks;
  int64_t sequence = 0; ///< its number among the group's collectives
  int64_t index = 0;
};

class Wire {
public:
  /// Borrows `counts`, which has one entry per rank.
  Wire(std::vector<RankCounts> &counts, Precision precision) : counts(counts), precision(precision) {}

  /// Starts a collective. The last rank that starts it computes the results of all.
  ///   Errors  InvalidArgument: the call does not fit the rank or the call of another rank (the message names both), or
  ///           it sums elements that are not floats.
  absl::StatusOr<Ticket> start(int64_t rank, Call call);

  /// Returns the result, or null if a rank has not started the collective.
  TensorRef result(const Ticket &ticket) const;

  /// Returns a text such as 'all_gather "w" over ranks [0, 1], not started by rank 1'.
  std::string describePending(const Ticket &ticket) const;

  /// Returns FailedPrecondition if a collective was started by some of its ranks, but not by all.
  absl::Status checkAllDone() const;

private:
  struct Collective {
    std::vector<std::optional<Call>> calls; ///< those of each rank, by its index in the group
    std::vector<TensorRef> results;         ///< empty until all ranks have started it
  };
  struct Group {
    std::vector<int64_t> started; ///< how many collectives each member has started
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
