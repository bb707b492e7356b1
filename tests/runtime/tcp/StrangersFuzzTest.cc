//===- StrangersFuzzTest.cc - Bytes that no rank sends ----------------------===//
//
// Draws damaged and replayed handshakes, and damaged headers of running connections, from a seed that is printed
// (Strangers.h).
//
//===----------------------------------------------------------------------===//
#include "runtime/tcp/TcpHandshake.h"
#include "runtime/tcp/TcpMesh.h"
#include "tests/runtime/tcp/Strangers.h"

#include "absl/time/clock.h"

#include <array>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace splitcast::runtime {
namespace {

constexpr char kSecret[] = "a secret of the job";

//===----------------------------------------------------------------------===//
// Handshakes
//===----------------------------------------------------------------------===//

/// Gives the bytes to the handshake in pieces. What it does not want any more is left.
absl::Status takeAll(Handshake &handshake, absl::string_view bytes, Draw &draw) {
  while (!bytes.empty() && handshake.wanted() > 0) {
    const size_t count = std::min<size_t>(bytes.size(), 1 + draw.below(handshake.wanted()));
    if (absl::Status status = handshake.take(bytes.substr(0, count)); !status.ok())
      return status;
    bytes.remove_prefix(count);
  }
  return absl::OkStatus();
}

/// One side's messages are damaged, or come from a side that does not know the secret. They are accepted only if no
/// byte that counts has changed.
void handshake(Draw &draw) {
  using Side = Handshake::Side;
  const bool knowsSecret = !draw.once(3);
  const Membership self{draw.below(4), 4, 1, 0, 99};
  const Membership said{draw.number(), draw.number(), draw.word(), draw.word(), draw.number()};
  Handshake connects =
      *Handshake::begin(Side::Connects, draw.once(2) ? self : said, knowsSecret ? kSecret : draw.bytes(draw.below(40)));
  Handshake accepts = *Handshake::begin(Side::Accepts, self, kSecret);
  const std::string greeting = connects.takeOutput();
  std::string sent = greeting;
  const bool damagesGreeting = draw.once(2);
  if (damagesGreeting)
    damage(sent, draw);
  const absl::Status first = takeAll(accepts, sent, draw);
  EXPECT_FALSE(accepts.isDone() && sent.size() < 128);
  std::string answer = accepts.takeOutput();
  if (!first.ok() || answer.empty())
    return;
  EXPECT_EQ(answer.size(), 128u);
  if (!damagesGreeting && draw.once(2)) {
    const std::string whole = answer;
    damage(answer, draw);
    const bool isSame = answer.substr(0, whole.size()) == whole;
    const bool isTaken = takeAll(connects, answer + "+", draw).ok() && connects.isDone();
    EXPECT_TRUE(!isTaken || (isSame && knowsSecret));
    return;
  }
  (void)takeAll(connects, answer, draw);
  std::string proof = connects.takeOutput();
  if (proof.empty() || accepts.wanted() < static_cast<int64_t>(proof.size()))
    return;
  const std::string whole = proof;
  if (draw.once(2))
    damage(proof, draw);
  const bool isSame = proof.substr(0, whole.size()) == whole;
  const bool isTaken = takeAll(accepts, proof, draw).ok() && accepts.isDone();
  const bool areProved = knowsSecret && sent.substr(0, greeting.size()) == greeting;
  EXPECT_EQ(isTaken, areProved && isSame);
  EXPECT_FALSE(connects.isDone());
  const std::string welcome = draw.once(2) ? draw.bytes(1) : accepts.takeOutput();
  const bool isWelcome = takeAll(connects, welcome, draw).ok() && connects.isDone();
  EXPECT_EQ(isWelcome, areProved && welcome == "+");
}

TEST(StrangersFuzz, Handshakes) { forEachMessage(handshake); }

/// What was said in connections between two ranks.
struct Overheard {
  std::vector<std::string> greetings, proofs;

  void listen() {
    using Side = Handshake::Side;
    Handshake connects = *Handshake::begin(Side::Connects, {1, 4, 0, 0, 99}, kSecret);
    Handshake accepts = *Handshake::begin(Side::Accepts, {0, 4, 0, 0, 99}, kSecret);
    greetings.push_back(connects.takeOutput());
    EXPECT_EQ(accepts.take(greetings.back()), absl::OkStatus());
    const std::string answer = accepts.takeOutput();
    greetings.push_back(answer.substr(0, greetings.back().size()));
    proofs.push_back(answer.substr(greetings.back().size()));
    EXPECT_EQ(connects.take(greetings.back()), absl::OkStatus());
    EXPECT_EQ(connects.take(proofs.back()), absl::OkStatus());
    proofs.push_back(connects.takeOutput());
  }
};

/// Who does not know the secret says again what others have said, or gives a rank back what that says itself.
void replay(Draw &draw) {
  using Side = Handshake::Side;
  Overheard overheard;
  for (int64_t times = 1 + draw.below(2); times > 0; --times)
    overheard.listen();
  std::vector<std::string> &greetings = overheard.greetings, &proofs = overheard.proofs;
  Handshake rank = *Handshake::begin(draw.once(2) ? Side::Accepts : Side::Connects, {2, 4, 0, 0, 99}, kSecret);
  Handshake stranger = *Handshake::begin(Side::Connects, {1, 4, 0, 0, 99}, "");
  greetings.push_back(stranger.takeOutput());
  if (std::string own = rank.takeOutput(); !own.empty())
    greetings.push_back(std::move(own));
  ASSERT_EQ(rank.take(greetings[draw.below(static_cast<int64_t>(greetings.size()))]), absl::OkStatus());
  if (const std::string answer = rank.takeOutput(); !answer.empty())
    proofs.push_back(answer.substr(greetings.front().size()));
  const absl::Status status = rank.take(proofs[draw.below(static_cast<int64_t>(proofs.size()))]);
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_FALSE(rank.isDone()) << "what was overheard opens another connection";
}

TEST(StrangersFuzz, WhatWasOverheardProvesNothing) { forEachMessage(replay); }

//===----------------------------------------------------------------------===//
// Running connections
//===----------------------------------------------------------------------===//

constexpr Frame kFrame{5, 4, 3, 2, 1};

/// A mesh of two ranks, of which rank 1 is a bare socket.
struct HalfMesh {
  HalfMesh() {
    int ends[2] = {-1, -1};
    std::vector<Socket> sockets(2);
    sockets[1] = Socket::open(
        [&] { return socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0 ? ends[0] : -1; });
    stranger = ends[1];
    mesh = *TcpMesh::create(std::move(sockets));
  }
  ~HalfMesh() { close(stranger); }

  std::shared_ptr<TcpMesh> mesh;
  int stranger = -1;
};

struct Header {
  int64_t bytes;
  uint64_t transport;
  int64_t tag;
  Frame frame = kFrame;
};

struct Memory {
  int64_t reserved, resident; ///< in bytes
};

Memory memoryOfProcess() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return {pages * sysconf(_SC_PAGESIZE), resident * sysconf(_SC_PAGESIZE)};
}

/// A message that arrives whole, several with headers that strangers like, then any bytes. The receives are filled,
/// wait, or get an error, and nothing is asked for that did not come.
void header(Draw &draw) {
  HalfMesh half;
  int value = 0;
  const auto early = half.mesh->receive(1, {1, 5}, kFrame, reinterpret_cast<std::byte *>(&value), 4);
  const Header first{4, 1, 5};
  std::string sent(reinterpret_cast<const char *>(&first), sizeof(first));
  sent += "abcd";
  bool isKnown = true;       // whether all headers so far are such as ranks send
  int64_t bytesForLate = -1; // of the first message for the second receive
  bool hasUnlike = false;    // whether it is of another frame
  for (int64_t messages = draw.below(4); messages > 0; --messages) {
    Header next{draw.number(), draw.once(2) ? 1 : draw.word(), draw.once(2) ? 5 : draw.number()};
    if (draw.once(3))
      next.frame.alike = draw.word();
    sent.append(reinterpret_cast<const char *>(&next), sizeof(next));
    isKnown = isKnown && next.bytes >= 0 && next.bytes <= int64_t{1} << 30 && next.transport != 0 && next.tag >= 0 &&
              next.tag <= 32767;
    if (isKnown && next.transport == 1 && next.tag == 5 && bytesForLate < 0) {
      bytesForLate = next.bytes;
      hasUnlike = next.frame != kFrame;
    }
    if (!isKnown || next.bytes >= 1000)
      break; // what follows would be contents
    sent += draw.bytes(next.bytes);
  }
  if (isKnown)
    sent += draw.bytes(draw.below(100));
  ASSERT_EQ(send(half.stranger, sent.data(), sent.size(), MSG_NOSIGNAL), static_cast<ssize_t>(sent.size()));
  std::array<std::byte, 64> place;
  const bool hasLength = bytesForLate >= 0 && bytesForLate < 64 && draw.once(2);
  const auto late = half.mesh->receive(1, {1, 5}, kFrame, place.data(), hasLength ? bytesForLate : draw.below(64));
  absl::StatusOr<bool> done = false;
  for (int i = 0; i < 200; ++i) // the mesh does not ask the system at every test
    done = half.mesh->test(*early);
  EXPECT_TRUE(done.ok() && *done) << done.status();
  EXPECT_EQ(std::memcmp(&value, "abcd", 4), 0);
  const absl::StatusOr<bool> other = half.mesh->test(*late);
  EXPECT_FALSE(other.ok() && *other && hasUnlike) << "a message of another frame is taken";
  if (!isKnown && other.ok() && !*other)
    ADD_FAILURE() << "a header that no rank sends is taken for one of which the message is still to come";
  if (draw.once(2))
    half.mesh->giveUp(*late);
}

TEST(StrangersFuzz, HeadersOfRunningConnections) {
  const Memory before = memoryOfProcess();
  forEachMessage(header);
  EXPECT_LT(memoryOfProcess().resident - before.resident, int64_t{256} << 20);
}

// Each header announces as much as a message may have. It costs no more than what arrives, and no more than a first
// part is asked for: where memory is limited (ulimit -v), there would be none for others.
TEST(StrangersFuzz, AnnouncedBytesCostNothing) {
  const Memory before = memoryOfProcess();
  std::vector<std::unique_ptr<HalfMesh>> all;
  for (int i = 0; i < 200; ++i) {
    all.push_back(std::make_unique<HalfMesh>());
    const Header huge{int64_t{1} << 30, 1, 5};
    ASSERT_EQ(send(all.back()->stranger, &huge, sizeof(huge), MSG_NOSIGNAL), static_cast<ssize_t>(sizeof(huge)));
    ASSERT_EQ(send(all.back()->stranger, "abcd", 4, MSG_NOSIGNAL), 4);
    std::byte byte{};
    const auto other = all.back()->mesh->receive(1, {1, 6}, kFrame, &byte, 1);
    for (int time = 0; time < 3; ++time) {
      EXPECT_TRUE(all.back()->mesh->test(*other).ok());
      absl::SleepFor(absl::Microseconds(3));
    }
  }
  const Memory after = memoryOfProcess();
  EXPECT_LT(after.resident - before.resident, int64_t{64} << 20);
  EXPECT_LT(after.reserved - before.reserved, int64_t{4} << 30);
}

} // namespace
} // namespace splitcast::runtime
