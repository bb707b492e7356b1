// The backend for ranks that compute on GPUs: one each or, if asked for,
// several on one. It is a library of its own (LaunchPlugin.h).
#include "compiler/launch/LaunchPlugin.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/nccl/NcclCommunicator.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <unistd.h>

namespace splitcast {
namespace {

bool is(const char *variable, const char *wanted) {
  const char *value = std::getenv(variable);
  return value && std::string(value) == wanted;
}

bool isSet(const char *variable) { return is(variable, "1"); }

const int64_t kMostRoundBytes = runtime::NcclCommunicatorOptions().roundBytes;

/// Returns the MiB that a sum receives in a round.
absl::StatusOr<int64_t> roundMib() {
  const char *text = std::getenv("SPLITCAST_NCCL_ROUND_MIB");
  int64_t mib = kMostRoundBytes >> 20;
  if (text && *text && (!absl::SimpleAtoi(text, &mib) || mib < 1 || mib > kMostRoundBytes >> 20))
    return absl::InvalidArgumentError(absl::StrCat("SPLITCAST_NCCL_ROUND_MIB is '", text, "'; it must be from 1 to ",
                                                   kMostRoundBytes >> 20,
                                                   ": the MiB that a sum over ranks receives in a round"));
  return mib;
}

/// Returns what a rank tells the others: the GPU that it chooses, and what its
/// environment asks for. Sets `number` to the GPU's number.
absl::StatusOr<std::string> chosenDevice(const LaunchBackendOptions &options, int *number) {
  const int devices = runtime::countCudaDevices();
  if (devices == 0)
    return absl::FailedPreconditionError("this process sees no GPU, or its driver is too old; check nvidia-smi and "
                                         "CUDA_VISIBLE_DEVICES, or run with --device=cpu");
  SPLITCAST_ASSIGN_OR_RETURN(int64_t mib, roundMib());
  *number = static_cast<int>(options.localRank % devices); // each rank may see a GPU of its own
  SPLITCAST_ASSIGN_OR_RETURN(std::string id, runtime::cudaDeviceId(*number));
  return absl::StrCat(isSet("SPLITCAST_SHARE_GPUS") ? "shares " : "- ",
                      isSet("SPLITCAST_NCCL_WINDOWS") ? "windows " : "- ", "round=", mib, " ", id);
}

/// Returns the fewest bytes of a round that a rank asks for.
int64_t leastRoundBytes(const std::vector<std::string> &devices) {
  int64_t least = kMostRoundBytes;
  for (const std::string &device : devices)
    for (absl::string_view word : absl::StrSplit(device, ' '))
      if (int64_t mib = 0; absl::ConsumePrefix(&word, "round=") && absl::SimpleAtoi(word, &mib))
        least = std::min(least, mib << 20);
  return least;
}

bool allSay(const std::vector<std::string> &devices, const char *word) {
  return std::all_of(devices.begin(), devices.end(),
                     [&](const std::string &device) { return absl::StrContains(device, word); });
}

/// Returns whether ranks share GPUs, which is allowed if all ask for it. All
/// ranks get the same result or the same kind of error.
absl::StatusOr<bool> areShared(const std::vector<std::string> &devices, int64_t localRanks) {
  std::map<std::string, size_t> users;
  for (size_t rank = 0; rank < devices.size(); ++rank) {
    if (devices[rank].empty())
      return absl::FailedPreconditionError(absl::StrCat("rank ", rank, " has no GPU to use; see its error"));
    auto [known, isNew] = users.emplace(devices[rank].substr(devices[rank].rfind(' ')), rank);
    if (!isNew && !allSay(devices, "shares "))
      return absl::FailedPreconditionError(
          absl::StrCat("there are ", localRanks, " ranks on this machine, and this one sees ",
                       runtime::countCudaDevices(), " GPUs: ranks ", known->second, " and ", rank,
                       " have the same GPU; start fewer ranks, give each rank a GPU of its own ",
                       "(CUDA_VISIBLE_DEVICES), or set SPLITCAST_SHARE_GPUS=1 on all ranks to share GPUs, which is ",
                       "slow and meant for tests"));
  }
  const bool shared = users.size() < devices.size();
  if (shared && static_cast<int64_t>(devices.size()) != localRanks)
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

absl::StatusOr<std::unique_ptr<runtime::Device>> makeDevice(int number) {
  runtime::CudaDeviceOptions device;
  device.number = number;
  device.capturesGraphs = !is("SPLITCAST_CUDA_GRAPHS", "0");
  device.products.allowsTf32 = isSet("SPLITCAST_TF32");
  if (const char *text = std::getenv("SPLITCAST_TIME_PRODUCTS"); text && *text) {
    double least = 0;
    if (!absl::SimpleAtod(text, &least) || !(least >= 0))
      return absl::InvalidArgumentError(absl::StrCat("SPLITCAST_TIME_PRODUCTS is '", text,
                                                     "'; it must be a number that is not negative: the least GFLOP of ",
                                                     "products that are timed"));
    device.products.leastTimedFlops = 1e9 * least;
  }
  return runtime::createCudaDevice(device);
}

absl::StatusOr<LaunchBackend> create(const LaunchBackendOptions &options, std::unique_ptr<runtime::Communicator> host) {
  LaunchBackend backend;
  int number = 0;
  absl::StatusOr<std::string> chosen = chosenDevice(options, &number);
  absl::Status status = chosen.status();
  if (status.ok()) {
    absl::StatusOr<std::unique_ptr<runtime::Device>> made = makeDevice(number);
    status = made.status();
    if (made.ok())
      backend.device = *std::move(made);
  }
  // A rank without a GPU must not leave the others waiting for it in NCCL.
  absl::StatusOr<std::vector<std::string>> all = host->exchange(status.ok() ? *chosen : "", {"choice of GPUs"});
  if (!status.ok() || !all.ok())
    return status.ok() ? all.status() : status;
  SPLITCAST_ASSIGN_OR_RETURN(bool shared, areShared(*all, options.localRanks));
  if (shared)
    pretendOwnHosts(options.localRank);
  // With this, the communicators of several streams start their work in the
  // order of the plan, also within a captured graph.
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", 0);
  runtime::avoidKnownNcclDefects();
  runtime::NcclCommunicatorOptions nccl;
  nccl.timeout = options.timeout;
  nccl.deterministic = !isSet("SPLITCAST_NCCL_SUMS");
  nccl.usesWindows = allSay(*all, "windows ") && !shared; // sockets copy the data anyway
  nccl.roundBytes = leastRoundBytes(*all);
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
