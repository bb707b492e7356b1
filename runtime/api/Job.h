//===- Job.h - This process among the ranks of its job ----------------------===//
//
// Who the ranks are, the messages among them, and how the job ends. runtime/mpi implements it for mpirun and srun,
// runtime/tcp for ranks that are told by environment variables who they are; runtime/job chooses.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_API_JOB_H
#define SPLITCAST_RUNTIME_API_JOB_H

#include "runtime/api/Transport.h"

namespace splitcast::runtime {

/// Destroyed after its transports; that waits for all ranks unless the job ends with an error.
class Job {
public:
  virtual ~Job() = default;
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  /// A transport of all ranks, with messages of its own. All ranks call it at the same point.
  virtual absl::StatusOr<std::unique_ptr<Transport>> createTransport() = 0;
  /// Ends this process without waiting for any other, and the job as far as the launcher lets it.
  [[noreturn]] virtual void abortJob(int code) = 0;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_JOB_H
