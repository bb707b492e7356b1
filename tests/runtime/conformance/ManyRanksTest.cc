//===- ManyRanksTest.cc - Exchanges whose texts are sent on ------------------------===//
//
// Beyond 8 ranks, texts reach a rank through others: at numbers of ranks around the powers of 8, each rank gets each
// text, and messages do not grow with the square of the ranks.
//
//===----------------------------------------------------------------------===//
#include "runtime/host/communicator/HostCommunicator.h"
#include "runtime/host/communicator/ThreadTransport.h"

#include "absl/strings/match.h"
#include <gtest/gtest.h>

#include <thread>

namespace splitcast::runtime {
namespace {

/// Runs `body` on each rank, in threads of their own. Returns how many messages rank 0 sent.
int64_t runRanks(int64_t size, const HostCommunicatorOptions &options,
                 const std::function<void(Communicator &ranks)> &body) {
  std::vector<std::unique_ptr<Transport>> transports = createThreadTransports(size);
  std::vector<const Transport *> counted;
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (std::unique_ptr<Transport> &transport : transports) {
    counted.push_back(transport.get());
    communicators.push_back(createHostCommunicator(std::move(transport), options));
  }
  std::vector<std::thread> threads;
  for (std::unique_ptr<Communicator> &ranks : communicators)
    threads.emplace_back([&body, &ranks] { body(*ranks); });
  for (std::thread &thread : threads)
    thread.join();
  return countersOf(*counted.front()).sentMessages;
}

std::string textOf(int64_t rank, int64_t scale) {
  return std::string(rank % 5 * scale, static_cast<char>('a' + rank % 26)) + std::to_string(rank);
}

TEST(ManyRanks, EachGetsEachText) {
  for (int64_t size : {7, 8, 9, 10, 15, 16, 17, 63, 64, 65, 67})
    for (int64_t scale : {0, 3, 1 << 16}) { // at the last one, the texts are longer than what is sent on
      const int64_t messages = runRanks(size, {}, [&](Communicator &ranks) {
        absl::StatusOr<std::vector<std::string>> all = ranks.exchange(textOf(ranks.rank(), scale), {"texts"});
        ASSERT_TRUE(all.ok()) << all.status();
        ASSERT_EQ(static_cast<int64_t>(all->size()), size);
        for (int64_t rank = 0; rank < size; ++rank)
          EXPECT_TRUE((*all)[rank] == textOf(rank, scale)) << rank << " of " << size << " on " << ranks.rank();
      });
      if (scale <= 3) {
        EXPECT_LE(messages,
                  size <= 8 ? 2 * (size - 1) : 2 * (7 + std::min<int64_t>(7, (size - 1) / 8) + (size - 1) / 64));
      }
    }
}

// The ranks at both sides of the difference find it, wherever they are.
TEST(ManyRanks, ADifferentCallIsAnErrorOfAll) {
  runRanks(20, {absl::Seconds(20)}, [](Communicator &ranks) {
    const absl::Status status = ranks.exchange("text", {ranks.rank() == 11 ? "another" : "texts"}).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << ranks.rank() << ": " << status;
  });
}

// Those that wait for the rank that is late name it; those that wait for these say so.
TEST(ManyRanks, ALateRankIsNamed) {
  std::vector<absl::Status> found(20);
  runRanks(20, {absl::Milliseconds(300)}, [&](Communicator &ranks) {
    if (ranks.rank() != 11)
      found[ranks.rank()] = ranks.exchange("text", {"texts"}).status();
  });
  int named = 0;
  for (int64_t rank = 0; rank < 20; ++rank) {
    if (rank == 11)
      continue;
    EXPECT_TRUE(absl::IsDeadlineExceeded(found[rank])) << rank << ": " << found[rank];
    EXPECT_TRUE(absl::StrContains(found[rank].message(), ", or for ranks for which these wait, with no answer;"));
    named += absl::StrContains(found[rank].message(), "rank 11,") || absl::StrContains(found[rank].message(), " 11,");
  }
  EXPECT_GE(named, 7);
}

} // namespace
} // namespace splitcast::runtime
