#include "runtime/mpi/MpiRuntime.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/mpi/MpiTransport.h"
#include "runtime/process/Patience.h"
#include "runtime/process/ProcessHealth.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <chrono>
#include <cstdlib>
#include <future>
#include <optional>
#include <thread>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

/// Returns how many ranks the launcher started, or 0 if it does not say.
/// Without a launcher it returns nullopt.
std::optional<int64_t> launchedRanks() {
  // A batch script that srun did not start has SLURM_PROCID, too.
  const bool bySlurm = std::getenv("SLURM_PROCID") && std::getenv("SLURM_STEP_NUM_TASKS");
  if (!bySlurm && !MpiRuntime::isLaunched())
    return std::nullopt;
  for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    int64_t ranks = 0;
    if (const char *text = std::getenv(name); text && absl::SimpleAtoi(text, &ranks))
      return ranks;
  }
  return 0;
}

/// While it lives, limits how long MPI may wait for other ranks.
class MeetingLimit {
public:
  MeetingLimit(absl::Duration limit, const MpiRuntime::EndProcess &endProcess) {
    if (limit != absl::InfiniteDuration())
      watcher = std::thread([this, limit, &endProcess] { watch(limit, endProcess); });
  }
  ~MeetingLimit() {
    met.set_value();
    if (watcher.joinable())
      watcher.join();
  }

private:
  void watch(absl::Duration limit, const MpiRuntime::EndProcess &endProcess) {
    const std::future<void> all = met.get_future();
    for (Patience patience(limit); !patience.isOver();)
      if (all.wait_for(std::chrono::milliseconds(100)) == std::future_status::ready)
        return;
    if (endProcess)
      endProcess(absl::DeadlineExceededError(
          absl::StrCat("has waited ", absl::FormatDuration(limit),
                       " for all ranks to start MPI: one has not begun, or is stopped; look for its process, or raise "
                       "--timeout")));
    _exit(1);
  }

  std::promise<void> met;
  std::thread watcher;
};

} // namespace

bool MpiRuntime::isLaunched() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMI_RANK") || std::getenv("PMIX_RANK");
}

absl::StatusOr<std::unique_ptr<MpiRuntime>> MpiRuntime::create(absl::Duration timeout, EndProcess endProcess) {
  static bool created = false;
  if (created)
    return absl::FailedPreconditionError("a process can create only one MpiRuntime, and it already has");
  created = true;
  std::unique_ptr<MpiRuntime> runtime(new MpiRuntime(timeout, std::move(endProcess)));
  std::optional<int64_t> expected = launchedRanks();
  if (expected)
    SPLITCAST_RETURN_IF_ERROR(runtime->initialize(*expected));
  // Call this after MPI_Init, which may install handlers of its own.
  watchSignals();
  return runtime;
}

absl::Status MpiRuntime::initialize(int64_t expectedRanks) {
  const MeetingLimit limit(timeout, endProcess);
  int provided = MPI_THREAD_SINGLE;
  SPLITCAST_RETURN_IF_ERROR(mpiStatus(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init"));
  state = std::make_shared<MpiState>();
  if (provided < MPI_THREAD_SERIALIZED)
    return absl::UnavailableError(
        "this MPI allows calls from the main thread only (no MPI_THREAD_SERIALIZED); use another build of MPI");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  self = rank;
  ranks = size;
  if (expectedRanks != 0 && expectedRanks != ranks)
    return absl::FailedPreconditionError(absl::StrCat("the launcher started ", expectedRanks,
                                                      " ranks, but MPI knows of ", ranks,
                                                      "; start them with mpirun, or with srun --mpi=pmix"));
  return findNode();
}

absl::Status MpiRuntime::findNode() {
  MPI_Comm node = MPI_COMM_NULL;
  int code = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  if (code != MPI_SUCCESS)
    return mpiStatus(code, "MPI_Comm_split_type");
  int rank = 0, size = 1;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &size);
  nodeRank = rank;
  nodeRanks = size;
  return mpiStatus(MPI_Comm_free(&node), "MPI_Comm_free");
}

MpiRuntime::~MpiRuntime() {
  if (!state)
    return;
  if (!state->gaveUp && processHealth().ok())
    MPI_Finalize();
  state->finalized = true;
}

absl::StatusOr<std::unique_ptr<Transport>> MpiRuntime::createTransport() {
  if (!state)
    return createSingleTransport();
  const MeetingLimit limit(timeout, endProcess);
  MPI_Comm own = MPI_COMM_NULL;
  SPLITCAST_RETURN_IF_ERROR(mpiStatus(MPI_Comm_dup(MPI_COMM_WORLD, &own), "MPI_Comm_dup"));
  return createMpiTransport(own, state);
}

void MpiRuntime::abortJob(int code) {
  if (state && !state->finalized)
    MPI_Abort(MPI_COMM_WORLD, code);
  _exit(code);
}

} // namespace splitcast::runtime
