//===- Communicator.h - Collectives over the ranks of a group ---------------===//
//
// The contract of `runtime/`: what a backend must do so that the executor, which knows none, can run a plan on it. See
// Device.h for streams and events.
//
// Order      All ranks of a group start the same collectives in the same order, on the same kind of stream. Collectives
//            of one communicator complete in that order.
//            Those of several communicators of a rank start in the order of the calls, whatever their streams.
// Blocking   No call waits for another rank, save barrier and exchange. The event says when the data may be read, and
//            when the buffers may be reused.
// Sums       Addends are added in one fixed tree over the rank index, whatever the size, blocking or algorithm: a
//            binary counter in which partial sums of equal height merge, and leftovers fold from the right.
//            3 ranks: (a0+a1)+a2; 4: (a0+a1)+(a2+a3); 7: ((a0+a1)+(a2+a3))+((a4+a5)+a6).
//            bf16 and f16 are added in f32, and rounded once.
// Errors     Once a collective has failed, the communicator is dead: every later call returns the same status. The
//            message names the collective (CallSite) and the ranks that have not answered.
//
//   error                what happened                                          remedy
//   InvalidArgument      the call is wrong (CollectiveChecks.h); nothing was    the caller
//                        sent, and the communicator lives
//   DeadlineExceeded     a rank, named, has not answered within the timeout     end the job; look at that rank
//   Unavailable          the transport failed, a rank was lost, or this         restart
//                        process was told to end
//   FailedPrecondition   a rank sent a message of another length                run the same program on all ranks
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_API_COMMUNICATOR_H
#define SPLITCAST_RUNTIME_API_COMMUNICATOR_H

#include "dialects/ccl/algebra/Collective.h"
#include "runtime/api/Device.h"
#include "runtime/api/ElementType.h"
#include "runtime/api/SharedMemory.h"

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <memory>
#include <string>
#include <vector>

namespace splitcast::runtime {

/// Which collective of the program this is, for error messages: "all-gather of bucket 'layer3' (collective 17 of
/// @train)".
struct CallSite {
  std::string what;
};

/// Of memory; ended by its destruction, which comes before that of the communicator and of the memory.
class Registration {
public:
  virtual ~Registration() = default;
};

/// A collective as a plan has it, prepared for any number of starts.
struct PreparedCollective {
  /// `data`, `output` and `workspace` are what the method of this kind takes by these names; an all-to-all's input is
  /// its data.
  PreparedCollective(const ccl::CollectiveCall &call, ElementType type, Buffer data, Buffer output, Buffer workspace);

  ccl::CollectiveKind kind;
  ElementType type;
  Buffer data, output, workspace;
  std::vector<int64_t> blocks, blockBytes, receivedBytes; ///< by rank
  int64_t elements;                                       ///< of the operand
};

class Communicator {
public:
  virtual ~Communicator() = default;

  /// Calls the method of the collective's kind.
  virtual absl::StatusOr<Event> start(const PreparedCollective &collective, Stream &stream, const CallSite &site);

  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;

  /// Every rank's block becomes known to all, in place.
  ///   Shapes     data: the blocks of all ranks in order; block r has bytesPerRank[r] bytes (0 is legal); on entry only
  ///              block rank() has a meaning.
  ///   Ownership  borrows data until the event.
  ///   Cost       each rank sends its block once to each other rank.
  virtual absl::StatusOr<Event> allGather(Buffer data, absl::Span<const int64_t> bytesPerRank, Stream &stream,
                                          const CallSite &site) = 0;

  /// Sums `data` over the ranks in the fixed tree; rank r gets block r of the sum.
  ///   Shapes     data: the blocks of all ranks in order; block r has elementsPerRank[r] elements (0 is legal).
  ///              output: this rank's block, outside of data, or that block of data itself.
  ///   Ownership  borrows data, output and workspace until the event; data holds no meaning after.
  ///   Errors     InvalidArgument: output smaller than the block, workspace smaller than
  ///              ccl::reduceScatterWorkspace, or a type that is no float.
  ///   Cost       each rank sends every block but its own once.
  virtual absl::StatusOr<Event> reduceScatter(Buffer data, absl::Span<const int64_t> elementsPerRank, ElementType type,
                                              Buffer output, Buffer workspace, Stream &stream,
                                              const CallSite &site) = 0;

  /// Sums `elements` of `data` over the ranks in the fixed tree; every rank gets the sum, in place.
  ///   Errors     as reduceScatter, with ccl::allReduceWorkspace.
  ///   Cost       a reduce-scatter and an all-gather of the pieces, or, up to ccl::kSmallAllReduceBytes, the
  ///              whole tensor to every other rank.
  virtual absl::StatusOr<Event> allReduce(Buffer data, int64_t elements, ElementType type, Buffer workspace,
                                          Stream &stream, const CallSite &site) = 0;

  /// Block s of `input` goes to rank s, and block r of `output` comes from rank r; both lie in rank order, with no
  /// gaps.
  virtual absl::StatusOr<Event> allToAll(Buffer input, absl::Span<const int64_t> inputBytesPerRank, Buffer output,
                                         absl::Span<const int64_t> outputBytesPerRank, Stream &stream,
                                         const CallSite &site) = 0;

  /// Says that collectives will use `memory`, which lets a transport move it with no copy of its own. Every rank calls
  /// it at the same point, with a text that is the same on all ranks only if in each collective the buffers of all
  /// ranks begin at the same offset of it. Null: nothing is gained here.
  virtual absl::StatusOr<std::unique_ptr<Registration>> registerMemory(Buffer memory, const std::string &layout,
                                                                       const CallSite &site) {
    return nullptr;
  }

  /// Zeroed memory of which all ranks have one copy; null, on all of them: they have none in common. An all-gather
  /// whose data begins at the same offset of it on all ranks moves nothing there: it is over when all have started it,
  /// each with its block written. No other collective works there. Every rank calls it at the same point; what it
  /// returns ends before the communicator.
  ///   Errors  ResourceExhausted, on all of them: a rank, named, could not map it; the communicator lives.
  virtual absl::StatusOr<std::unique_ptr<SharedMemory>> shareMemory(int64_t bytes, const CallSite &site) {
    return nullptr;
  }

  /// Waits until all ranks have come here.
  virtual absl::Status barrier(const CallSite &site) = 0;

  /// Gives every rank's `mine` (any length, host memory) to all, in rank order: for hashes, sizes and statuses, not for
  /// tensors.
  virtual absl::StatusOr<std::vector<std::string>> exchange(const std::string &mine, const CallSite &site) = 0;

  /// A communicator of the given ranks of this one (in this order; rank() is among them). Every rank of this
  /// communicator calls it at the same point, each with its own group; the groups do not overlap.
  virtual absl::StatusOr<std::unique_ptr<Communicator>> split(absl::Span<const int64_t> ranks,
                                                              const CallSite &site) = 0;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_COMMUNICATOR_H
