//===- Jobs.h - The job of this process ---------------------------------------===//
#ifndef SPLITCAST_RUNTIME_JOB_JOBS_H
#define SPLITCAST_RUNTIME_JOB_JOBS_H

#include "runtime/api/Job.h"

#include "absl/time/time.h"

#include <functional>

namespace splitcast::runtime {

/// Returns this process's job, as the environment tells. It is the job of mpirun (or srun with PMIx); without these,
/// the job of RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT (TcpJob.h); without these, one rank alone. Call it once per
/// process. It waits up to `timeout` for all ranks of the job; beyond it, the first job ends this process (MpiRuntime.h
/// says how), the second returns an error. Under torchrun, this process gets SIGTERM when its parent dies.
///   Errors  those of MpiRuntime::create, TcpJob::fromEnvironment and TcpJob::create.
absl::StatusOr<std::unique_ptr<Job>> createJob(absl::Duration timeout,
                                               std::function<void(const absl::Status &)> endProcess);

/// Returns the rank that a launcher's environment gives this process, or 0 without a launcher. It serves messages when
/// there is no job.
int64_t rankFromEnvironment();

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_JOB_JOBS_H
