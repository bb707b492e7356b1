#include "runtime/tcp/TcpJob.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/process/OwnFiles.h"
#include "runtime/process/ProcessHealth.h"
#include "runtime/tcp/TcpSecret.h"
#include "runtime/tcp/TcpTransport.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

constexpr absl::Duration kFarewell = absl::Seconds(2);
constexpr int64_t kMaxRanks = 1 << 16, kMaxAttempts = int64_t{1} << 62;

/// Returns the value of the first of these environment variables that is set
/// and not empty, or null.
const char *firstSet(std::initializer_list<const char *> names) {
  for (const char *name : names)
    if (const char *value = std::getenv(name); value && *value)
      return value;
  return nullptr;
}

absl::Status readNumber(const char *name, const char *text, int64_t least, int64_t most, int64_t *number) {
  if (!text)
    return absl::InvalidArgumentError(absl::StrCat("the environment says that this is one of several ranks, but ", name,
                                                   " is not set; set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, or "
                                                   "start ranks with mpirun"));
  if (!absl::SimpleAtoi(text, number) || *number < least || *number > most)
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is '", text, "'; it must be a number from ", least, " to ", most));
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<std::optional<Rendezvous>> TcpJob::fromEnvironment() {
  const char *rank = firstSet({"RANK", "SLURM_PROCID"}), *size = firstSet({"WORLD_SIZE", "SLURM_STEP_NUM_TASKS"});
  const char *host = firstSet({"MASTER_ADDR"}), *port = firstSet({"MASTER_PORT"});
  // SLURM sets its own variables for MPI jobs, too. So they alone do not ask
  // for TCP.
  if (!firstSet({"RANK"}) && !(rank && size && host && port))
    return std::nullopt;
  Rendezvous rendezvous;
  int64_t number = 0;
  SPLITCAST_RETURN_IF_ERROR(readNumber("WORLD_SIZE", size, 1, kMaxRanks, &rendezvous.size));
  SPLITCAST_RETURN_IF_ERROR(readNumber("RANK", rank, 0, rendezvous.size - 1, &rendezvous.rank));
  SPLITCAST_RETURN_IF_ERROR(readNumber("MASTER_PORT", port, 1, 65534, &number));
  if (!host)
    return readNumber("MASTER_ADDR", nullptr, 0, 0, &number);
  const char *agent = firstSet({"TORCHELASTIC_USE_AGENT_STORE"});
  rendezvous.master = {host, static_cast<int>(number) + (agent && std::strcmp(agent, "True") == 0 ? 1 : 0)};
  if (const char *attempt = firstSet({"SPLITCAST_ATTEMPT", "TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"})) {
    SPLITCAST_RETURN_IF_ERROR(readNumber("SPLITCAST_ATTEMPT", attempt, 0, kMaxAttempts, &number));
    rendezvous.attempt = static_cast<uint64_t>(number);
  }
  SPLITCAST_ASSIGN_OR_RETURN(rendezvous.secret, secretFromEnvironment());
  return rendezvous;
}

absl::StatusOr<std::unique_ptr<TcpJob>> TcpJob::create(const Rendezvous &rendezvous) {
  watchSignals();
  SPLITCAST_ASSIGN_OR_RETURN(std::vector<Socket> sockets, meet(rendezvous));
  SPLITCAST_ASSIGN_OR_RETURN(std::shared_ptr<TcpMesh> mesh, TcpMesh::create(std::move(sockets)));
  return std::unique_ptr<TcpJob>(new TcpJob(rendezvous, std::move(mesh)));
}

TcpJob::TcpJob(const Rendezvous &rendezvous, std::shared_ptr<TcpMesh> mesh)
    : self(rendezvous.rank), ranks(rendezvous.size), connections(std::move(mesh)) {}

TcpJob::~TcpJob() {
  if (processHealth().ok() && !isForkedChild())
    connections->finish(kFarewell);
}

absl::StatusOr<std::unique_ptr<Transport>> TcpJob::createTransport() {
  if (transports == kMaxTransports)
    return absl::ResourceExhaustedError(absl::StrCat("a job can have at most ", kMaxTransports, " transports"));
  std::vector<int64_t> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  return createTcpTransport(connections, all, self, ++transports);
}

void TcpJob::abortJob(int code) { _exit(code); }

} // namespace splitcast::runtime
