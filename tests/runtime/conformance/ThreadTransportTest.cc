//===- ThreadTransportTest.cc - Messages among threads ---------------------===//
#include "runtime/host/communicator/ThreadTransport.h"

#include <gtest/gtest.h>

namespace splitcast::runtime {
namespace {

std::byte *bytesOf(int &value) { return reinterpret_cast<std::byte *>(&value); }

// Receives get messages in the order in which they were posted, however they are tested, and by tag.
TEST(ThreadTransport, ReceivesMatchInOrderOfPosting) {
  auto ranks = createThreadTransports(2);
  int a = 0, b = 0, c = 0;
  auto first = ranks[1]->receive(0, 5, bytesOf(a), 4), second = ranks[1]->receive(0, 5, bytesOf(b), 4);
  auto other = ranks[1]->receive(0, 6, bytesOf(c), 4);
  for (auto [tag, value] : {std::pair{6, 30}, {5, 10}, {5, 20}})
    ASSERT_TRUE(ranks[0]->send(1, tag, bytesOf(value), 4).ok());
  EXPECT_TRUE(*(*second)->test() && *(*first)->test() && *(*other)->test());
  EXPECT_EQ(a, 10);
  EXPECT_EQ(b, 20);
  EXPECT_EQ(c, 30);
}

// A receive that is given up takes its message with it, before or after it has come.
TEST(ThreadTransport, AbandonedReceivesKeepTheOrder) {
  auto ranks = createThreadTransports(2);
  int none = 0, value = 0;
  {
    auto early = ranks[1]->receive(0, 5, bytesOf(none), 4);
  }
  ASSERT_TRUE(ranks[0]->send(1, 5, bytesOf(none = 10), 4).ok());
  ASSERT_TRUE(ranks[0]->send(1, 5, bytesOf(none = 20), 4).ok());
  {
    auto late = ranks[1]->receive(0, 5, bytesOf(none), 4);
  }
  ASSERT_TRUE(ranks[0]->send(1, 5, bytesOf(none = 30), 4).ok());
  auto kept = ranks[1]->receive(0, 5, bytesOf(value), 4);
  EXPECT_TRUE(*(*kept)->test());
  EXPECT_EQ(value, 30);
}

TEST(ThreadTransport, CountsOverSplits) {
  auto ranks = createThreadTransports(3);
  auto pair2 = ranks[2]->split({2, 0}), pair0 = ranks[0]->split({2, 0});
  EXPECT_EQ((*pair2)->rank(), 0);
  EXPECT_EQ((*pair0)->rank(), 1);
  int value = 7, got = 0;
  ASSERT_TRUE((*pair2)->send(1, 0, bytesOf(value), 4).ok());
  ASSERT_TRUE(ranks[2]->send(1, 0, nullptr, 0).ok());
  auto message = (*pair0)->receive(0, 0, bytesOf(got), 4);
  EXPECT_TRUE(*(*message)->test());
  EXPECT_EQ(got, 7);
  EXPECT_EQ(countersOf(*ranks[2]).sentBytes, 4);
  EXPECT_EQ(countersOf(**pair2).sentMessages, 2);
  EXPECT_EQ(countersOf(*ranks[0]).sentMessages, 0);
}

// What a rank sent before it was lost still arrives; nothing else does.
TEST(ThreadTransport, LostRank) {
  auto ranks = createThreadTransports(2);
  int value = 1, got = 0;
  ASSERT_TRUE(ranks[0]->send(1, 0, bytesOf(value), 4).ok());
  markLost(*ranks[1], 0);
  auto first = ranks[1]->receive(0, 0, bytesOf(got), 4), second = ranks[1]->receive(0, 0, bytesOf(got), 4);
  EXPECT_TRUE((*first)->test().ok());
  EXPECT_EQ((*second)->test().status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ranks[1]->send(0, 0, bytesOf(value), 4).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ranks[0]->health().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ranks[1]->health(), absl::OkStatus());
}

TEST(ThreadTransport, WrongCalls) {
  auto ranks = createThreadTransports(2);
  int value = 0;
  for (auto [peer, tag, bytes] : {std::tuple{0, 0, 4}, {2, 0, 4}, {-1, 0, 4}, {1, -1, 4}, {1, 32768, 4}, {1, 0, -1}}) {
    EXPECT_EQ(ranks[0]->send(peer, tag, bytesOf(value), bytes).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(ranks[0]->receive(peer, tag, bytesOf(value), bytes).status().code(), absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(ranks[0]->split({1}).status().code(), absl::StatusCode::kInvalidArgument);
  auto message = ranks[1]->receive(0, 0, bytesOf(value), 3);
  ASSERT_TRUE(ranks[0]->send(1, 0, bytesOf(value), 4).ok());
  for (int time = 0; time < 2; ++time) // the error stays
    EXPECT_EQ((*message)->test().status().code(), absl::StatusCode::kInvalidArgument) << time;
}

TEST(ThreadTransport, NoMoreMemoryIsJoinedThanThereIs) {
  auto ranks = createThreadTransports(2, /*sharesMemory=*/true);
  std::string place;
  auto created = ranks[0]->createShared(100, place);
  ASSERT_TRUE(created.ok() && *created);
  auto joined = ranks[1]->joinShared(0, place, 100);
  ASSERT_TRUE(joined.ok()) << joined.status();
  EXPECT_EQ((*joined)->buffer().data, (*created)->buffer().data);
  EXPECT_EQ(ranks[1]->joinShared(0, place, 1000).status().code(), absl::StatusCode::kInvalidArgument);
}

} // namespace
} // namespace splitcast::runtime
