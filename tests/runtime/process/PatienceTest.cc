//===- PatienceTest.cc - What counts as waiting, and what does not ----------===//
#include "runtime/process/Patience.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

int64_t now = 0; ///< nanoseconds of a clock that the tests set
int64_t testClock() { return now; }

void pass(absl::Duration time) { now += absl::ToInt64Nanoseconds(time); }

/// Looks every 10 ms until the patience is over. Returns how long that took.
absl::Duration waitUntilOver(Patience &patience) {
  const int64_t begin = now;
  while (!patience.isOver())
    pass(absl::Milliseconds(10));
  return absl::Nanoseconds(now - begin);
}

TEST(Patience, ItIsOverOnceTheLimitHasPassed) {
  for (const absl::Duration limit : {absl::Milliseconds(30), absl::Seconds(1), absl::Hours(1)}) {
    Patience patience(limit, testClock);
    EXPECT_EQ(waitUntilOver(patience), limit);
    EXPECT_TRUE(patience.isOver());
    EXPECT_EQ(patience.left(), absl::ZeroDuration());
  }
}

TEST(Patience, ProgressBeginsItAgain) {
  Patience patience(absl::Seconds(1), testClock);
  for (int i = 0; i < 10; ++i) {
    pass(absl::Milliseconds(200));
    patience.isOver();
    pass(absl::Milliseconds(200));
    EXPECT_FALSE(patience.isOver());
    patience.restart();
  }
  EXPECT_EQ(waitUntilOver(patience), absl::Seconds(1));
}

// However long the process is stopped, and at whatever moment of its wait.
TEST(Patience, StopsDoNotCount) {
  for (const absl::Duration limit : {absl::Milliseconds(300), absl::Seconds(5)})
    for (int tenths = 0; tenths < 10; ++tenths)
      for (const absl::Duration stop : {absl::Seconds(6), absl::Hours(20)}) {
        Patience patience(limit, testClock);
        for (int i = 0; i < tenths; ++i) {
          pass(limit / 10);
          ASSERT_FALSE(patience.isOver());
        }
        pass(stop);
        EXPECT_FALSE(patience.isOver()) << limit << " " << tenths << " " << stop;
        EXPECT_LE(waitUntilOver(patience), limit);
      }
}

// On a machine so busy that each look comes late, it still comes to an end.
TEST(Patience, ItEndsWhereEachLookIsLate) {
  Patience patience(absl::Seconds(5), testClock);
  int looks = 0;
  for (; !patience.isOver() && looks < 1000; ++looks)
    pass(absl::Seconds(2));
  EXPECT_LE(looks, 25);
}

// The system's clock, and a process that is really stopped.
TEST(Patience, AStoppedProcessIsPatient) {
  const pid_t child = fork();
  if (child == 0) {
    Patience patience(absl::Milliseconds(600));
    int64_t looks = 0;
    for (; !patience.isOver(); ++looks)
      usleep(10'000);
    _exit(looks >= 20 ? 0 : 1); // without the stop it would be 60; if the stop counted, some 10
  }
  usleep(100'000);
  kill(child, SIGSTOP);
  usleep(900'000);
  kill(child, SIGCONT);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

} // namespace
} // namespace splitcast::runtime
