//===- TableFuzzTest.cc - A table of the ranks that rank 0 does not send -------===//
//
// What listens at the master's port knows the secret, but answers with a damaged table, a damaged error, or any bytes.
// Rank 1 takes the table if it is one, and otherwise has an error. The messages are drawn (Strangers.h).
//
//===----------------------------------------------------------------------===//
#include "runtime/tcp/TcpHandshake.h"
#include "runtime/tcp/TcpRendezvous.h"
#include "tests/runtime/tcp/Strangers.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>

namespace splitcast::runtime {
namespace {

constexpr char kSecret[] = "a secret of the job";
constexpr int kPollMilliseconds = 20000;

bool isReadable(const Socket &socket) {
  pollfd wanted = {socket.fd(), POLLIN, 0};
  return poll(&wanted, 1, kPollMilliseconds) == 1;
}

/// Stands where rank 0 should: proves that it knows the secret, and then sends `reply` and hangs up.
void answer(const Socket &listener, const std::string &reply) {
  ASSERT_TRUE(isReadable(listener));
  Socket socket = *acceptNext(listener);
  ASSERT_TRUE(socket.isOpen());
  Handshake handshake = *Handshake::begin(Handshake::Side::Accepts, {0, 2, 0, 0, 0}, kSecret);
  while (!handshake.isDone()) {
    std::array<char, 128> bytes;
    ASSERT_TRUE(isReadable(socket));
    const ssize_t count = recv(socket.fd(), bytes.data(), handshake.wanted(), 0);
    ASSERT_GT(count, 0);
    ASSERT_EQ(handshake.take({bytes.data(), static_cast<size_t>(count)}), absl::OkStatus());
    const std::string output = handshake.takeOutput();
    ASSERT_EQ(send(socket.fd(), output.data(), output.size(), MSG_NOSIGNAL), static_cast<ssize_t>(output.size()));
  }
  ASSERT_EQ(send(socket.fd(), reply.data(), reply.size(), MSG_NOSIGNAL), static_cast<ssize_t>(reply.size()));
}

std::string framed(const std::string &text) {
  const int64_t bytes = static_cast<int64_t>(text.size());
  return std::string(reinterpret_cast<const char *>(&bytes), sizeof(bytes)) + text;
}

/// Returns the text that a reply begins with, or "" if it is cut off.
std::string textIn(const std::string &reply) {
  int64_t bytes = 0;
  if (reply.size() < sizeof(bytes))
    return "";
  std::memcpy(&bytes, reply.data(), sizeof(bytes));
  const bool isWhole = bytes >= 0 && bytes <= static_cast<int64_t>(reply.size() - sizeof(bytes));
  return isWhole ? reply.substr(sizeof(bytes), bytes) : "";
}

/// Returns whether it is a table of two ranks. The endpoints do not matter to rank 1, which is the last.
bool isTable(const std::string &text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  uint64_t job = 0;
  return lines.size() == 3 && absl::StartsWith(lines[0], "ok ") && absl::SimpleAtoi(lines[0].substr(3), &job);
}

TEST(TableFuzz, RankOneTakesTablesAlone) {
  const Socket listener = *listenAt({"127.0.0.1", 0});
  Rendezvous rendezvous{1, 2, *localEndpoint(listener), absl::Seconds(20), kSecret};
  int64_t taken = 0, refused = 0;
  forEachMessage([&](Draw &draw) {
    std::string text = absl::StrCat("ok ", draw.word(), "\n0 \n", draw.below(65536), " 127.0.0.1");
    if (draw.once(4))
      text = absl::StrCat("error ", draw.number(), " the message");
    else if (draw.once(4))
      text = draw.bytes(draw.below(60));
    if (draw.once(3) && !text.empty())
      damage(text, draw);
    std::string reply = framed(text);
    if (draw.once(3))
      damage(reply, draw);
    std::thread zero([&] { answer(listener, reply); });
    const absl::Status status = meet(rendezvous).status();
    zero.join();
    EXPECT_EQ(status.ok(), isTable(textIn(reply))) << status << " for " << text;
    EXPECT_TRUE(status.ok() || !status.message().empty());
    ++(status.ok() ? taken : refused);
  });
  EXPECT_GT(taken, 0);
  EXPECT_GT(refused, 0);
}

// A number beyond what a table may have is refused as it is read, not asked for as memory.
TEST(TableFuzz, NoTableIsSoLong) {
  const Socket listener = *listenAt({"127.0.0.1", 0});
  const Rendezvous rendezvous{1, 2, *localEndpoint(listener), absl::Seconds(20), kSecret};
  for (const int64_t bytes : {kMaxTextBytes + 1, INT64_MAX, int64_t{-1}, INT64_MIN}) {
    std::thread zero([&] { answer(listener, std::string(reinterpret_cast<const char *>(&bytes), sizeof(bytes))); });
    const absl::Status status = meet(rendezvous).status();
    zero.join();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
    EXPECT_TRUE(absl::StrContains(status.message(), absl::StrCat("a text of ", bytes, " bytes"))) << status;
  }
}

} // namespace
} // namespace splitcast::runtime
