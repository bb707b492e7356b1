//===- HostCommunicatorQueue.h - The collectives of one communicator -------===//
//
// In which order collectives go on, who waits for them and how long, and what happens once one has failed.
//
// Nothing goes on by itself: `start` and `wait` drive the oldest few collectives, of this queue and of its siblings
// (the queues of communicators split from it), so that ranks which wait on different communicators cannot block each
// other.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATORQUEUE_H
#define SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATORQUEUE_H

#include "runtime/host/communicator/HostCommunicator.h"
#include "runtime/host/communicator/HostCommunicatorOps.h"

#include <deque>

namespace splitcast::runtime {

class CollectiveQueue : public std::enable_shared_from_this<CollectiveQueue> {
public:
  using Siblings = std::vector<CollectiveQueue *>;

  /// `names` are the ranks' numbers in error messages.
  CollectiveQueue(std::unique_ptr<Transport> transport, HostCommunicatorOptions options, std::vector<int64_t> names,
                  std::shared_ptr<Siblings> siblings);
  ~CollectiveQueue();

  Transport &transport() { return *messages; }
  const HostCommunicatorOptions &options() const { return limits; }
  const std::vector<int64_t> &names() const { return rankNames; }
  const std::shared_ptr<Siblings> &siblings() const { return family; }

  /// Tags of two collectives differ unless one is kTags tags older, and then it is complete here before the other
  /// starts; messages of equal tag arrive in order, so that suffices.
  int nextTag() { return tagsTaken++ % kTags; }

  /// Not OK: the status that ended this communicator.
  const absl::Status &status() const { return failure; }

  /// Posts what can be posted. With options().maxInFlight collectives in flight it first waits for the oldest.
  absl::StatusOr<Event> start(std::unique_ptr<Operation> operation);
  absl::Status run(std::unique_ptr<Operation> operation);

  /// Waits until the operation is completed. The timeout runs from the last message completed, or from the call.
  absl::Status wait(const Operation &operation);

  /// Ends this communicator: gives up what is in flight, and returns `status`.
  absl::Status die(absl::Status status);

private:
  static constexpr int64_t kTags = 32768;

  /// True if something moved.
  bool drive();
  bool advance(Operation &operation);
  absl::Status messageError(const Operation &operation, const absl::Status &status) const;
  absl::Status healthError(const Operation &operation, const absl::Status &health) const;
  absl::Status timeoutError(const Operation &operation) const;
  std::string nameRanks(const std::vector<int64_t> &ranks) const;

  std::unique_ptr<Transport> messages;
  HostCommunicatorOptions limits;
  std::vector<int64_t> rankNames;
  std::shared_ptr<Siblings> family;
  std::deque<std::shared_ptr<Operation>> inFlight;
  absl::Status failure;
  int64_t tagsTaken = 0;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_COMMUNICATOR_HOSTCOMMUNICATORQUEUE_H
