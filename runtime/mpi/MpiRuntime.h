//===- MpiRuntime.h - This process in its MPI job --------------------------===//
//
// Owns MPI_Init and MPI_Finalize, and how the job ends.
//
//   started by          what happens
//   mpirun, srun        MPI_Init; rank and size are MPI's
//   neither             one rank, and MPI is not started (which takes longer than a small run)
// Signals are ProcessHealth.h's.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_MPI_MPIRUNTIME_H
#define SPLITCAST_RUNTIME_MPI_MPIRUNTIME_H

#include "runtime/api/Job.h"

namespace splitcast::runtime {

struct MpiState;

class MpiRuntime final : public Job {
public:
  /// Whether a launcher of MPI's says in the environment that it started this process.
  static bool isLaunched();

  /// Called once per process; waits until all ranks of the job have called it.
  ///   Errors  Unavailable: MPI failed. FailedPrecondition: the launcher started more ranks than MPI knows of, which
  ///           would each run alone; or a second call.
  static absl::StatusOr<std::unique_ptr<MpiRuntime>> create();

  /// Ends MPI, which waits for all ranks, unless a message was given up or this process was told to end: it then exits
  /// without, and mpirun ends the others. Transports are destroyed before.
  ~MpiRuntime() override;

  int64_t rank() const override { return self; }
  int64_t size() const override { return ranks; }
  /// Among the ranks of this node.
  int64_t localRank() const { return nodeRank; }
  int64_t localSize() const { return nodeRanks; }

  absl::StatusOr<std::unique_ptr<Transport>> createTransport() override;

  /// Ends all ranks of the job, also stopped ones.
  [[noreturn]] void abortJob(int code) override;

private:
  MpiRuntime() = default;
  absl::Status initialize(int64_t expectedRanks);
  absl::Status findNode();

  std::shared_ptr<MpiState> state; ///< none when MPI was not started
  int64_t self = 0, ranks = 1, nodeRank = 0, nodeRanks = 1;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_MPI_MPIRUNTIME_H
