// The backend for ranks that compute on GPUs: one each or, if asked for,
// several on one. It is a library of its own (LaunchPlugin.h).
#include "compiler/launch/LaunchPlugin.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/nccl/NcclCommunicator.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

namespace splitcast {
namespace {

/// What the environment asks for. It must be the same on all ranks: they would
/// wait for each other in different collectives, or compute different bits.
struct Settings {
  bool sharesGpus = false, usesWindows = false, ncclSums = false, allowsTf32 = false, capturesGraphs = true;
  double timedGflop = std::numeric_limits<double>::infinity();
  int64_t roundKib = runtime::NcclCommunicatorOptions().roundBytes >> 10;

  /// Returns the variables with their values, which have no blanks.
  std::vector<std::string> words() const {
    return {absl::StrCat("SPLITCAST_SHARE_GPUS=", sharesGpus ? 1 : 0),
            absl::StrCat("SPLITCAST_NCCL_WINDOWS=", usesWindows ? 1 : 0),
            absl::StrCat("SPLITCAST_NCCL_SUMS=", ncclSums ? 1 : 0),
            absl::StrCat("SPLITCAST_TF32=", allowsTf32 ? 1 : 0),
            absl::StrCat("SPLITCAST_CUDA_GRAPHS=", capturesGraphs ? 1 : 0),
            absl::StrCat("SPLITCAST_TIME_PRODUCTS=", timedGflop),
            absl::StrCat("SPLITCAST_NCCL_ROUND_KIB=", roundKib)};
  }
};

bool is(const char *variable, const char *wanted) {
  const char *value = std::getenv(variable);
  return value && std::string(value) == wanted;
}

absl::StatusOr<Settings> readSettings() {
  Settings settings;
  settings.sharesGpus = is("SPLITCAST_SHARE_GPUS", "1");
  settings.usesWindows = is("SPLITCAST_NCCL_WINDOWS", "1");
  settings.ncclSums = is("SPLITCAST_NCCL_SUMS", "1");
  settings.allowsTf32 = is("SPLITCAST_TF32", "1");
  settings.capturesGraphs = !is("SPLITCAST_CUDA_GRAPHS", "0");
  const char *text = std::getenv("SPLITCAST_TIME_PRODUCTS");
  if (text && *text && (!absl::SimpleAtod(text, &settings.timedGflop) || !(settings.timedGflop >= 0)))
    return absl::InvalidArgumentError(absl::StrCat("SPLITCAST_TIME_PRODUCTS is '", text,
                                                   "'; it must be a number that is not negative: the least GFLOP of ",
                                                   "products that are timed"));
  const int64_t most = settings.roundKib;
  text = std::getenv("SPLITCAST_NCCL_ROUND_KIB");
  if (text && *text &&
      (!absl::SimpleAtoi(text, &settings.roundKib) || settings.roundKib < 1 || settings.roundKib > most))
    return absl::InvalidArgumentError(absl::StrCat("SPLITCAST_NCCL_ROUND_KIB is '", text, "'; it must be from 1 to ",
                                                   most, ": the KiB that a sum over ranks receives in a round"));
  return settings;
}

/// Returns the number of the GPU that this rank chooses.
absl::StatusOr<int> chooseDevice(const LaunchBackendOptions &options) {
  const int devices = runtime::countCudaDevices();
  if (devices == 0)
    return absl::FailedPreconditionError("this process sees no GPU, or its driver is too old; check nvidia-smi and "
                                         "CUDA_VISIBLE_DEVICES, or run with --device=cpu");
  return static_cast<int>(options.localRank % devices); // each rank may see a GPU of its own
}

/// What each rank says of itself: its settings and, last, its GPU's id.
using Words = std::vector<std::vector<std::string>>;

/// All ranks get the same result, or the same error.
absl::Status haveSameSettings(const Words &ranks) {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].size() < 2)
      return absl::FailedPreconditionError(absl::StrCat("rank ", rank, " could not set up its device; see its error"));
    for (size_t word = 0; word + 1 < std::min(ranks[0].size(), ranks[rank].size()); ++word)
      if (ranks[rank][word] != ranks[0][word])
        return absl::FailedPreconditionError(absl::StrCat("rank 0 has ", ranks[0][word], ", but rank ", rank, " has ",
                                                          ranks[rank][word],
                                                          "; give all ranks the same environment (mpirun: -x NAME)"));
  }
  return absl::OkStatus();
}

/// Returns whether ranks share GPUs, which is allowed if they ask for it. All
/// ranks get the same result or the same kind of error.
absl::StatusOr<bool> areShared(const Words &ranks, const Settings &settings, int64_t localRanks) {
  std::map<std::string, size_t> users;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    auto [known, isNew] = users.emplace(ranks[rank].back(), rank);
    if (!isNew && !settings.sharesGpus)
      return absl::FailedPreconditionError(
          absl::StrCat("there are ", localRanks, " ranks on this machine, and this one sees ",
                       runtime::countCudaDevices(), " GPUs: ranks ", known->second, " and ", rank,
                       " have the same GPU; start fewer ranks, give each rank a GPU of its own ",
                       "(CUDA_VISIBLE_DEVICES), or set SPLITCAST_SHARE_GPUS=1 on all ranks to share GPUs, which is ",
                       "slow and meant for tests"));
  }
  const bool shared = users.size() < ranks.size();
  if (shared && static_cast<int64_t>(ranks.size()) != localRanks)
    return absl::UnimplementedError(
        "ranks of several machines cannot share GPUs, which is meant for tests on one machine; start fewer ranks");
  return shared;
}

/// NCCL refuses two ranks of the same host on one device. So each rank claims
/// to be a host of its own, and they communicate over sockets.
void pretendOwnHosts(int64_t localRank) {
  char machine[256] = {};
  gethostname(machine, sizeof(machine) - 1);
  setenv("NCCL_HOSTID", absl::StrCat("splitcast-", machine, "-", localRank).c_str(), 0);
  setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  setenv("NCCL_IB_DISABLE", "1", 0);
}

/// Sets the rank's device, and returns the words by which the others know it.
absl::StatusOr<std::string> makeDevice(const LaunchBackendOptions &options, Settings &settings,
                                       std::unique_ptr<runtime::Device> &made) {
  SPLITCAST_ASSIGN_OR_RETURN(settings, readSettings());
  runtime::CudaDeviceOptions device;
  SPLITCAST_ASSIGN_OR_RETURN(device.number, chooseDevice(options));
  device.capturesGraphs = settings.capturesGraphs;
  device.products.allowsTf32 = settings.allowsTf32;
  device.products.leastTimedFlops = 1e9 * settings.timedGflop;
  SPLITCAST_ASSIGN_OR_RETURN(std::string id, runtime::cudaDeviceId(device.number));
  SPLITCAST_ASSIGN_OR_RETURN(made, runtime::createCudaDevice(device));
  return absl::StrCat(absl::StrJoin(settings.words(), " "), " ", id);
}

absl::StatusOr<LaunchBackend> create(const LaunchBackendOptions &options, std::unique_ptr<runtime::Communicator> host) {
  LaunchBackend backend;
  Settings settings;
  absl::StatusOr<std::string> mine = makeDevice(options, settings, backend.device);
  // A rank without a GPU must not leave the others waiting for it in NCCL.
  absl::StatusOr<std::vector<std::string>> all = host->exchange(mine.ok() ? *mine : "", {"choice of GPUs"});
  SPLITCAST_RETURN_IF_ERROR(mine.status());
  SPLITCAST_RETURN_IF_ERROR(all.status());
  Words ranks;
  for (const std::string &rank : *all)
    ranks.push_back(absl::StrSplit(rank, ' '));
  SPLITCAST_RETURN_IF_ERROR(haveSameSettings(ranks));
  SPLITCAST_ASSIGN_OR_RETURN(bool shared, areShared(ranks, settings, options.localRanks));
  if (shared)
    pretendOwnHosts(options.localRank);
  // With this, the communicators of several streams start their work in the
  // order of the plan, also within a captured graph.
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);
  runtime::avoidKnownNcclDefects();
  runtime::NcclCommunicatorOptions nccl;
  nccl.timeout = options.timeout;
  nccl.deterministic = !settings.ncclSums;
  nccl.usesWindows = settings.usesWindows && !shared; // sockets copy the data anyway
  nccl.roundBytes = settings.roundKib << 10;
  nccl.onStuck = options.endProcess;
  SPLITCAST_ASSIGN_OR_RETURN(backend.communicator, runtime::createNcclCommunicator(std::move(host), nccl));
  return backend;
}

} // namespace
} // namespace splitcast

/// The LaunchPluginEntry.
extern "C" void splitcast_launch_backend(const splitcast::LaunchBackendOptions *options,
                                         std::unique_ptr<splitcast::runtime::Communicator> *host,
                                         absl::StatusOr<splitcast::LaunchBackend> *result) {
  *result = splitcast::create(*options, std::move(*host));
}
