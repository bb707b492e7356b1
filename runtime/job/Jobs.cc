#include "runtime/job/Jobs.h"

#include "runtime/mpi/MpiRuntime.h"
#include "runtime/tcp/TcpJob.h"

namespace splitcast::runtime {

absl::StatusOr<std::unique_ptr<Job>> createJob(absl::Duration timeout) {
  if (!MpiRuntime::isLaunched()) {
    absl::StatusOr<std::optional<Rendezvous>> rendezvous = TcpJob::fromEnvironment();
    if (!rendezvous.ok())
      return rendezvous.status();
    if (rendezvous->has_value()) {
      (*rendezvous)->timeout = timeout;
      return TcpJob::create(**rendezvous);
    }
  }
  return MpiRuntime::create();
}

} // namespace splitcast::runtime
