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

namespace splitcast::runtime {

struct MpiState;

class MpiRuntime final : public Job {
public:
  /// Returns whether the environment says that an MPI launcher started this process.
  static bool isLaunched();

  /// Starts MPI, and waits until all ranks of the job have called it. Call it once per process.
  ///   Errors  Unavailable: MPI failed. FailedPrecondition: the launcher started another number of ranks than MPI knows
  ///           of, so that each would run alone; or this is a second call.
  static absl::StatusOr<std::unique_ptr<MpiRuntime>> create();

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
  MpiRuntime() = default;
  absl::Status initialize(int64_t expectedRanks);
  absl::Status findNode();

  std::shared_ptr<MpiState> state; ///< null if MPI was not started
  int64_t self = 0, ranks = 1, nodeRank = 0, nodeRanks = 1;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_MPI_MPIRUNTIME_H
