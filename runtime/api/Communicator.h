//===- Communicator.h - Collectives over the ranks of a group ---------------===//
//
// This is the second half of the contract that a backend implements, so that the executor, which knows no backend, can
// run a plan on it. Device.h is the first half and defines streams and events.
//
// Order      All ranks of a group start the same collectives in the same order, on streams of the same name. The
//            collectives of one communicator complete in that order. If a rank has several communicators, their
//            collectives start in the order of the calls, whatever their streams.
// Blocking   A call that starts a collective does not wait for other ranks. (There are two exceptions: on the host,
//            HostCommunicatorOptions::maxInFlight collectives are in flight; or NCCL has not yet taken the call.) The
//            returned event says when the data may be read and the buffers reused. barrier, exchange and split wait for
//            all ranks, and so do shareMemory and registerMemory, unless the backend does not implement them.
// Buffers    They lie on the device of the collective's stream. (The host uses no stream.) Buffers of one call do not
//            overlap, except where its method says so; nobody checks this. The spans of sizes are read before the call
//            returns.
// Sizes      All ranks pass the same sizes; in an all-to-all, rank r has as much for rank s as s expects from r. The
//            host finds a difference when a message arrives (FailedPrecondition), or waits for one that never comes
//            (DeadlineExceeded). NCCL finds none: what happens then is unknown.
// Agreement  On the host, each message says which call it belongs to (Frame.h): the call site, the kind and sizes, the
//            session and its run, and a digest of the values that ranks must give alike in that run. Where two ranks
//            differ, the call fails on both (FailedPrecondition) and names both. They tell all ranks of all
//            communicators that were split from the same root, and these fail, too, in what they wait for, or wait for
//            next. NCCL compares nothing in its collectives; ranks agree before each run (agreeOnRun).
// Threads    Only one thread at a time may use a communicator, all that were split from the same root, and their
//            events. Portable callers use all communicators of a process in one thread at a time: MPI allows no more,
//            and on CUDA a wait polls all of them.
// Lifetime   An event may outlive its communicator, and a communicator the one that it was split from. NCCL's
//            destructor waits for the collectives in flight; the host gives them up once no event is left.
// Sums       Addends are added in one fixed tree over the rank index, whatever the size, the chunks or the algorithm.
//            The tree is a binary counter: partial sums of equal height merge, and leftovers fold from the right.
//            3 ranks: (a0+a1)+a2; 4: (a0+a1)+(a2+a3); 7: ((a0+a1)+(a2+a3))+((a4+a5)+a6).
//            bf16 and f16 are added in f32 and rounded once. Only NCCL with NcclCommunicatorOptions::deterministic
//            off adds in an order of its own. With it on (the default), NCCL adds at most 64 addends: portable groups
//            that sum have at most 64 ranks.
// Timeout    On the host it counts while a wait sees no message sent or received. On CUDA it counts from the start of
//            the oldest collective in flight, or from the end of the one before it: kernels for which it waits count,
//            too. If a wait is for captured work (Device::capture), it covers the whole wait: make it longer than a
//            replay.
// Errors     Once a collective has failed, the communicator is dead: every later collective (on the host, every later
//            call) returns the same status. The message names the collective (CallSite) and, on the host, the ranks
//            that have not answered.
//
//   error                what happened                                          remedy
//   InvalidArgument      the call is wrong (CollectiveChecks.h); nothing was    correct the caller
//                        sent, and the communicator still works
//   DeadlineExceeded     a rank has not answered within the timeout             end the job; look at that rank
//   Unavailable          the transport failed, a rank was lost, or this         restart
//                        process was told to end
//   FailedPrecondition   ranks are at different calls, sessions or runs, or     run the same program on all ranks
//                        gave different values where they must be alike
//   ResourceExhausted    the transport had no room for a message                raise the limits of the process
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_API_COMMUNICATOR_H
#define SPLITCAST_RUNTIME_API_COMMUNICATOR_H

#include "dialects/ccl/algebra/Collective.h"
#include "runtime/api/Device.h"
#include "runtime/api/ElementType.h"
#include "runtime/api/Frame.h"
#include "runtime/api/SharedMemory.h"

#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include <memory>
#include <string>
#include <vector>

namespace splitcast::runtime {

/// Which collective of the program this is, for error messages: "all-gather of bucket 'layer3' (collective 17 of
/// @train)".
///
/// Ranks that wait for each other must be at the same call site: the host compares them (Frame.h). So two sites with
/// equal texts are still two, by the line of the source in which they are made. A function that calls for others takes
/// a CallSite from them.
struct CallSite {
  CallSite(std::string what, const char *file = __builtin_FILE(), int line = __builtin_LINE())
      : tag(mixed(mixed(digestOf(what), digestOf(file)), static_cast<uint64_t>(line))), what(std::move(what)) {}
  CallSite(const char *what, const char *file = __builtin_FILE(), int line = __builtin_LINE())
      : CallSite(std::string(what), file, line) {}

  uint64_t tag; ///< distinguishes sites
  std::string what;
  std::shared_ptr<const Activity> during; ///< the session that makes the call (SessionCommunicator.h); null: none
};

/// The registration of some memory with a communicator; destroying the object ends it. Destroy it before the
/// communicator and before the memory.
class Registration {
public:
  virtual ~Registration() = default;
};

/// A collective of a plan, prepared for any number of starts. It borrows the buffers.
struct PreparedCollective {
  /// `data`, `output` and `workspace` are the arguments of these names of the Communicator's method for this kind. An
  /// all-to-all takes `data` as its `input`.
  PreparedCollective(const ccl::CollectiveCall &call, ElementType type, Buffer data, Buffer output, Buffer workspace);

  ccl::CollectiveKind kind;
  ElementType type;
  Buffer data, output, workspace;
  std::vector<int64_t> blocks, blockBytes, receivedBytes; ///< one entry per rank; `blocks` counts elements
  int64_t elements;                                       ///< the number of elements of the operand
};

class Communicator {
public:
  virtual ~Communicator() = default;

  /// Calls the method for the collective's kind.
  virtual absl::StatusOr<Event> start(const PreparedCollective &collective, Stream &stream, const CallSite &site);

  /// This rank's number in the group, from 0, and the number of ranks in the group.
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;

  /// Returns the number of a rank of this group in errors and in Activity::alike: its rank in the communicator of which
  /// this one and all others of the same root were made.
  virtual int64_t numberOf(int64_t rank) const { return rank; }

  /// Returns the number of a new session on these ranks, from 1. All ranks make their sessions in the same order.
  virtual uint32_t nextSession() { return 0; }

  /// Begins a run of `site.during`. Where collectives compare frames, this does nothing; else it is a barrier, so that
  /// ranks that begin different runs, or with different values, learn it before their values mix.
  virtual absl::Status agreeOnRun(const CallSite &site) { return absl::OkStatus(); }

  /// The size of the chunks in which sums send addends, which decides how much workspace they need.
  virtual int64_t chunkBytes() const { return ccl::kChunkBytes; }

  /// Gathers the blocks of all ranks on every rank, in place.
  ///   Shapes     data has the blocks of all ranks in rank order; block r has bytesPerRank[r] bytes (0 is legal). On
  ///              entry only block rank() has a meaning.
  ///   Ownership  data is borrowed until the event fires.
  ///   Cost       Each rank sends its block once to each other rank.
  virtual absl::StatusOr<Event> allGather(Buffer data, absl::Span<const int64_t> bytesPerRank, Stream &stream,
                                          const CallSite &site) = 0;

  /// Sums `data` over the ranks in the fixed tree; rank r gets block r of the sum.
  ///   Shapes     data has the blocks of all ranks in rank order; block r has elementsPerRank[r] elements (0 is legal).
  ///              output is this rank's block: memory outside of data, or that block of data itself. workspace lies
  ///              outside of both.
  ///   Ownership  data, output and workspace are borrowed until the event fires; then the contents of data are
  ///              unspecified.
  ///   Errors     InvalidArgument: output is smaller than the block, workspace is smaller than
  ///              ccl::reduceScatterWorkspace for chunkBytes(), a buffer is not aligned to the element, or the type is
  ///              no float.
  ///   Cost       Each rank sends every block but its own once.
  virtual absl::StatusOr<Event> reduceScatter(Buffer data, absl::Span<const int64_t> elementsPerRank, ElementType type,
                                              Buffer output, Buffer workspace, Stream &stream,
                                              const CallSite &site) = 0;

  /// Sums the first `elements` elements of `data` over the ranks in the fixed tree; every rank gets the sum, in place.
  ///   Ownership  data and workspace are borrowed until the event fires. They do not overlap.
  ///   Errors     They are those of reduceScatter, but the workspace has ccl::allReduceWorkspace.
  ///   Cost       It costs a reduce-scatter and an all-gather of the pieces. Up to ccl::kSmallAllReduceBytes, each rank
  ///              sends the whole tensor to each other rank instead.
  virtual absl::StatusOr<Event> allReduce(Buffer data, int64_t elements, ElementType type, Buffer workspace,
                                          Stream &stream, const CallSite &site) = 0;

  /// Sends block s of `input` to rank s, and receives block r of `output` from rank r. Both buffers hold their blocks
  /// in rank order, with no gaps. This rank's block for itself has the same size in both.
  ///   Ownership  input and output are borrowed until the event fires. They do not overlap.
  ///   Errors     InvalidArgument: a buffer is smaller than its blocks, or the block for itself has two sizes.
  virtual absl::StatusOr<Event> allToAll(Buffer input, absl::Span<const int64_t> inputBytesPerRank, Buffer output,
                                         absl::Span<const int64_t> outputBytesPerRank, Stream &stream,
                                         const CallSite &site) = 0;

  /// Announces that collectives will use `memory`, so that the transport can move its bytes without a copy in between.
  /// Every rank calls this at the same point. `layout` is a text of the caller's that NCCL compares between ranks: if
  /// it or the size of `memory` differs, nothing is registered. (The executor's text lists its spaces and the ranges of
  /// its collectives; the host ignores it.) The caller may pass the same `layout` on all ranks only if, in each
  /// collective, the buffers of all ranks begin at the same offset of `memory`. Returns null where registration gains
  /// nothing.
  ///   Errors  those of exchange; Unavailable: NCCL's errors. DeadlineExceeded: NCCL did not answer within the timeout.
  virtual absl::StatusOr<std::unique_ptr<Registration>> registerMemory(Buffer memory, const std::string &layout,
                                                                       const CallSite &site) {
    return nullptr;
  }

  /// Returns zeroed memory of which all ranks share one copy, or null on all ranks if they cannot share memory. Its
  /// pages are present: it needs no populate(). Every rank passes the same `bytes`, at least 1; nobody checks this. An
  /// all-gather on this memory, whose data begins at the same offset on all ranks, moves no bytes: it completes when
  /// all ranks have started it, each after writing its block. No other collective may use this memory. Every rank calls
  /// this at the same point, and destroys what it returns before the communicator.
  ///   Errors  ResourceExhausted, on all ranks: a rank, which the message names, could not map the memory. The
  ///           communicator still works. Those of exchange.
  virtual absl::StatusOr<std::unique_ptr<SharedMemory>> shareMemory(int64_t bytes, const CallSite &site) {
    return nullptr;
  }

  /// Blocks until all ranks have called it.
  virtual absl::Status barrier(const CallSite &site) = 0;

  /// Returns the `mine` of every rank, in rank order, and blocks until all ranks have called it. It is meant for
  /// hashes, sizes and statuses, not for tensors. Lengths may differ between ranks, and be 0.
  ///   Errors  InvalidArgument: `mine` has more than 1 GiB.
  virtual absl::StatusOr<std::vector<std::string>> exchange(const std::string &mine, const CallSite &site) = 0;

  /// Returns a communicator of the given ranks of this one, numbered in this order; rank() is among them. Every rank of
  /// this communicator calls this at the same point, each with its own group; the groups do not overlap.
  ///   Errors  InvalidArgument, on all ranks: a group is wrong, or its members do not all pass the same one.
  virtual absl::StatusOr<std::unique_ptr<Communicator>> split(absl::Span<const int64_t> ranks,
                                                              const CallSite &site) = 0;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_COMMUNICATOR_H
