//===- NcclWatch.h - Watches whether a communicator is alive ------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_NCCL_NCCLWATCH_H
#define SPLITCAST_RUNTIME_NCCL_NCCLWATCH_H

#include "runtime/cuda/CudaDevice.h"
#include "runtime/nccl/NcclCommunicator.h"
#include "runtime/process/Patience.h"

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "nccl.h"

#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace splitcast::runtime {

/// Owns a non-blocking communicator of NCCL, and knows which collectives are in flight. The destructor waits for them,
/// since events may outlive it, and then finalizes the communicator. After an error the communicator is aborted
/// instead.
class NcclWatch : public CudaWatcher {
public:
  NcclWatch(ncclComm_t communicator, const NcclCommunicatorOptions &options)
      : communicator(communicator), options(options), timeout(options.timeout), progress(options.timeout) {}
  NcclWatch(const NcclWatch &) = delete;
  NcclWatch &operator=(const NcclWatch &) = delete;
  ~NcclWatch() override;

  /// Returns the communicator, or null after an error.
  ncclComm_t comm() const { return communicator; }
  /// Returns the first error, or OK.
  absl::Status error() const { return failure; }

  /// Keeps `memory` alive until the communicator has ended, finalized or aborted.
  void keep(std::shared_ptr<void> memory) { kept.push_back(std::move(memory)); }

  /// Waits until NCCL has processed the last call.
  ///   Errors  DeadlineExceeded: this took longer than the timeout. Unavailable: NCCL's errors.
  absl::Status settle(const std::string &what);
  /// Adds a collective, which is done when the event fires.
  void add(const Event &event, const std::string &what);
  /// Adds a collective of the CUDA graph that is being captured. The host does not see the progress within a graph, so
  /// the timeout applies to a wait as a whole if the graph has been replayed and is not done.
  void addCaptured(const std::string &what);
  /// Aborts the communicator at the first error, and returns that error then and ever after.
  absl::Status check(absl::Duration waited) override;
  void abandon(const absl::Status &status) override;

private:
  struct UnderWay {
    Event event;
    std::string what;
  };

  /// A CUDA graph with collectives of the communicator.
  struct CapturedGraph {
    std::weak_ptr<const CudaReplays> replays; ///< expired: the graph is gone
    std::vector<std::string> collectives;
  };

  absl::Status fail(const absl::Status &status);
  /// Forgets collectives that are done, and graphs that are gone.
  void forgetDone();
  /// Returns a graph of which a replay is under way, or null.
  const CapturedGraph *replayed() const;
  /// Waits for the collectives in flight, as long as there is progress.
  void finishUnderWay();
  /// Returns the collectives that may be in flight, for error messages.
  std::string suspect() const;

  ncclComm_t communicator;
  const NcclCommunicatorOptions options;
  const absl::Duration timeout;
  Patience progress; ///< since the last collective that was done
  std::deque<UnderWay> underWay;
  std::vector<CapturedGraph> captured;
  absl::Status failure;
  std::vector<std::shared_ptr<void>> kept;
  std::thread aborting;
  std::thread guarding; ///< runs from an error on, until this object is destroyed
  absl::Notification isGone;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_NCCL_NCCLWATCH_H
