//===- TcpJob.h - Jobs whose ranks environment variables number --------------===//
//
// This is for launchers that start processes without MPI (torchrun and its like, srun without PMIx, a shell script):
//
//   RANK, or SLURM_PROCID                  0 to WORLD_SIZE - 1
//   WORLD_SIZE, or SLURM_STEP_NUM_TASKS    how many ranks there are
//   MASTER_ADDR, MASTER_PORT               where rank 0 listens
//   SPLITCAST_SECRET, or
//   SPLITCAST_SECRET_FILE                  what only the ranks of the job know (optional, docs/security.md)
//   SPLITCAST_ATTEMPT, or
//   TORCHELASTIC_RESTART_COUNT, or
//   SLURM_RESTART_COUNT                    how often the job was started before (0)
//
// Under torchrun itself, whose agent listens at MASTER_PORT, rank 0 takes the next port.
//
// It is meant for what ranks with GPUs exchange besides tensors. Tensors in host memory may also go this way, but it
// lacks the fast paths of an MPI (shared memory, an HPC network). PullTransport.h adds shared memory within a machine.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_TCP_TCPJOB_H
#define SPLITCAST_RUNTIME_TCP_TCPJOB_H

#include "runtime/api/Job.h"
#include "runtime/tcp/TcpMesh.h"
#include "runtime/tcp/TcpRendezvous.h"

#include <optional>

namespace splitcast::runtime {

class TcpJob final : public Job {
public:
  /// Returns what these variables say, or nothing if they do not describe a job.
  ///   Errors  InvalidArgument: a variable is missing, is no number, or is out of range; those of
  ///           secretFromEnvironment().
  static absl::StatusOr<std::optional<Rendezvous>> fromEnvironment();

  /// Connects all ranks of the job, and waits until all have called it. Errors are those of meet().
  static absl::StatusOr<std::unique_ptr<TcpJob>> create(const Rendezvous &rendezvous);

  ~TcpJob() override;

  int64_t rank() const override { return self; }
  int64_t size() const override { return ranks; }
  absl::StatusOr<std::unique_ptr<Transport>> createTransport() override;
  /// Ends this process alone. The other ranks notice when they next wait for this rank.
  [[noreturn]] void abortJob(int code) override;

  TcpMesh &mesh() { return *connections; }

private:
  TcpJob(const Rendezvous &rendezvous, std::shared_ptr<TcpMesh> mesh);

  int64_t self, ranks;
  int64_t transports = 0;
  std::shared_ptr<TcpMesh> connections;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_TCP_TCPJOB_H
