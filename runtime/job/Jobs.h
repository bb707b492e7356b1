//===- Jobs.h - Which launcher started this process ---------------------------===//
#ifndef SPLITCAST_RUNTIME_JOB_JOBS_H
#define SPLITCAST_RUNTIME_JOB_JOBS_H

#include "runtime/api/Job.h"

#include "absl/time/time.h"

namespace splitcast::runtime {

/// This process's job, told by the environment: that of mpirun (or srun with PMIx); else that of RANK, WORLD_SIZE,
/// MASTER_ADDR and MASTER_PORT; else one rank alone. Called once per process; waits for all ranks of the job, in the
/// second case no longer than the timeout.
///   Errors  those of MpiRuntime::create, TcpJob::fromEnvironment and TcpJob::create.
absl::StatusOr<std::unique_ptr<Job>> createJob(absl::Duration timeout);

/// The rank that a launcher's environment gives this process, 0 without one: for messages where there is no job.
int64_t rankFromEnvironment();

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_JOB_JOBS_H
