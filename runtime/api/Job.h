//===- Job.h - This process as a rank of its job ----------------------------===//
//
// A job knows this process's rank and the number of ranks, makes transports between the ranks, and ends. runtime/mpi
// implements it for mpirun and srun, and runtime/tcp for processes that learn their rank from environment variables.
// runtime/job chooses between them.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_API_JOB_H
#define SPLITCAST_RUNTIME_API_JOB_H

#include "runtime/api/Transport.h"

namespace splitcast::runtime {

/// Destroy the transports before the job. The destructor waits for all ranks (over TCP, for a limited time), unless the
/// job ends with an error.
class Job {
public:
  virtual ~Job() = default;
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  /// Returns a new transport between all ranks, whose messages do not mix with those of other transports. All ranks
  /// call it at the same point. TCP allows 65535 calls per job, also counting transports that were destroyed; MPI's
  /// limit is its library's.
  ///   Errors  ResourceExhausted: there were too many calls (TCP). Unavailable: MPI's errors.
  virtual absl::StatusOr<std::unique_ptr<Transport>> createTransport() = 0;
  /// Ends this process with this exit code, without waiting for any other, and ends the job as far as the launcher
  /// allows.
  [[noreturn]] virtual void abortJob(int code) = 0;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_JOB_H
