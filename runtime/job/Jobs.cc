#include "runtime/job/Jobs.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/mpi/MpiRuntime.h"
#include "runtime/tcp/TcpJob.h"

#include "absl/strings/numbers.h"

#include <csignal>
#include <cstdlib>
#include <sys/prctl.h>

namespace splitcast::runtime {

namespace {

/// Makes this process end, as by SIGTERM, when torchrun's agent dies, which
/// otherwise leaves its ranks behind. (mpirun ends its own, and so does
/// splitcast.launch. What started other processes may be meant to end first.)
void endWithAgent() {
  if (std::getenv("TORCHELASTIC_RUN_ID"))
    prctl(PR_SET_PDEATHSIG, SIGTERM);
}

} // namespace

absl::StatusOr<std::unique_ptr<Job>> createJob(absl::Duration timeout,
                                               std::function<void(const absl::Status &)> endProcess) {
  if (!MpiRuntime::isLaunched()) {
    SPLITCAST_ASSIGN_OR_RETURN(std::optional<Rendezvous> rendezvous, TcpJob::fromEnvironment());
    if (rendezvous.has_value()) {
      rendezvous->timeout = timeout;
      endWithAgent();
      return TcpJob::create(*rendezvous);
    }
  }
  return MpiRuntime::create(timeout, std::move(endProcess));
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
