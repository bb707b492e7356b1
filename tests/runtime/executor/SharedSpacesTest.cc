// Spaces of which ranks have one copy: who has one, and that nobody reads what another overwrites.
#include "runtime/executor/Executor.h"
#include "runtime/host/HostDevice.h"
#include "runtime/host/communicator/HostCommunicator.h"
#include "runtime/host/communicator/ThreadTransport.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>
#include <thread>

namespace splitcast::runtime {
namespace {

constexpr int64_t kRanks = 3;
constexpr int64_t kBlock = 64; // bytes

/// A step: reads all of @w, which becomes the output; meets; writes this rank's block, from the input; gathers.
constexpr char kPlan[] = R"(
module attributes {ccl.rank = $RANK, ccl.ranks = 3} {
  exec.space @persistent 64 bytes kept
  exec.space @shared_dp 192 bytes kept shared by @dp
  exec.space @arena 1024 bytes
  exec.group @dp ranks [0, 1, 2] index $RANK
  exec.storage @w : tensor<48xf32> in <shared_dp, 0, 192> holds [] at []
  exec.plan @step attributes {input_types = [tensor<16xf32>], input_names = ["x"], inputs = [#exec.range<arena, 0, 64>],
    output_types = [tensor<48xf32>], output_names = ["y"], outputs = [#exec.range<arena, 64, 192>]} {
    exec.copy <shared_dp, 0, 192> to <arena, 64, 192>
    exec.clear <arena, 256, 64>
    exec.collective all_reduce "met" in @dp ticket 0 {blocks = array<i64: 1>, data = #exec.range<arena, 256, 4>, type = f32, workspace = #exec.range<arena, 320, 512>}
    $MORE
    exec.wait 0
    exec.copy <arena, 0, 64> to <shared_dp, $OWN, 64>
    exec.collective all_gather "w" in @dp ticket 1 {blocks = array<i64: 16>, data = #exec.range<shared_dp, 0, 192>, type = f32}
    exec.wait 1
  }
})";

std::string planOf(int64_t rank, const std::string &more = "") {
  return absl::StrReplaceAll(kPlan,
                             {{"$RANK", absl::StrCat(rank)}, {"$OWN", absl::StrCat(rank * kBlock)}, {"$MORE", more}});
}

/// As another; but nobody can join memory through it.
class JoinlessTransport final : public Transport {
public:
  explicit JoinlessTransport(std::unique_ptr<Transport> inner) : inner(std::move(inner)) {}
  int64_t rank() const override { return inner->rank(); }
  int64_t size() const override { return inner->size(); }
  absl::StatusOr<std::unique_ptr<Message>> send(int64_t to, int tag, const std::byte *data, int64_t bytes,
                                                const Frame &frame) override {
    return inner->send(to, tag, data, bytes, frame);
  }
  absl::StatusOr<std::unique_ptr<Message>> receive(int64_t from, int tag, std::byte *data, int64_t bytes,
                                                   const Frame &frame) override {
    return inner->receive(from, tag, data, bytes, frame);
  }
  absl::StatusOr<std::unique_ptr<SharedMemory>> createShared(int64_t bytes, std::string &place) override {
    return inner->createShared(bytes, place);
  }
  absl::StatusOr<std::unique_ptr<SharedMemory>> joinShared(int64_t, const std::string &, int64_t) override {
    return absl::UnavailableError("no room");
  }
  absl::Status health() override { return inner->health(); }
  absl::StatusOr<std::unique_ptr<Transport>> split(const std::vector<int64_t> &ranks) override {
    auto group = inner->split(ranks);
    if (!group.ok())
      return group.status();
    return std::make_unique<JoinlessTransport>(*std::move(group));
  }

private:
  std::unique_ptr<Transport> inner;
};

/// What a rank found.
struct Found {
  int64_t sharedBytes = -1;
  std::byte *place = nullptr;
  std::string error, whyNotShared;
};

/// Runs the step five times on all ranks, of which one is late, and compares what they read.
std::vector<Found> runOnRanks(const std::vector<std::string> &plans, bool sharesMemory, int64_t joinless = -1,
                              bool needsOneCopy = false) {
  std::vector<Found> found(kRanks);
  auto transports = createThreadTransports(kRanks, sharesMemory);
  if (joinless >= 0)
    transports[joinless] = std::make_unique<JoinlessTransport>(std::move(transports[joinless]));
  auto run = [&](int64_t rank) -> absl::Status {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    context.loadDialect<exec::ExecDialect, sbp::SbpDialect>();
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(plans[rank], &context);
    if (!module)
      return absl::InvalidArgumentError("the plan is wrong");
    HostCommunicatorOptions options;
    options.timeout = absl::Seconds(20);
    auto communicator = createHostCommunicator(std::move(transports[rank]), options);
    auto device = createHostDevice({});
    auto executor = Executor::bind(*module, *device, *communicator, nullptr, needsOneCopy);
    if (!executor.ok() || !*executor)
      return executor.ok() ? absl::NotFoundError("no one copy") : executor.status();
    found[rank].sharedBytes = (*executor)->sharedBytes();
    found[rank].whyNotShared = (*executor)->whyNotShared();
    found[rank].place = (*executor)->space("shared_dp").data;
    const auto bytes = [&](int64_t offset, int64_t count) {
      return (*executor)->resolve(
          exec::RangeAttr::get(&context, mlir::StringAttr::get(&context, "arena"), offset, count));
    };
    for (int64_t step = 0; step < 5; ++step) {
      std::fill_n(bytes(0, kBlock).data, kBlock, std::byte(10 * step + rank + 1));
      if (rank == step % kRanks)
        absl::SleepFor(absl::Milliseconds(20));
      if (absl::Status status = (*executor)->run("step"); !status.ok())
        return status;
      for (int64_t i = 0; i < kRanks * kBlock; ++i)
        if (const std::byte read = bytes(64, kRanks * kBlock).data[i],
            expected = step == 0 ? std::byte{0} : std::byte(10 * (step - 1) + i / kBlock + 1);
            read != expected)
          return absl::DataLossError(absl::StrCat("step ", step, ": byte ", i, " is ", static_cast<int>(read), ", not ",
                                                  static_cast<int>(expected)));
    }
    return absl::OkStatus();
  };
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] { found[rank].error = std::string(run(rank).message()); });
  for (std::thread &thread : threads)
    thread.join();
  return found;
}

std::vector<std::string> plansOfAll() { return {planOf(0), planOf(1), planOf(2)}; }

TEST(SharedSpaces, RanksHaveOneCopy) {
  const std::vector<Found> found = runOnRanks(plansOfAll(), /*sharesMemory=*/true);
  for (const Found &rank : found) {
    EXPECT_EQ(rank.error, "");
    EXPECT_EQ(rank.sharedBytes, 192);
    EXPECT_EQ(rank.place, found[0].place);
  }
}

TEST(SharedSpaces, RanksWithNoMemoryInCommonHaveOneEach) {
  const std::vector<Found> found = runOnRanks(plansOfAll(), /*sharesMemory=*/false);
  for (const Found &rank : found) {
    EXPECT_EQ(rank.error, "");
    EXPECT_EQ(rank.sharedBytes, 0);
  }
  EXPECT_NE(found[0].place, found[1].place);
}

TEST(SharedSpaces, RanksOfWhichOneCannotHaveOneEach) {
  for (const Found &rank : runOnRanks(plansOfAll(), /*sharesMemory=*/true, /*joinless=*/2)) {
    EXPECT_EQ(rank.error, "");
    EXPECT_EQ(rank.sharedBytes, 0);
    EXPECT_EQ(rank.whyNotShared, "sharing space @shared_dp: rank 2 cannot share the memory: no room");
  }
}

// Unless a copy each is too much: then nobody gets so far as to allocate one. Where no memory is in common, and where
// one copy can be had, that changes nothing.
TEST(SharedSpaces, OneCopyMayBeNeeded) {
  for (const Found &rank : runOnRanks(plansOfAll(), /*sharesMemory=*/true, /*joinless=*/2, /*needsOneCopy=*/true))
    EXPECT_EQ(rank.error, "no one copy");
  for (bool sharesMemory : {false, true})
    for (const Found &rank : runOnRanks(plansOfAll(), sharesMemory, /*joinless=*/-1, /*needsOneCopy=*/true)) {
      EXPECT_EQ(rank.error, "");
      EXPECT_EQ(rank.sharedBytes > 0, sharesMemory);
    }
}

// Each rank for itself is right, but they meet elsewhere: rank 1 reads until behind the collective in which the others
// meet, and meets in the next.
TEST(SharedSpaces, RanksThatMeetElsewhereHaveOneEach) {
  const std::string late = R"(exec.wait 0
    exec.copy <shared_dp, 0, 192> to <arena, 64, 192>
    exec.collective all_reduce "met" in @dp ticket 0 {blocks = array<i64: 1>, data = #exec.range<arena, 256, 4>, type = f32, workspace = #exec.range<arena, 320, 512>})";
  std::string early = absl::StrReplaceAll(late, {{"exec.copy <shared_dp, 0, 192> to <arena, 64, 192>", ""}});
  const std::vector<Found> found = runOnRanks({planOf(0, early), planOf(1, late), planOf(2, early)}, true);
  for (const Found &rank : found) {
    EXPECT_EQ(rank.error, "");
    EXPECT_EQ(rank.sharedBytes, 0);
  }
  for (const Found &rank : runOnRanks({planOf(0, late), planOf(1, late), planOf(2, late)}, true)) {
    EXPECT_EQ(rank.error, "");
    EXPECT_EQ(rank.sharedBytes, 192);
  }
}

} // namespace
} // namespace splitcast::runtime
