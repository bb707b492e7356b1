//===- TcpTest.cc - Ranks that are told who they are ------------------------===//
#include "runtime/tcp/TcpJob.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

/// How many connections, from now on, have been reset when they are asked for their peer.
static std::atomic<int> resetConnections = 0;

/// In place of the C library's.
extern "C" int getpeername(int socket, sockaddr *__restrict address, socklen_t *__restrict length) noexcept {
  if (resetConnections > 0) {
    --resetConnections;
    errno = ENOTCONN;
    return -1;
  }
  return static_cast<int>(syscall(SYS_getpeername, socket, address, length));
}

namespace splitcast::runtime {
namespace {

using Variables = std::map<std::string, std::string>;

/// The environment with these variables and none of the others that count.
absl::StatusOr<std::optional<Rendezvous>> readEnvironment(const Variables &variables) {
  for (const char *name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
                           "TORCHELASTIC_USE_AGENT_STORE"})
    unsetenv(name);
  for (const auto &[name, value] : variables)
    setenv(name.c_str(), value.c_str(), 1);
  return TcpJob::fromEnvironment();
}

TEST(TcpJob, ReadsTheEnvironment) {
  EXPECT_EQ(*readEnvironment({}), std::nullopt);
  EXPECT_EQ(*readEnvironment({{"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}}), std::nullopt);
  // Without an address these are SLURM's MPI.
  EXPECT_EQ(*readEnvironment({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}}), std::nullopt);
  Variables job = {{"RANK", "2"}, {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "here"}, {"MASTER_PORT", "29500"}};
  auto read = readEnvironment(job);
  ASSERT_TRUE(read.ok() && read->has_value()) << read.status();
  EXPECT_EQ((*read)->rank, 2);
  EXPECT_EQ((*read)->size, 3);
  EXPECT_EQ((*read)->master.text(), "here:29500");
  job["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_EQ((**readEnvironment(job)).master.port, 29501);
  Variables slurm = {{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "5"}};
  EXPECT_EQ((**readEnvironment(slurm)).rank, 1);
  EXPECT_EQ((**readEnvironment(slurm)).size, 4);
}

TEST(TcpJob, SaysWhatIsWrongWithTheEnvironment) {
  const Variables good = {{"RANK", "2"}, {"WORLD_SIZE", "3"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "29500"}};
  auto messageOf = [&](const std::string &name, const char *value) {
    Variables variables = good;
    value ? (void)(variables[name] = value) : (void)variables.erase(name);
    absl::Status status = readEnvironment(variables).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  for (const char *name : {"WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
    EXPECT_NE(messageOf(name, nullptr).find(std::string(name) + " is not set; set RANK"), std::string::npos) << name;
  EXPECT_EQ(messageOf("RANK", "3"), "RANK is '3'; it must be a number from 0 to 2");
  EXPECT_EQ(messageOf("RANK", "-1"), "RANK is '-1'; it must be a number from 0 to 2");
  EXPECT_EQ(messageOf("WORLD_SIZE", "two"), "WORLD_SIZE is 'two'; it must be a number from 1 to 65536");
  EXPECT_EQ(messageOf("MASTER_PORT", "65535"), "MASTER_PORT is '65535'; it must be a number from 1 to 65534");
}

int freePort() { return localEndpoint(*listenAt({"127.0.0.1", 0}))->port; }

/// What each of these ranks of one job was told, when all try to meet.
std::vector<absl::Status> meetAll(std::vector<Rendezvous> all, absl::Duration timeout) {
  const int port = freePort();
  std::vector<absl::Status> statuses(all.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < all.size(); ++i)
    threads.emplace_back([&, i] {
      Rendezvous rendezvous = all[i];
      rendezvous.master = {"127.0.0.1", port};
      rendezvous.timeout = timeout;
      auto job = TcpJob::create(rendezvous);
      statuses[i] = job.status();
    });
  for (std::thread &thread : threads)
    thread.join();
  return statuses;
}

void expectAll(const std::vector<absl::Status> &statuses, absl::StatusCode code, const std::string &text) {
  for (const absl::Status &status : statuses) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_NE(std::string(status.message()).find(text), std::string::npos) << status;
  }
}

TEST(TcpJob, MissingRanksAreNamedOnAllThatCame) {
  std::vector<absl::Status> statuses = meetAll({{0, 5}, {3, 5}, {1, 5}}, absl::Milliseconds(300));
  expectAll(statuses, absl::StatusCode::kUnavailable, "");
  EXPECT_NE(std::string(statuses[0].message()).find("ranks 2, 4 of 5 did not connect to 127.0.0.1:"),
            std::string::npos);
  for (int other : {1, 2})
    EXPECT_NE(std::string(statuses[other].message()).find("ranks 2, 4 of 5 did not connect"), std::string::npos);
}

TEST(TcpJob, NobodyListens) {
  expectAll(meetAll({{1, 2}}, absl::Milliseconds(200)), absl::StatusCode::kUnavailable,
            "rank 1 of 2 found no rank 0 at 127.0.0.1:");
}

TEST(TcpJob, TwoRanksOfOneNumber) {
  expectAll(meetAll({{0, 3}, {1, 3}, {1, 3}}, absl::Seconds(10)), absl::StatusCode::kInvalidArgument,
            "two processes say that they are rank 1; give each a RANK of its own");
}

TEST(TcpJob, DifferentSizes) {
  expectAll(meetAll({{0, 2}, {1, 3}}, absl::Seconds(10)), absl::StatusCode::kInvalidArgument,
            "rank 1 expects 3 ranks, but rank 0 expects 2; give all the same WORLD_SIZE");
}

// A connection that the peer resets at once is a try that failed.
TEST(TcpJob, ResetConnectionsAreTriedAgain) {
  const Endpoint master{"127.0.0.1", freePort()};
  const absl::StatusOr<Socket> listener = listenAt(master);
  ASSERT_TRUE(listener.ok()) << listener.status();
  resetConnections = 2;
  Patience patience(absl::Seconds(10));
  EXPECT_TRUE(connectTo(master, patience).ok());
  EXPECT_EQ(resetConnections, 0);
  resetConnections = 1000;
  Patience shortly(absl::Milliseconds(200));
  EXPECT_TRUE(absl::IsUnavailable(connectTo(master, shortly).status()));
  resetConnections = 0;
}

// Where each of as many ranks as there may be listens, which rank 0 tells all of them in one text.
TEST(TcpSocket, TextsHoldTheEndpointsOfAllRanks) {
  const Endpoint master{"127.0.0.1", freePort()};
  absl::StatusOr<Socket> listener = listenAt(master);
  ASSERT_TRUE(listener.ok()) << listener.status();
  std::string table;
  for (int64_t rank = 0; rank < 65536; ++rank)
    absl::StrAppend(&table, "\n65535 ", std::string(253, 'a' + rank % 26)); // DNS has no longer names
  std::thread host([&] {
    Patience patience(absl::Seconds(20));
    absl::StatusOr<Socket> guest = Socket();
    while (guest.ok() && !guest->isOpen())
      guest = acceptNext(*listener);
    EXPECT_TRUE(guest.ok() && writeText(*guest, table, patience).ok());
  });
  Patience patience(absl::Seconds(20));
  auto socket = connectTo(master, patience);
  absl::StatusOr<std::string> text = socket.ok() ? readText(*socket, patience) : socket.status();
  host.join();
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_TRUE(*text == table);
}

// Whoever else connects (a scanner of ports, say) is not taken for a rank, and does not keep ranks out.
TEST(TcpJob, StrangersAreIgnored) {
  const Endpoint master{"127.0.0.1", freePort()};
  absl::StatusOr<std::unique_ptr<TcpJob>> first, second;
  std::thread host([&] { first = TcpJob::create({0, 2, master, absl::Seconds(20)}); });
  {
    Patience patience(absl::Seconds(10));
    auto stranger = connectTo(master, patience);
    ASSERT_TRUE(stranger.ok());
    ASSERT_TRUE(writeText(*stranger, "GET / HTTP/1.1", patience).ok());
  }
  std::thread guest([&] { second = TcpJob::create({1, 2, master, absl::Seconds(20)}); });
  host.join();
  guest.join();
  EXPECT_TRUE(first.ok() && second.ok()) << first.status() << second.status();
  std::thread end([&] { *first = nullptr; });
  *second = nullptr;
  end.join();
}

/// Two ranks in one process.
struct Pair {
  Pair() {
    const Endpoint master{"127.0.0.1", freePort()};
    std::thread other([&] { jobs[1] = *TcpJob::create({1, 2, master, absl::Seconds(20)}); });
    jobs[0] = *TcpJob::create({0, 2, master, absl::Seconds(20)});
    other.join();
    for (int rank : {0, 1})
      ranks[rank] = *jobs[rank]->createTransport();
  }
  ~Pair() {
    std::thread other([&] { jobs[1] = nullptr; });
    jobs[0] = nullptr;
    other.join();
  }
  std::unique_ptr<TcpJob> jobs[2];
  std::unique_ptr<Transport> ranks[2];
};

absl::StatusOr<bool> finish(Message &message) {
  const absl::Time deadline = absl::Now() + absl::Seconds(10);
  while (absl::Now() < deadline)
    if (absl::StatusOr<bool> done = message.test(); !done.ok() || *done)
      return done;
  return false;
}

/// Tests all in turn until all are done: each moves only its own rank's bytes.
bool finishAll(const std::vector<Message *> &messages) {
  const absl::Time deadline = absl::Now() + absl::Seconds(10);
  size_t done = 0;
  while (done < messages.size() && absl::Now() < deadline)
    done = std::count_if(messages.begin(), messages.end(), [](Message *message) { return *message->test(); });
  return done == messages.size();
}

bool finishAll(const std::vector<std::unique_ptr<Message>> &messages) {
  std::vector<Message *> all;
  for (const auto &message : messages)
    all.push_back(message.get());
  return finishAll(all);
}

std::byte *bytesOf(int &value) { return reinterpret_cast<std::byte *>(&value); }

// By order and tag, whether the receive or the message was there first; of each transport its own.
TEST(TcpTransport, ReceivesMatchInOrder) {
  Pair pair;
  auto split0 = pair.ranks[0]->split({0, 1}), split1 = pair.ranks[1]->split({0, 1});
  int values[] = {10, 20, 30, 40}, got[4] = {};
  std::vector<std::unique_ptr<Message>> messages;
  messages.push_back(*pair.ranks[1]->receive(0, 5, bytesOf(got[0]), 4));
  messages.push_back(*pair.ranks[0]->send(1, 6, bytesOf(values[2]), 4));
  messages.push_back(*(*split0)->send(1, 5, bytesOf(values[3]), 4));
  messages.push_back(*pair.ranks[0]->send(1, 5, bytesOf(values[0]), 4));
  messages.push_back(*pair.ranks[0]->send(1, 5, bytesOf(values[1]), 4));
  ASSERT_TRUE(*finish(*messages[0]));
  messages.push_back(*pair.ranks[1]->receive(0, 5, bytesOf(got[1]), 4));
  messages.push_back(*pair.ranks[1]->receive(0, 6, bytesOf(got[2]), 4));
  messages.push_back(*(*split1)->receive(0, 5, bytesOf(got[3]), 4));
  EXPECT_TRUE(finishAll(messages));
  for (int i : {0, 1, 2, 3})
    EXPECT_EQ(got[i], values[i]);
}

// Both send more than the system buffers before either receives.
TEST(TcpTransport, LargeMessagesCross) {
  Pair pair;
  const int64_t bytes = int64_t{32} << 20;
  std::vector<std::byte> out[2], in[2];
  std::vector<std::unique_ptr<Message>> messages;
  for (int rank : {0, 1}) {
    out[rank].assign(bytes, std::byte(rank + 1));
    in[rank].resize(bytes);
    messages.push_back(*pair.ranks[rank]->send(1 - rank, 0, out[rank].data(), bytes));
  }
  for (int i = 0; i < 100; ++i)
    for (auto &message : messages)
      ASSERT_TRUE(message->test().ok());
  for (int rank : {0, 1})
    messages.push_back(*pair.ranks[rank]->receive(1 - rank, 0, in[rank].data(), bytes));
  EXPECT_TRUE(finishAll(messages));
  EXPECT_TRUE(in[0] == out[1] && in[1] == out[0]);
}

// A receive that is given up takes its message with it, also when half of it has come.
TEST(TcpTransport, AbandonedReceivesKeepTheOrder) {
  Pair pair;
  const int64_t bytes = int64_t{32} << 20;
  std::vector<std::byte> large(bytes);
  int value = 7, got = 0;
  auto first = *pair.ranks[0]->send(1, 0, large.data(), bytes), second = *pair.ranks[0]->send(1, 0, bytesOf(value), 4);
  {
    std::vector<std::byte> gone(bytes);
    auto abandoned = *pair.ranks[1]->receive(0, 0, gone.data(), bytes);
    ASSERT_FALSE(*abandoned->test());
  }
  auto kept = *pair.ranks[1]->receive(0, 0, bytesOf(got), 4);
  EXPECT_TRUE(finishAll({kept.get(), first.get(), second.get()}));
  EXPECT_EQ(got, 7);
}

// What a rank sent before it was lost still arrives; nothing else does.
TEST(TcpTransport, LostRank) {
  Pair pair;
  int value = 1, got = 0;
  ASSERT_TRUE(*finish(**pair.ranks[0]->send(1, 0, bytesOf(value), 4)));
  pair.jobs[0]->mesh().disconnect();
  auto first = *pair.ranks[1]->receive(0, 0, bytesOf(got), 4), second = *pair.ranks[1]->receive(0, 0, bytesOf(got), 4);
  EXPECT_TRUE(*finish(*first));
  EXPECT_EQ(got, 1);
  EXPECT_EQ(finish(*second).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(pair.ranks[0]->health().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(pair.ranks[1]->health(), absl::OkStatus());
}

TEST(TcpTransport, WrongCalls) {
  Pair pair;
  int value = 0;
  for (auto [peer, tag, bytes] : {std::tuple{0, 0, 4}, {2, 0, 4}, {-1, 0, 4}, {1, -1, 4}, {1, 32768, 4}, {1, 0, -1}}) {
    EXPECT_EQ(pair.ranks[0]->send(peer, tag, bytesOf(value), bytes).status().code(),
              absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(pair.ranks[0]->receive(peer, tag, bytesOf(value), bytes).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(pair.ranks[0]->split({1}).status().code(), absl::StatusCode::kInvalidArgument);
  auto message = *pair.ranks[1]->receive(0, 0, bytesOf(value), 3);
  auto sent = *pair.ranks[0]->send(1, 0, bytesOf(value), 4);
  EXPECT_EQ(finish(*message).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(*finish(*sent));
}

} // namespace
} // namespace splitcast::runtime
