#include "tests/differential/Ranks.h"

#include "runtime/host/communicator/HostCommunicator.h"
#include "runtime/host/communicator/ThreadTransport.h"
#include "tests/gpu/EmulatedDevice.h"
#include "tests/gpu/LateDevice.h"

#include "absl/strings/str_cat.h"

#include <mutex>
#include <numeric>
#include <thread>

namespace splitcast::differential {

namespace {

DeviceMaker deviceMaker = nullptr;

/// The first failure counts: those after it are its consequences.
class FirstFailure {
public:
  void report(int64_t rank, const absl::Status &failure) {
    std::lock_guard<std::mutex> lock(mutex);
    if (status.ok())
      status = absl::Status(failure.code(), absl::StrCat("rank ", rank, ": ", failure.message()));
  }
  absl::Status get() const { return status; }

private:
  std::mutex mutex;
  absl::Status status;
};

absl::Status runRank(runtime::Transport &root, const std::string &objectCacheDir, const RankBody &body) {
  std::vector<int64_t> all(root.size());
  std::iota(all.begin(), all.end(), 0);
  absl::StatusOr<std::unique_ptr<runtime::Transport>> transport = root.split(all);
  if (!transport.ok())
    return transport.status();
  runtime::HostCommunicatorOptions options;
  options.timeout = absl::Seconds(60);
  std::unique_ptr<runtime::Communicator> communicator = runtime::createHostCommunicator(*std::move(transport), options);
  if (deviceMaker) {
    absl::StatusOr<std::unique_ptr<runtime::Device>> device = deviceMaker();
    return device.ok() ? body(**device, *communicator) : device.status();
  }
  runtime::HostDeviceOptions deviceOptions;
  deviceOptions.objectCacheDir = objectCacheDir;
  std::unique_ptr<runtime::Device> device = gpu_tests::createEmulatedDevice(deviceOptions);
  // Each rank of some three runs its streams in another order that is legal.
  const auto early = static_cast<gpu_tests::Early>(root.rank() % gpu_tests::kEarlyModes);
  std::unique_ptr<runtime::Device> late = gpu_tests::createLateDevice(*device, early);
  std::unique_ptr<runtime::Communicator> lateRanks = gpu_tests::createLateCommunicator(*communicator);
  return body(*late, *lateRanks);
}

} // namespace

void setDeviceMaker(DeviceMaker maker) { deviceMaker = maker; }

absl::Status onRanks(int64_t ranks, const std::string &objectCacheDir, const RankBody &body) {
  // An odd number of ranks have one copy of what they gather in place, an even number one each.
  std::vector<std::unique_ptr<runtime::Transport>> roots =
      runtime::createThreadTransports(ranks, /*sharesMemory=*/ranks % 2 == 1);
  FirstFailure failure;
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      absl::Status status = runRank(*roots[rank], objectCacheDir, body);
      if (status.ok())
        return;
      failure.report(rank, status);
      runtime::markLost(*roots[rank], rank);
    });
  for (std::thread &thread : threads)
    thread.join();
  return failure.get();
}

} // namespace splitcast::differential
