//===- MpiRuntime.h - This process in its MPI job --------------------------===//
//
// The runtime calls MPI_Init_thread and MPI_Finalize, and decides how the job ends.
//
//   started by          what happens
//   mpirun, srun        MPI is started; rank and size are MPI's
//   neither             there is one rank, and MPI is not started (starting it takes longer than a small run)
//
// ProcessHealth.h handles signals.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_MPI_MPIRUNTIME_H
#define SPLITCAST_RUNTIME_MPI_MPIRUNTIME_H

#include "runtime/api/Job.h"

#include "absl/time/time.h"

#include <functional>
#include <utility>

namespace splitcast::runtime {

struct MpiState;

class MpiRuntime final : public Job {
public:
  /// Returns whether the environment says that an MPI launcher started this process.
  static bool isLaunched();

  /// What ends this process when a rank has not come: it is called with DeadlineExceeded, in a separate thread.
  using EndProcess = std::function<void(const absl::Status &)>;

  /// Starts MPI, and waits until all ranks of the job have called it. MPI itself waits for ever for a rank that is
  /// stopped meanwhile, and nothing ends its wait: after `timeout` this process calls `endProcess` and exits with
  /// status 1, and mpirun ends the other ranks. The same holds for createTransport(). Call it once per process.
  ///   Errors  Unavailable: MPI failed. FailedPrecondition: the launcher started another number of ranks than MPI knows
  ///           of, so that each would run alone; or this is a second call.
  static absl::StatusOr<std::unique_ptr<MpiRuntime>> create(absl::Duration timeout = absl::InfiniteDuration(),
                                                            EndProcess endProcess = nullptr);

  /// Finalizes MPI, which waits for all ranks. If a message was given up or this process was told to end, it leaves
  /// MPI as it is, and mpirun ends the other ranks once this process exits. Destroy the transports before.
  ~MpiRuntime() override;

  int64_t rank() const override { return self; }
  int64_t size() const override { return ranks; }
  /// This rank's number among the ranks of this node, and how many these are.
  int64_t localRank() const { return nodeRank; }
  int64_t localSize() const { return nodeRanks; }

  absl::StatusOr<std::unique_ptr<Transport>> createTransport() override;

  /// Ends all ranks of the job, even those whose process is stopped.
  [[noreturn]] void abortJob(int code) override;

private:
  MpiRuntime(absl::Duration timeout, EndProcess endProcess) : timeout(timeout), endProcess(std::move(endProcess)) {}
  absl::Status initialize(int64_t expectedRanks);
  absl::Status findNode();

  const absl::Duration timeout;
  const EndProcess endProcess;
  std::shared_ptr<MpiState> state; ///< null if MPI was not started
  int64_t self = 0, ranks = 1, nodeRank = 0, nodeRanks = 1;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_MPI_MPIRUNTIME_H
