//===- NcclWatch.h - Is a communicator alive? ---------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_NCCL_NCCLWATCH_H
#define SPLITCAST_RUNTIME_NCCL_NCCLWATCH_H

#include "runtime/cuda/CudaDevice.h"
#include "runtime/nccl/NcclCommunicator.h"

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "nccl.h"

#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace splitcast::runtime {

/// Owns a communicator of NCCL, which never blocks, and knows which collectives are under way. Destroyed, it waits for
/// them, for events may outlive it, and ends the communicator in peace; after an error it aborts it.
class NcclWatch : public CudaWatcher {
public:
  NcclWatch(ncclComm_t communicator, const NcclCommunicatorOptions &options)
      : communicator(communicator), options(options), timeout(options.timeout) {}
  NcclWatch(const NcclWatch &) = delete;
  NcclWatch &operator=(const NcclWatch &) = delete;
  ~NcclWatch() override;

  /// Null after an error.
  ncclComm_t comm() const { return communicator; }
  /// The first, or OK.
  absl::Status error() const { return failure; }

  /// Until the communicator has ended, in peace or not.
  void keep(std::shared_ptr<void> memory) { kept.push_back(std::move(memory)); }

  /// Waits until NCCL has taken the last call.
  absl::Status settle(const std::string &what);
  /// A collective, done when the event fires.
  void add(const Event &event, const std::string &what);
  /// A collective that is part of a CUDA graph, of whose single works the host knows nothing: a wait for the graph may
  /// take the timeout as a whole.
  void addCaptured(const std::string &what) { captured.push_back(what); }
  /// After an error, which aborts the communicator, always that error.
  absl::Status check(absl::Duration waited) override;
  void abandon(const absl::Status &status) override;

private:
  struct UnderWay {
    Event event;
    std::string what;
  };

  absl::Status fail(const absl::Status &status);
  void forgetDone();
  /// As long as there is progress.
  void finishUnderWay();
  /// What may be under way, for messages.
  std::string suspect() const;

  ncclComm_t communicator;
  const NcclCommunicatorOptions options;
  const absl::Duration timeout;
  std::deque<UnderWay> underWay;
  std::vector<std::string> captured;
  absl::Time lastProgress = absl::InfinitePast();
  absl::Status failure;
  std::vector<std::shared_ptr<void>> kept;
  std::thread aborting;
  std::thread guarding; ///< from an error on, until this is destroyed
  absl::Notification isGone;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_NCCL_NCCLWATCH_H
