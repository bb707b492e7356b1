#include "runtime/job/Jobs.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/mpi/MpiRuntime.h"
#include "runtime/tcp/TcpJob.h"

#include "absl/strings/numbers.h"

#include <cstdlib>

namespace splitcast::runtime {

absl::StatusOr<std::unique_ptr<Job>> createJob(absl::Duration timeout) {
  if (!MpiRuntime::isLaunched()) {
    SPLITCAST_ASSIGN_OR_RETURN(std::optional<Rendezvous> rendezvous, TcpJob::fromEnvironment());
    if (rendezvous.has_value()) {
      rendezvous->timeout = timeout;
      return TcpJob::create(*rendezvous);
    }
  }
  return MpiRuntime::create();
}

int64_t rankFromEnvironment() {
  for (const char *variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK", "SLURM_PROCID"}) {
    int64_t rank = 0;
    const char *value = std::getenv(variable);
    if (value && absl::SimpleAtoi(value, &rank))
      return rank;
  }
  return 0;
}

} // namespace splitcast::runtime
