//===- RendezvousTest.cc - Ranks that meet among strangers ------------------===//
#include "runtime/tcp/TcpGreetings.h"
#include "runtime/tcp/TcpJob.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

constexpr char kSecret[] = "a secret of the job";

int freePort() { return localEndpoint(*listenAt({"127.0.0.1", 0}))->port; }

Rendezvous rankOf(int64_t rank, int64_t size, int port, absl::Duration timeout = absl::Seconds(20)) {
  return {rank, size, {"127.0.0.1", port}, timeout, kSecret};
}

/// What the ranks were told that meet, each in a thread.
std::vector<absl::Status> meetAll(const std::vector<Rendezvous> &all) {
  std::vector<absl::Status> statuses(all.size());
  std::vector<absl::StatusOr<std::vector<Socket>>> met(all.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < all.size(); ++i)
    threads.emplace_back([&, i] { met[i] = meet(all[i]); });
  for (std::thread &thread : threads)
    thread.join();
  for (size_t i = 0; i < all.size(); ++i)
    statuses[i] = met[i].status();
  return statuses;
}

void expectText(const absl::Status &status, absl::StatusCode code, const std::string &text) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), text)) << status;
}

Socket connectedTo(int port) {
  Patience patience(absl::Seconds(10));
  absl::StatusOr<Socket> socket = connectTo({"127.0.0.1", port}, patience);
  EXPECT_TRUE(socket.ok()) << socket.status();
  return socket.ok() ? *std::move(socket) : Socket();
}

void sendText(const Socket &socket, const std::string &text) {
  EXPECT_EQ(send(socket.fd(), text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

/// Greets as this rank would, with a secret, and goes on until the other side closes the connection.
void greetAs(int port, const Membership &self, const std::string &secret) {
  const Socket socket = connectedTo(port);
  Handshake handshake = *Handshake::begin(Handshake::Side::Connects, self, secret);
  sendText(socket, handshake.takeOutput());
  Patience patience(absl::Seconds(10));
  char bytes[128];
  while (!patience.isOver()) {
    const ssize_t count = recv(socket.fd(), bytes, handshake.wanted(), 0);
    if (count == 0 || handshake.isDone())
      return;
    if (count > 0)
      (void)handshake.take({bytes, static_cast<size_t>(count)});
    if (const std::string output = handshake.takeOutput(); !output.empty())
      sendText(socket, output);
    absl::SleepFor(absl::Milliseconds(1));
  }
}

//===----------------------------------------------------------------------===//
// Secrets and attempts
//===----------------------------------------------------------------------===//

TEST(Rendezvous, RanksWithOneSecretMeet) {
  const int port = freePort();
  std::vector<Rendezvous> all;
  for (int64_t rank = 0; rank < 9; ++rank)
    all.push_back(rankOf(rank, 9, port));
  for (const absl::Status &status : meetAll(all))
    EXPECT_EQ(status, absl::OkStatus());
}

// Either one may lack it.
TEST(Rendezvous, UnlikeSecrets) {
  const struct {
    std::string ofHost, ofGuest, toldHost, toldGuest;
  } cases[] = {
      {kSecret, "another secret of a job", "it has another secret", "it has another secret"},
      {kSecret, "", "it has no secret, and this rank has one", "it has a secret, and this rank has none"},
      {"", kSecret, "it has a secret, and this rank has none", "it has no secret, and this rank has one"},
  };
  for (const auto &[ofHost, ofGuest, toldHost, toldGuest] : cases) {
    const int port = freePort();
    std::vector<Rendezvous> all = {rankOf(0, 2, port, absl::Milliseconds(300)), rankOf(1, 2, port)};
    all[0].secret = ofHost;
    all[1].secret = ofGuest;
    const std::vector<absl::Status> told = meetAll(all);
    expectText(told[0], absl::StatusCode::kUnavailable, "rank 1 of 2 did not connect to 127.0.0.1:");
    expectText(told[0], absl::StatusCode::kUnavailable,
               absl::StrCat("; a process that calls itself rank 1 at 127.0.0.1 was refused: ", toldHost));
    expectText(told[1], absl::StatusCode::kPermissionDenied, toldGuest);
    expectText(told[1], absl::StatusCode::kPermissionDenied, "SPLITCAST_SECRET");
  }
}

// What is left of an earlier attempt joins neither way.
TEST(Rendezvous, UnlikeAttempts) {
  const int port = freePort();
  std::vector<Rendezvous> all = {rankOf(0, 2, port), rankOf(1, 2, port), rankOf(1, 2, port)};
  all[0].attempt = all[1].attempt = 3;
  all[2].attempt = 2;
  absl::StatusOr<std::vector<Socket>> zero;
  std::thread waits([&] { zero = meet(all[0]); });
  expectText(meet(all[2]).status(), absl::StatusCode::kFailedPrecondition,
             "belongs to attempt 3 of the job, and this rank to attempt 2");
  EXPECT_EQ(meet(all[1]).status(), absl::OkStatus());
  waits.join();
  EXPECT_EQ(zero.status(), absl::OkStatus());

  all = {rankOf(0, 2, freePort()), {}};
  all[1] = rankOf(1, 2, all[0].master.port);
  all[1].attempt = 1;
  const std::vector<absl::Status> told = meetAll(all);
  expectText(told[0], absl::StatusCode::kFailedPrecondition,
             "rank 1 belongs to attempt 1 of the job, and this rank to attempt 0; this process is left over");
  expectText(told[1], absl::StatusCode::kFailedPrecondition, "use another MASTER_PORT");
}

TEST(Rendezvous, RanksThatTheJobDoesNotHave) {
  const int port = freePort();
  Rendezvous wrong = rankOf(7, 2, port);
  for (const absl::Status &status : meetAll({rankOf(0, 2, port), wrong}))
    expectText(status, absl::StatusCode::kInvalidArgument,
               "a process says that it is rank 7 and has connected to rank 0; the other ranks are 1 to 1");
}

// The others learn of it at once, and not when the time is up.
TEST(Rendezvous, ARankThatEndsWhileItWaits) {
  const int port = freePort();
  std::thread leaves([&] { greetAs(port, {1, 3, 0, 0, 1234}, kSecret); });
  for (const absl::Status &status : meetAll({rankOf(0, 3, port)}))
    expectText(status, absl::StatusCode::kUnavailable, "rank 1 has ended while it waited for rank 2");
  leaves.join();
}

//===----------------------------------------------------------------------===//
// Strangers at rank 0
//===----------------------------------------------------------------------===//

/// Lets the ranks of a job meet while `strangers` runs, which is given the port. Returns how long that took.
absl::Duration meetAmong(const std::function<void(int)> &strangers, int64_t size = 4) {
  const int port = freePort();
  const absl::Time begin = absl::Now();
  std::vector<std::thread> threads;
  std::vector<absl::Status> statuses(size);
  std::vector<absl::StatusOr<std::vector<Socket>>> met(size);
  threads.emplace_back([&] { met[0] = meet(rankOf(0, size, port)); });
  strangers(port);
  for (int64_t rank = 1; rank < size; ++rank)
    threads.emplace_back([&, rank] { met[rank] = meet(rankOf(rank, size, port)); });
  for (std::thread &thread : threads)
    thread.join();
  for (const auto &one : met)
    EXPECT_EQ(one.status(), absl::OkStatus());
  return absl::Now() - begin;
}

TEST(Rendezvous, SilentStrangersCostNothing) {
  std::vector<Socket> silent;
  EXPECT_LT(meetAmong([&](int port) {
              for (int i = 0; i < 40; ++i) {
                silent.push_back(connectedTo(port));
                if (i % 2)
                  sendText(silent.back(), "splitcast"); // and not a byte more
              }
            }),
            absl::Seconds(5));
}

// More than may be in their handshakes at a time.
TEST(Rendezvous, ManySilentStrangers) {
  std::vector<Socket> silent;
  EXPECT_LT(meetAmong([&](int port) {
              for (int i = 0; i < 300; ++i)
                silent.push_back(connectedTo(port));
            }),
            absl::Seconds(10));
}

// Well-formed greetings end no job and take no place without the secret; nor does what was overheard.
TEST(Rendezvous, StrangersWhoGreetTakeNoPlace) {
  EXPECT_LT(meetAmong([&](int port) {
              for (const std::string &secret : {std::string(), std::string("a guess at the secret")})
                for (const Membership &self :
                     {Membership{1, 4, 0, 0, 99}, {1, 9, 0, 0, 99}, {9, 4, 0, 0, 99}, {3, 4, 9}})
                  greetAs(port, self, secret);
              std::string heard = Handshake::begin(Handshake::Side::Connects, {1, 4, 0, 0, 99}, kSecret)->takeOutput();
              sendText(connectedTo(port), heard + std::string(32, '\0'));
            }),
            absl::Seconds(5));
}

//===----------------------------------------------------------------------===//
// Other services at MASTER_PORT
//===----------------------------------------------------------------------===//

/// What a rank is told by a service that does this with a connection.
absl::Status toldBy(const std::function<void(const Socket &)> &serve, absl::Duration timeout = absl::Seconds(20)) {
  const int port = freePort();
  const Socket listener = *listenAt({"127.0.0.1", port});
  std::atomic<bool> isOver{false};
  std::thread service([&] {
    std::vector<Socket> connections;
    while (!isOver) {
      absl::StatusOr<Socket> socket = acceptNext(listener);
      if (socket.ok() && socket->isOpen()) {
        serve(*socket);
        connections.push_back(*std::move(socket));
      }
      absl::SleepFor(absl::Milliseconds(1));
    }
  });
  const absl::Status status = meetAll({rankOf(1, 2, port, timeout)})[0];
  isOver = true;
  service.join();
  return status;
}

TEST(Rendezvous, AnotherServiceAnswers) {
  const absl::Status status =
      toldBy([](const Socket &socket) { sendText(socket, "HTTP/1.1 400 Bad Request\r\n\r\n"); });
  expectText(status, absl::StatusCode::kUnavailable, "where rank 0 should listen, another service (it is no rank");
  expectText(status, absl::StatusCode::kUnavailable, "give a MASTER_PORT that no other service uses");
}

TEST(Rendezvous, AnotherServiceSaysNothing) {
  expectText(toldBy([](const Socket &) {}, absl::Milliseconds(400)), absl::StatusCode::kUnavailable,
             "has not answered as rank 0 would within 400ms; check MASTER_ADDR, and that no other service uses");
}

TEST(Rendezvous, AnotherServiceHangsUp) {
  const absl::Status status =
      toldBy([](const Socket &socket) { shutdown(socket.fd(), SHUT_RDWR); }, absl::Milliseconds(700));
  expectText(status, absl::StatusCode::kUnavailable, "where rank 0 should listen, another service (");
  expectText(status, absl::StatusCode::kUnavailable, " times within 700ms); check MASTER_ADDR, and give a MASTER_PORT");
}

/// Closes the next connections.
void closeNext(const Socket &listener, int count) {
  for (Patience patience(absl::Seconds(10)); count > 0 && !patience.isOver(); absl::SleepFor(absl::Milliseconds(1)))
    count -= acceptNext(listener)->isOpen() ? 1 : 0;
  EXPECT_EQ(count, 0) << "so many did not come";
}

// It may have no place for more connections, so a rank calls again: as often as it takes within its time.
TEST(Rendezvous, RankZeroClosesConnectionsAtFirst) {
  const int port = freePort();
  std::thread zero([&] {
    {
      const Socket listener = *listenAt({"127.0.0.1", port});
      closeNext(listener, 14);
    }
    EXPECT_EQ(meet(rankOf(0, 2, port)).status(), absl::OkStatus());
  });
  EXPECT_EQ(meetAll({rankOf(1, 2, port)})[0], absl::OkStatus());
  zero.join();
}

/// Answers the next connection as this rank would.
Socket welcome(const Socket &listener, const Membership &self) {
  Greetings greetings = *Greetings::create(self, kSecret);
  EXPECT_TRUE(greetings.listen(Socket::open([&] { return fcntl(listener.fd(), F_DUPFD_CLOEXEC, 0); })).ok());
  for (Patience patience(absl::Seconds(10)); !patience.isOver();)
    if (absl::StatusOr<std::optional<Greeted>> greeted = greetings.next(10); greeted.ok() && greeted->has_value())
      return std::move((*greeted)->socket);
  ADD_FAILURE() << "nobody connects";
  return {};
}

// The same holds for the other ranks, unless nobody listens there any more.
TEST(Rendezvous, AnotherRankClosesConnectionsAtFirst) {
  for (const bool ends : {false, true}) {
    Socket zero = *listenAt({"127.0.0.1", 0}), one = *listenAt({"127.0.0.1", 0});
    const int port = localEndpoint(zero)->port, portOfOne = localEndpoint(one)->port;
    std::thread others([&] {
      const Socket two = welcome(zero, {0, 3, 0, 0, 0});
      Patience patience(absl::Seconds(10));
      EXPECT_TRUE(writeText(two, absl::StrCat("ok 77\n0 \n", portOfOne, " 127.0.0.1\n0 "), patience).ok());
      closeNext(one, 3);
      if (ends)
        one.close();
      else
        EXPECT_TRUE(welcome(one, {1, 3, 0, 77, portOfOne}).isOpen());
    });
    const absl::Time begin = absl::Now();
    const absl::Status status = meetAll({rankOf(2, 3, port)})[0];
    others.join();
    EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
    if (ends)
      expectText(status, absl::StatusCode::kUnavailable, absl::StrCat("rank 2 cannot connect to rank 1 at 127.0.0.1:"));
    else
      EXPECT_EQ(status, absl::OkStatus());
  }
}

// The pauses of the system, of 1, 2, 4, ... seconds (after five of 1 second, since Linux 6.5), would soon be too long.
TEST(Rendezvous, AFullBacklogIsTriedAgainSoon) {
  const Socket listener = *listenAt({"127.0.0.1", 0});
  ASSERT_EQ(listen(listener.fd(), 0), 0);
  const int port = localEndpoint(listener)->port;
  Socket one = connectedTo(port);
  std::thread frees([&] {
    absl::SleepFor(absl::Milliseconds(7500));
    one = *acceptNext(listener);
  });
  const absl::Time begin = absl::Now();
  connectedTo(port);
  EXPECT_GT(absl::Now() - begin, absl::Seconds(7));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  frees.join();
}

TEST(Rendezvous, AnotherVersion) {
  const absl::Status status = toldBy([](const Socket &socket) { sendText(socket, "splitcast rank 1"); });
  expectText(status, absl::StatusCode::kUnavailable, "another version of Splitcast; use the same version");
}

TEST(Rendezvous, ThePortIsTaken) {
  const int port = freePort();
  const Socket listener = *listenAt({"127.0.0.1", port});
  expectText(meetAll({rankOf(0, 2, port)})[0], absl::StatusCode::kUnavailable,
             "MASTER_ADDR must be an address of its machine, and MASTER_PORT a free port");
}

// Rank 0 is reached at the address that it was given, and at no other.
TEST(Rendezvous, ListensAtTheMastersAddressAlone) {
  const int port = freePort();
  const auto meetAs = [&](int64_t rank) {
    Rendezvous rendezvous = rankOf(rank, 2, port);
    rendezvous.master.host = "127.0.0.2";
    const auto met = meet(rendezvous);
    EXPECT_TRUE(met.ok()) << met.status();
  };
  std::thread host([&] { meetAs(0); });
  Patience there(absl::Seconds(10)), elsewhere(absl::Milliseconds(100));
  EXPECT_TRUE(connectTo({"127.0.0.2", port}, there).ok());
  EXPECT_FALSE(connectTo({"127.0.0.1", port}, elsewhere).ok());
  meetAs(1);
  host.join();
}

//===----------------------------------------------------------------------===//
// Where the secret comes from
//===----------------------------------------------------------------------===//

absl::StatusOr<std::string> secretOf(const char *value, const std::string &path) {
  value ? setenv("SPLITCAST_SECRET", value, 1) : unsetenv("SPLITCAST_SECRET");
  path.empty() ? unsetenv("SPLITCAST_SECRET_FILE") : setenv("SPLITCAST_SECRET_FILE", path.c_str(), 1);
  auto secret = secretFromEnvironment();
  unsetenv("SPLITCAST_SECRET");
  unsetenv("SPLITCAST_SECRET_FILE");
  return secret;
}

std::string writeSecret(const std::string &name, const std::string &text, mode_t mode) {
  const std::string path = absl::StrCat(testing::TempDir(), "/", name);
  unlink(path.c_str());
  std::ofstream(path) << text;
  EXPECT_EQ(chmod(path.c_str(), mode), 0);
  return path;
}

TEST(Secret, IsReadFromTheEnvironmentOrAFile) {
  EXPECT_EQ(*secretOf(nullptr, ""), "");
  EXPECT_EQ(*secretOf("", ""), "");
  EXPECT_EQ(*secretOf("0123456789abcdef", ""), "0123456789abcdef");
  EXPECT_EQ(*secretOf(nullptr, writeSecret("own", "0123456789abcdef\n", 0600)), "0123456789abcdef");
  EXPECT_EQ(*secretOf(nullptr, writeSecret("long", std::string(4096, 'a') + "\n", 0400)), std::string(4096, 'a'));
}

TEST(Secret, WhatIsNoSecretIsRefused) {
  const std::string good = "0123456789abcdef", own = writeSecret("own", good, 0600);
  const std::string pipe = absl::StrCat(testing::TempDir(), "/pipe");
  mkfifo(pipe.c_str(), 0600);
  const struct {
    const char *value;
    std::string path, told;
  } cases[] = {
      {good.c_str(), own, "are both set; unset one of them"},
      {"short", "", "has 5 bytes; it must have 16 to 4096"},
      {nullptr, writeSecret("empty", "\n", 0600), "has 0 bytes; it must have 16 to 4096"},
      {nullptr, writeSecret("long", std::string(5000, 'a'), 0600), "has too many bytes"},
      {nullptr, writeSecret("open", good, 0640), "which others may read or write; use chmod 600"},
      {nullptr, writeSecret("writable", good, 0602), "which others may read or write; use chmod 600"},
      {nullptr, testing::TempDir(), "which is no regular file"},
      {nullptr, pipe, "which is no regular file"},
      {nullptr, own + ".not", "which cannot be opened: No such file"},
  };
  for (const auto &[value, path, told] : cases) {
    const absl::Status status = secretOf(value, path).status();
    expectText(status, absl::StatusCode::kInvalidArgument, told);
    EXPECT_FALSE(absl::StrContains(status.message(), good)) << status;
  }
}

//===----------------------------------------------------------------------===//
// Forked children
//===----------------------------------------------------------------------===//

// A rank is lost as soon as its process has ended, whatever children of it live on. And a child that ends in the
// ordinary way takes nothing from its parent.
TEST(Rendezvous, AForkedChildIsNoRank) {
  const int port = freePort();
  const pid_t rank = fork();
  if (rank == 0) {
    auto job = TcpJob::create(rankOf(1, 2, port));
    auto transport = (*job)->createTransport();
    if (fork() == 0) {
      const absl::Status health = (*transport)->health();
      *job = nullptr;
      _exit(absl::StrContains(health.message(), "forked from a rank") ? 0 : 1);
    }
    int status = 0;
    wait(&status);
    if (fork() == 0) {
      sleep(20); // much longer than it takes to notice
      _exit(0);
    }
    int value = status == 0 ? 7 : 8;
    auto sent = (*transport)->send(0, 0, reinterpret_cast<std::byte *>(&value), 4);
    while (!*(*sent)->test())
      ;
    _exit(1);
  }
  auto job = TcpJob::create(rankOf(0, 2, port));
  ASSERT_TRUE(job.ok()) << job.status();
  auto transport = (*job)->createTransport();
  int got = 0;
  for (const bool comes : {true, false}) {
    const absl::Time begin = absl::Now();
    auto message = (*transport)->receive(1, 0, reinterpret_cast<std::byte *>(&got), 4);
    absl::StatusOr<bool> done = false;
    while (done.ok() && !*done && absl::Now() - begin < absl::Seconds(15))
      done = (*message)->test();
    EXPECT_EQ(done.ok(), comes) << done.status();
    EXPECT_LT(absl::Now() - begin, absl::Seconds(10));
  }
  EXPECT_EQ(got, 7);
  waitpid(rank, nullptr, 0);
}

} // namespace
} // namespace splitcast::runtime
