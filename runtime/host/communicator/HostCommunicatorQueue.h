//===- HostCommunicatorQueue.h - The collectives of one communicator -------===//
//
// The queue determines in which order collectives make progress, how long a wait lasts, and what happens once a
// collective has failed.
//
// Nothing makes progress by itself. `start` drives the oldest few collectives of this queue. `wait` also drives those
// of its siblings (the queues of all communicators that were split from the same root), so that ranks which wait on
// different communicators cannot block each other.
//
// The queue is also the one place where messages get their frames (Frame.h). If a message has another frame, or another
// length, than this rank expects, all queues of the family end, and every rank is told (HostCommunicatorNotices.h).
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATORQUEUE_H
#define SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATORQUEUE_H

#include "runtime/host/communicator/HostCommunicator.h"
#include "runtime/host/communicator/HostCommunicatorNotices.h"
#include "runtime/host/communicator/HostCommunicatorOps.h"

#include <deque>

namespace splitcast::runtime {

class CollectiveQueue : public std::enable_shared_from_this<CollectiveQueue> {
public:
  /// What the queues of one root have in common.
  struct Family {
    std::vector<CollectiveQueue *> queues; ///< in the order in which they were made
    uint32_t sessions = 0;                 ///< how many numbers Communicator::nextSession has given
  };

  /// `names` are the ranks' numbers in error messages. The queue adds itself to the family.
  CollectiveQueue(std::unique_ptr<Transport> transport, HostCommunicatorOptions options, std::vector<int64_t> names,
                  std::shared_ptr<Family> family);
  ~CollectiveQueue();

  Transport &transport() { return *messages; }
  const HostCommunicatorOptions &options() const { return limits; }
  const std::vector<int64_t> &names() const { return rankNames; }
  const std::shared_ptr<Family> &family() const { return relatives; }

  /// Returns the next tag. Two collectives have different tags unless one is kTags tags older, and then it is complete
  /// on this rank before the other starts. Messages of equal tag arrive in order, so this suffices.
  int nextTag() { return tagsTaken++ % kTags; }

  /// Returns OK, or the error that ended this communicator.
  const absl::Status &status() const { return failure; }

  /// Adds the operation to the queue and posts the messages that can be posted. If options().maxInFlight collectives
  /// are in flight, it first waits for the oldest.
  absl::StatusOr<Event> start(std::unique_ptr<Operation> operation);
  /// Calls start() and waits for the operation.
  absl::Status run(std::unique_ptr<Operation> operation);

  /// Blocks until the operation is completed. The timeout runs from the last completed message, or from this call.
  absl::Status wait(const Operation &operation);

  /// Ends this communicator: gives up all collectives in flight, and returns `status`.
  absl::Status die(absl::Status status);

private:
  static constexpr int64_t kTags = kNoticeTag; ///< the tags below that of notices

  /// Drives the oldest few collectives. Returns true if one of them made progress.
  bool drive();
  bool advance(Operation &operation);
  absl::Status messageError(const Operation &operation, const absl::Status &status) const;
  absl::Status disagree(const Operation &operation, const absl::Status &status);
  absl::Status unlikeError(const Operation &operation, const Notice &notice);
  std::string wordsOf(int64_t rank, const Operation &operation);
  absl::Status endFamily(const absl::Status &status);
  /// Returns whether it has ended the family. A collective is in flight.
  bool lookForNotices();
  int64_t number() const { return rankNames[messages->rank()]; }
  absl::Status healthError(const Operation &operation, const absl::Status &health) const;
  absl::Status timeoutError(const Operation &operation) const;
  std::optional<absl::Status> endedError(const Operation &operation) const;
  std::string nameRanks(const std::vector<int64_t> &ranks) const;

  std::unique_ptr<Transport> messages;
  HostCommunicatorOptions limits;
  std::vector<int64_t> rankNames;
  std::shared_ptr<Family> relatives;
  Notices notices;
  std::deque<std::shared_ptr<Operation>> inFlight;
  absl::Status failure;
  int64_t tagsTaken = 0;
  uint64_t operationsStarted = 0;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATORQUEUE_H
