#include "runtime/api/WithoutCollectives.h"

#include "runtime/host/HostDevice.h"
#include "runtime/host/communicator/HostCommunicator.h"
#include "runtime/host/communicator/ThreadTransport.h"

#include <array>
#include <gtest/gtest.h>
#include <thread>

namespace splitcast::runtime {
namespace {

constexpr int64_t kRanks = 3;

Buffer bufferOf(std::array<float, kRanks> &values) {
  return {reinterpret_cast<std::byte *>(values.data()), static_cast<int64_t>(sizeof(values))};
}

/// On each rank: what a plan starts is over at once and changes nothing, though no other rank ever starts it; what is
/// called by name is done.
absl::Status check(Communicator &ranks, Stream &stream) {
  const float mine = static_cast<float>(ranks.rank() + 1);
  std::array<float, kRanks> values = {mine, mine, mine};
  std::vector<std::byte> workspace(1 << 16);
  ccl::CollectiveCall call{ccl::CollectiveKind::AllReduce, ranks.size(), ranks.rank(), {kRanks}};
  call.elementBytes = sizeof(float);
  const PreparedCollective sum(call, ElementType::F32, bufferOf(values), {},
                               {workspace.data(), static_cast<int64_t>(workspace.size())});
  for (int64_t times = 0; times <= ranks.rank(); ++times) {
    absl::StatusOr<Event> event = ranks.start(sum, stream, {"a sum"});
    absl::Status status = event.ok() ? (*event)->wait() : event.status();
    if (!status.ok())
      return status;
  }
  if (values != std::array<float, kRanks>{mine, mine, mine})
    return absl::DataLossError("a collective that is taken out has changed its data");
  if (absl::Status status = ranks.barrier({"a barrier"}); !status.ok())
    return status;
  std::array<float, kRanks> gathered = {mine, mine, mine};
  const std::vector<int64_t> blocks(ranks.size(), sizeof(float));
  absl::StatusOr<Event> event =
      ranks.allGather(bufferOf(gathered).slice(0, ranks.size() * sizeof(float)), blocks, stream, {"a gather"});
  absl::Status status = event.ok() ? (*event)->wait() : event.status();
  if (!status.ok())
    return status;
  for (int64_t rank = 0; rank < ranks.size(); ++rank)
    if (gathered[rank] != static_cast<float>(rank + 1))
      return absl::DataLossError("a gather that was called by its name was not done");
  return absl::OkStatus();
}

TEST(WithoutCollectives, OnlyWhatPlansStartIsTakenOut) {
  auto transports = createThreadTransports(kRanks, /*sharesMemory=*/false);
  std::vector<std::string> errors(kRanks);
  auto run = [&](int64_t rank) -> absl::Status {
    HostCommunicatorOptions options;
    options.timeout = absl::Seconds(20);
    auto device = createHostDevice({});
    auto stream = device->createStream("compute");
    if (!stream.ok())
      return stream.status();
    auto ranks = withoutCollectives(createHostCommunicator(std::move(transports[rank]), options));
    if (absl::Status status = check(*ranks, **stream); !status.ok())
      return status;
    const std::vector<std::vector<int64_t>> groups = {{0, 1}, {2}};
    auto part = ranks->split(groups[rank / 2], {"a part"});
    return part.ok() ? check(**part, **stream) : part.status();
  };
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] { errors[rank] = std::string(run(rank).message()); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(errors, std::vector<std::string>(kRanks));
}

} // namespace
} // namespace splitcast::runtime
