//===- GreetingsTest.cc - Who gets a place when too many connect --------------===//
//
// One process is the rank that listens and all that connect to it. The addresses of loopback stand for hosts: ranks are
// at 127.0.0.1, strangers at others.
//
//===----------------------------------------------------------------------===//
#include "runtime/tcp/TcpGreetings.h"
#include "runtime/tcp/TcpRendezvous.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <cerrno>
#include <deque>
#include <gtest/gtest.h>
#include <iostream>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

namespace splitcast::runtime {
namespace {

constexpr char kSecret[] = "a secret of the job";
constexpr int kPlaces = 256; // of TcpGreetings.cc

/// One that connects, and has greeted if it got so far.
struct Caller {
  Socket socket;
  Handshake handshake = *Handshake::begin(Handshake::Side::Connects, {1, 999, 0, 0, 99}, kSecret);

  void say() {
    if (const std::string output = handshake.takeOutput(); !output.empty())
      (void)send(socket.fd(), output.data(), output.size(), MSG_NOSIGNAL);
  }
  /// Takes what has come. Returns whether the connection is closed.
  bool hear() {
    char bytes[128];
    const ssize_t count = recv(socket.fd(), bytes, handshake.wanted(), 0);
    if (count > 0)
      (void)handshake.take({bytes, static_cast<size_t>(count)});
    return count == 0 || (count < 0 && errno != EAGAIN);
  }
  bool isClosed() const {
    char byte = 0;
    const ssize_t count = recv(socket.fd(), &byte, 1, MSG_PEEK);
    return count == 0 || (count < 0 && errno != EAGAIN);
  }
};

/// Connects to a port of this machine from one of its addresses.
Socket connectedFrom(const std::string &address, int port) {
  sockaddr_in own = {}, to = {};
  own.sin_family = to.sin_family = AF_INET;
  EXPECT_EQ(inet_pton(AF_INET, address.c_str(), &own.sin_addr), 1);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(static_cast<uint16_t>(port));
  Socket made = Socket::open([] { return socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
  int yes = 1; // the port is chosen by connect(), which has more of them
  setsockopt(made.fd(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof(yes));
  EXPECT_EQ(bind(made.fd(), reinterpret_cast<sockaddr *>(&own), sizeof(own)), 0);
  const bool isConnected = connect(made.fd(), reinterpret_cast<sockaddr *>(&to), sizeof(to)) == 0;
  EXPECT_TRUE(isConnected || errno == EINPROGRESS || errno == ECONNREFUSED) << errno; // the last if nobody listens yet
  return made;
}

/// Both ends of thousands of connections are open here.
void openManyFiles() {
  rlimit files = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
}

class GreetingsTest : public testing::Test {
protected:
  void SetUp() override {
    openManyFiles();
    Socket listener = *listenAt({"127.0.0.1", 0}, Reach::AllAddresses);
    port = localEndpoint(listener)->port;
    greetings.emplace(*Greetings::create({0, 999, 0, 0, port}, kSecret));
    ASSERT_TRUE(greetings->listen(std::move(listener)).ok());
  }

  Caller connectFrom(const std::string &address, bool greets = false) {
    Caller caller{connectedFrom(address, port)};
    if (greets)
      caller.say();
    return caller;
  }

  void connectMany(int count, const std::string &address, std::deque<Caller> &callers, bool greets = false) {
    for (int i = 0; i < count; ++i)
      callers.push_back(connectFrom(address, greets));
  }

  /// Lets the rank that listens do all that it can do now. It accepts 64 connections at a time.
  void serve() {
    for (int idle = 0; idle < 40;) {
      absl::StatusOr<std::optional<Greeted>> greeted = greetings->next(0);
      ASSERT_TRUE(greeted.ok()) << greeted.status();
      idle = greeted->has_value() ? 0 : idle + 1;
      if (greeted->has_value())
        taken.push_back(*std::move(*greeted));
    }
  }

  /// Goes on with a handshake as a rank does, without a pause.
  bool isGreeted(Caller &caller) {
    for (int i = 0; i < 3 && !caller.handshake.isDone(); ++i) {
      caller.say();
      serve();
      if (caller.hear())
        return false;
    }
    return caller.handshake.isDone();
  }

  void serveFor(absl::Duration time) {
    for (const absl::Time begin = absl::Now(); absl::Now() - begin < time; absl::SleepFor(absl::Milliseconds(10)))
      serve();
  }

  int countClosed(const std::deque<Caller> &callers) {
    return static_cast<int>(
        std::count_if(callers.begin(), callers.end(), [](const Caller &caller) { return caller.isClosed(); }));
  }

  int port = 0;
  std::optional<Greetings> greetings;
  std::vector<Greeted> taken;
};

// Each rank is greeted at once, whether the strangers are silent or greet.
TEST_F(GreetingsTest, AStrangerAtAnotherAddress) {
  for (const bool greets : {false, true}) {
    std::deque<Caller> strangers;
    for (int rank = 0; rank < 5; ++rank) {
      connectMany(2 * kPlaces, "127.0.0.2", strangers, greets);
      Caller caller = connectFrom("127.0.0.1");
      connectMany(2 * kPlaces, "127.0.0.2", strangers, greets);
      serve();
      EXPECT_TRUE(isGreeted(caller)) << rank;
      while (strangers.size() > 2 * kPlaces)
        strangers.pop_front();
    }
  }
  EXPECT_EQ(taken.size(), 10u);
  EXPECT_TRUE(absl::StrContains(greetings->refusals(), "a process at 127.0.0.2 was refused: too many connections from"))
      << greetings->refusals();
}

// A rank whose machine is busy keeps its place for longer than a stranger at its address would.
TEST_F(GreetingsTest, ASlowRank) {
  Caller silent = connectFrom("127.0.0.1"), greeted = connectFrom("127.0.0.1", true);
  std::deque<Caller> strangers;
  for (int i = 0; i < 14; ++i) { // 3.5 seconds
    connectMany(kPlaces, "127.0.0.2", strangers);
    serveFor(absl::Milliseconds(250));
    while (strangers.size() > 2 * kPlaces)
      strangers.pop_front();
  }
  EXPECT_TRUE(isGreeted(silent));
  EXPECT_TRUE(isGreeted(greeted));
}

// All are greeted in the end; those for which there is no place are closed at once, so that they call again.
TEST_F(GreetingsTest, ManyRanksOfOneHost) {
  std::deque<Caller> ranks;
  connectMany(300, "127.0.0.1", ranks);
  serve();
  EXPECT_EQ(countClosed(ranks), 300 - kPlaces);
  int greeted = 0;
  for (Caller &caller : ranks)
    greeted += isGreeted(caller) ? 1 : 0;
  EXPECT_EQ(greeted, kPlaces);
  while (greeted < 300) {
    Caller again = connectFrom("127.0.0.1");
    ASSERT_TRUE(isGreeted(again));
    ++greeted;
  }
}

// Beside a stranger they share one half of the places, whoever was first.
TEST_F(GreetingsTest, ManyRanksOfOneHostBesideAStranger) {
  for (const bool strangerIsFirst : {false, true}) {
    std::deque<Caller> ranks, strangers;
    if (strangerIsFirst)
      connectMany(2 * kPlaces, "127.0.0.2", strangers);
    connectMany(300, "127.0.0.1", ranks);
    connectMany(2 * kPlaces, "127.0.0.2", strangers);
    serve();
    EXPECT_EQ(countClosed(ranks), 300 - kPlaces / 2);
    int greeted = 0;
    for (Caller &caller : ranks)
      greeted += isGreeted(caller) ? 1 : 0;
    EXPECT_EQ(greeted, kPlaces / 2);
    strangers.clear();
    serve();
  }
}

TEST_F(GreetingsTest, StrangersAtManyAddresses) {
  std::deque<Caller> strangers;
  for (int rank = 0; rank < 10; ++rank) {
    for (int host = 2; host < 102; ++host)
      connectMany(5, absl::StrCat("127.0.0.", host), strangers, rank % 2 == 0);
    Caller caller = connectFrom("127.0.0.1");
    serve();
    EXPECT_TRUE(isGreeted(caller)) << rank;
    while (strangers.size() > 1000)
      strangers.pop_front();
  }
}

// There a rank gets a place only when a connection is late.
TEST_F(GreetingsTest, AStrangerAtTheSameAddress) {
  std::deque<Caller> strangers;
  connectMany(kPlaces, "127.0.0.1", strangers);
  serve();
  Caller early = connectFrom("127.0.0.1");
  EXPECT_FALSE(isGreeted(early));
  EXPECT_EQ(countClosed(strangers), 0);
  serveFor(absl::Milliseconds(1300));
  Caller late = connectFrom("127.0.0.1");
  EXPECT_TRUE(isGreeted(late));
  EXPECT_EQ(countClosed(strangers), 1);
}

// The process may have fewer files than places.
TEST_F(GreetingsTest, NoFilesAreLeft) {
  std::deque<Caller> strangers;
  connectMany(200, "127.0.0.2", strangers);
  Caller caller = connectFrom("127.0.0.1");
  rlimit usual = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  rlimit few = usual;
  few.rlim_cur = caller.socket.fd() + 50;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  serve();
  EXPECT_TRUE(isGreeted(caller));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &usual), 0);
}

// A caller whose proof comes too late knows that it has no place.
TEST_F(GreetingsTest, AProofThatComesTooLate) {
  std::deque<Caller> ranks;
  connectMany(kPlaces, "127.0.0.1", ranks, true);
  serve();
  Caller &oldest = ranks.front();
  EXPECT_FALSE(oldest.hear() || oldest.hear()); // the greeting and the proof of the rank that listens
  Caller other = connectFrom("127.0.0.2");
  serve(); // takes the place of the oldest
  oldest.say();
  serve();
  EXPECT_TRUE(oldest.hear());
  EXPECT_FALSE(oldest.handshake.isDone());
  EXPECT_TRUE(isGreeted(other));
}

// Ranks meet while a stranger at another address connects and greets as fast as it can.
TEST(Flood, RanksMeet) {
  openManyFiles();
  const Endpoint master{"127.0.0.1", localEndpoint(*listenAt({"127.0.0.1", 0}))->port};
  std::atomic<bool> isOver{false};
  std::atomic<int64_t> connected{0};
  std::thread flood([&] {
    for (std::deque<Caller> open; !isOver;) { // each is kept until the rank closes it
      for (int i = 0; i < 2 && !open.empty(); ++i) {
        Caller oldest = std::move(open.front());
        open.pop_front();
        if (!oldest.isClosed())
          open.push_back(std::move(oldest));
      }
      if (open.size() > 6000) // the kernel keeps 4096 for the rank
        continue;
      Caller caller{connectedFrom("127.0.0.2", master.port)};
      const std::string greeting = caller.handshake.takeOutput();
      connected += send(caller.socket.fd(), greeting.data(), greeting.size(), MSG_NOSIGNAL) > 0 ? 1 : 0;
      open.push_back(std::move(caller));
    }
  });
  constexpr int64_t kRanks = 4;
  std::vector<std::thread> threads;
  std::vector<absl::StatusOr<std::vector<Socket>>> met(kRanks);
  absl::Time begin;
  int64_t before = 0;
  for (int64_t rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] { met[rank] = meet({rank, kRanks, master, absl::Seconds(60), kSecret}); });
    for (Patience patience(absl::Seconds(20)); connected < 4000 && !patience.isOver();)
      absl::SleepFor(absl::Milliseconds(1));
    if (rank == 0) {
      begin = absl::Now();
      before = connected;
    }
  }
  for (std::thread &thread : threads)
    thread.join();
  const absl::Duration time = absl::Now() - begin;
  isOver = true;
  flood.join();
  for (const auto &one : met)
    EXPECT_EQ(one.status(), absl::OkStatus());
  EXPECT_LT(time, absl::Seconds(10));
  std::cout << "met in " << time << " beside " << connected - before << " connections\n";
}

} // namespace
} // namespace splitcast::runtime
