//===- StoppedRanksTest.cc - Jobs that are stopped, as a whole or in part ----===//
//
// Ranks are forked processes, which exchange texts over sockets until they are told to end.
//
//===----------------------------------------------------------------------===//
#include "runtime/host/communicator/HostCommunicator.h"
#include "runtime/tcp/TcpJob.h"
#include "tests/runtime/conformance/NullStream.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <csignal>
#include <gtest/gtest.h>
#include <poll.h>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

constexpr int64_t kRanks = 3;
constexpr absl::Duration kTimeout = absl::Milliseconds(1200);

/// Runs one rank, until rank 0 sees that the other end of `leash` is closed. Returns the exit status, and writes an
/// error to `errors`.
int runRank(int64_t rank, int port, int leash, int errors) {
  auto job = TcpJob::create({rank, kRanks, {"127.0.0.1", port}, absl::Seconds(20)});
  if (!job.ok())
    return 2;
  absl::StatusOr<std::vector<std::string>> texts;
  auto ranks = createHostCommunicator(*(*job)->createTransport(), {kTimeout});
  do {
    pollfd end = {leash, POLLIN, 0};
    const bool isOver = rank == 0 && poll(&end, 1, 0) > 0;
    texts = ranks->exchange(isOver ? "end" : "go on", {"the exchange"});
  } while (texts.ok() && texts->front() == "go on");
  ranks = nullptr;
  const std::string message = texts.ok() ? "" : std::string(texts.status().message()) + "\n";
  if (!texts.ok())
    (void)!write(errors, message.data(), message.size());
  return texts.ok() ? 0 : 1;
}

/// A job in processes of its own.
class RunningJob {
public:
  RunningJob() {
    const int port = localEndpoint(*listenAt({"127.0.0.1", 0}))->port;
    int leashEnds[2], errorEnds[2];
    EXPECT_EQ(pipe(leashEnds) + pipe(errorEnds), 0);
    for (int64_t rank = 0; rank < kRanks; ++rank) {
      processes[rank] = fork();
      if (processes[rank] == 0) {
        close(leashEnds[1]);
        _exit(runRank(rank, port, leashEnds[0], errorEnds[1]));
      }
    }
    close(leashEnds[0]);
    close(errorEnds[1]);
    leash = leashEnds[1];
    errors = errorEnds[0];
  }
  ~RunningJob() { close(errors); }

  void signal(int number) {
    for (const pid_t process : processes)
      kill(process, number);
  }
  void signal(int64_t rank, int number) { kill(processes[rank], number); }
  void end() { close(leash); }
  /// Waits for a rank's end, and returns its exit status.
  int statusOf(int64_t rank) {
    int status = 0;
    EXPECT_EQ(waitpid(processes[rank], &status, 0), processes[rank]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  /// Returns what the ranks wrote. All of them have ended.
  std::string text() {
    std::string all;
    char bytes[4096];
    for (ssize_t count = 0; (count = read(errors, bytes, sizeof(bytes))) > 0;)
      all.append(bytes, count);
    return all;
  }

private:
  pid_t processes[kRanks];
  int leash = -1, errors = -1;
};

// At a random moment, for longer than the timeout. The ranks are not stopped, and do not go on, at the same moment.
TEST(StoppedRanks, AJobThatIsStoppedAsAWholeGoesOn) {
  const unsigned seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  std::mt19937 draw(seed);
  RunningJob job;
  for (int time = 0; time < 2; ++time) {
    absl::SleepFor(absl::Microseconds(100'000 + draw() % 100'000));
    job.signal(SIGSTOP);
    absl::SleepFor(kTimeout + absl::Milliseconds(400));
    job.signal(SIGCONT);
  }
  absl::SleepFor(absl::Milliseconds(300));
  job.end();
  for (int64_t rank = 0; rank < kRanks; ++rank)
    EXPECT_EQ(job.statusOf(rank), 0) << rank;
  EXPECT_EQ(job.text(), "");
}

TEST(StoppedRanks, ASingleStoppedRankIsNamed) {
  RunningJob job;
  absl::SleepFor(absl::Milliseconds(200));
  job.signal(2, SIGSTOP);
  const absl::Time begin = absl::Now();
  EXPECT_EQ(job.statusOf(0), 1);
  EXPECT_EQ(job.statusOf(1), 1);
  EXPECT_LT(absl::Now() - begin, 10 * kTimeout);
  job.signal(2, SIGKILL);
  EXPECT_EQ(job.statusOf(2), -1);
  job.end();
  EXPECT_TRUE(absl::StrContains(job.text(), "for rank 2 with no answer"));
}

//===----------------------------------------------------------------------===//
// Names of ranks
//===----------------------------------------------------------------------===//

/// Receives arrive at once, but for notices (which have the largest tag), and nothing that is sent is ever taken.
class DeafRanks final : public Transport {
public:
  int64_t rank() const override { return 0; }
  int64_t size() const override { return 3; }
  absl::Status health() override { return absl::OkStatus(); }
  absl::StatusOr<std::unique_ptr<Message>> send(int64_t, int, const std::byte *, int64_t, const Frame &) override {
    return std::make_unique<Answer>(false);
  }
  absl::StatusOr<std::unique_ptr<Message>> receive(int64_t, int tag, std::byte *, int64_t, const Frame &) override {
    return std::make_unique<Answer>(tag != 32767);
  }
  absl::StatusOr<std::unique_ptr<Transport>> split(const std::vector<int64_t> &) override {
    return absl::UnimplementedError("not here");
  }

private:
  struct Answer final : Message {
    explicit Answer(bool isDone) : isDone(isDone) {}
    absl::StatusOr<bool> test() override { return isDone; }
    bool isDone;
  };
};

// Both for what was sent to it to be summed and for the sums.
TEST(StoppedRanks, EachIsNamedOnce) {
  auto ranks = createHostCommunicator(std::make_unique<DeafRanks>(), {absl::Milliseconds(100)});
  constexpr int64_t kElements = 3 << 18;
  std::vector<float> data(kElements), workspace(4 * kElements);
  NullStream stream;
  auto event =
      ranks->allReduce({reinterpret_cast<std::byte *>(data.data()), 4 * kElements}, kElements, ElementType::F32,
                       {reinterpret_cast<std::byte *>(workspace.data()), 16 * kElements}, stream, {"the sum"});
  const absl::Status status = event.ok() ? (*event)->wait() : event.status();
  EXPECT_TRUE(absl::StrContains(status.message(), " for ranks 1, 2 with no answer")) << status;
}

} // namespace
} // namespace splitcast::runtime
