//===- OwnFilesTest.cc - What forked children do not keep -------------------===//
#include "runtime/process/OwnFiles.h"

#include <array>
#include <atomic>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

/// Opens the two ends of a connection; the first is registered.
std::array<int, 2> openPair() {
  int ends[2] = {-1, -1};
  openOwn([&] { return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 ? ends[0] : -1; });
  return {ends[0], ends[1]};
}

/// Returns whether the other end is closed within this time.
bool isClosed(int end, int milliseconds) {
  pollfd wanted = {end, POLLIN, 0};
  char byte = 0;
  return poll(&wanted, 1, milliseconds) == 1 && recv(end, &byte, 1, MSG_DONTWAIT) == 0;
}

/// Runs `body` in a forked child, which then lives until the returned descriptor is closed. Its process number is
/// `child`.
template <typename Body> int forkAnd(Body body, pid_t &child) {
  int leash[2] = {-1, -1}, ready[2] = {-1, -1};
  EXPECT_EQ(pipe(leash) + pipe(ready), 0);
  child = fork();
  if (child == 0) {
    close(leash[1]);
    const char result = body() ? 1 : 0;
    char byte = 0;
    (void)!write(ready[1], &result, 1);
    (void)!read(leash[0], &byte, 1);
    _exit(0);
  }
  close(leash[0]);
  close(ready[1]);
  char result = 0;
  EXPECT_EQ(read(ready[0], &result, 1), 1);
  EXPECT_EQ(result, 1);
  close(ready[0]);
  return leash[1];
}

// The parent's connections end with the parent, though its child lives.
TEST(OwnFiles, ChildrenHoldNoConnection) {
  const auto kept = openPair(), closed = openPair();
  const int closedBefore = closed[0];
  closeOwn(closed[0]);
  pid_t child = 0;
  const int leash = forkAnd([] { return isForkedChild(); }, child);
  EXPECT_FALSE(isForkedChild());
  EXPECT_FALSE(isClosed(kept[1], 0));
  EXPECT_TRUE(isClosed(closed[1], 1000)) << closedBefore;
  closeOwn(kept[0]);
  EXPECT_TRUE(isClosed(kept[1], 1000));
  close(leash);
  waitpid(child, nullptr, 0);
}

// What the child's copies of the owners do reaches no other file, and not the parent's connection.
TEST(OwnFiles, NumbersStayTakenInTheChild) {
  const auto ends = openPair();
  pid_t child = 0;
  auto body = [&] {
    const int next = open("/dev/null", O_RDONLY);
    const bool isOther = next != ends[0] && recv(ends[0], nullptr, 0, MSG_DONTWAIT) < 0 && errno == ENOTSOCK;
    shutdown(ends[0], SHUT_RDWR);
    closeOwn(ends[0]);
    return isOther;
  };
  const int leash = forkAnd(body, child);
  EXPECT_FALSE(isClosed(ends[1], 0));
  EXPECT_EQ(send(ends[0], "a", 1, MSG_NOSIGNAL), 1);
  char byte = 0;
  EXPECT_EQ(recv(ends[1], &byte, 1, 0), 1);
  closeOwn(ends[0]);
  close(leash);
  waitpid(child, nullptr, 0);
}

// While other threads open and close.
TEST(OwnFiles, ForksAtAnyMoment) {
  std::atomic<bool> isOver{false};
  std::thread other([&] {
    while (!isOver) {
      const auto ends = openPair();
      closeOwn(ends[0]);
      EXPECT_TRUE(isClosed(ends[1], 5000)); // no child has kept it
      close(ends[1]);
    }
  });
  std::array<pid_t, 30> children;
  std::array<int, 30> leashes;
  for (size_t i = 0; i < children.size(); ++i)
    leashes[i] = forkAnd([] { return true; }, children[i]);
  isOver = true;
  other.join();
  for (size_t i = 0; i < children.size(); ++i) {
    close(leashes[i]);
    kill(children[i], SIGKILL); // later children have copies of earlier leashes
    waitpid(children[i], nullptr, 0);
  }
}

} // namespace
} // namespace splitcast::runtime
