//===- SignalsTest.cc - Ranks that are told to end, wherever they are ----------===//
//
// The binary runs itself as three ranks, and sends SIGTERM to rank 1: it ends at once, with an error that names it, and
// leaves no file that is not finished.
//
//===----------------------------------------------------------------------===//
#include "compiler/launch/Launch.h"
#include "runtime/io/File.h"
#include "tests/examples/Job.h"

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <optional>
#include <sstream>
#include <unistd.h>

namespace splitcast {
namespace {

using ::testing::HasSubstr;

constexpr const char *kRole = "as-rank";

/// Says to the test, by an empty file, that the rank is where it is to be found.
void announce(int64_t rank) { writeFile("ready." + std::to_string(rank), ""); }

/// Computes for so long, and looks at nothing else.
void compute(int64_t seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (std::chrono::steady_clock::now() < end)
    ;
}

/// One rank computes while it writes a file, all others wait for it.
absl::Status runRank(Launch &launch, int64_t busy, int64_t seconds) {
  absl::Status status;
  if (launch.rank() == busy) {
    absl::StatusOr<runtime::PendingFile> file = runtime::PendingFile::create("result");
    status = file.ok() ? file->file().append("half of it") : file.status();
    announce(busy);
    compute(seconds);
  } else {
    announce(launch.rank());
  }
  return launch.agree(status, "the test");
}

int runAsRank(int argc, char **argv) {
  Flags flags("signals_test", "[flags]\nWaits to be told to end.");
  LaunchOptions options;
  int64_t busy = 0, seconds = 0;
  options.addTo(flags);
  flags.addInteger("busy", &busy, 0, 2, "the rank that computes");
  flags.addInteger("seconds", &seconds, 0, 100, "how long it does");
  return launchMain(flags, argc, argv, options, [&](Launch &launch) { return runRank(launch, busy, seconds); });
}

struct Ended {
  JobResult result;
  double seconds = 0; ///< from the signal to the end of the job
  std::map<std::string, std::string> files;
};

/// Whether a process has a handler of SIGTERM: before, it has not begun.
bool handlesSignals(int pid) {
  std::istringstream status(readFile("/proc/" + std::to_string(pid) + "/status"));
  for (std::string line; std::getline(status, line);)
    if (line.rfind("SigCgt:", 0) == 0)
      return (std::stoull(line.substr(7), nullptr, 16) >> (SIGTERM - 1)) & 1;
  return false;
}

/// Three ranks, of which rank 1 is told to end when these have said that they are ready.
Ended endRankOne(bool byVariables, std::vector<Command> commands, const std::vector<int64_t> &announced) {
  Job job;
  job.commands = std::move(commands);
  job.ranks = 3;
  job.byVariables = byVariables;
  job.directory = makeDirectory();
  std::optional<std::chrono::steady_clock::time_point> sent;
  job.watch = [&](const std::map<int64_t, int> &pids) {
    bool isReady = !sent && pids.count(1) && handlesSignals(pids.at(1));
    for (int64_t rank : announced)
      isReady = isReady && std::filesystem::exists(job.directory + "/ready." + std::to_string(rank));
    if (isReady && kill(pids.at(1), SIGTERM) == 0)
      sent = std::chrono::steady_clock::now();
  };
  Ended ended{runJob(job), 0, snapshot(job.directory)};
  EXPECT_TRUE(sent) << ended.result.describe();
  if (sent)
    ended.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - *sent).count();
  return ended;
}

Command asRank(int64_t busy, int64_t seconds) {
  return {std::filesystem::read_symlink("/proc/self/exe").string(),
          kRole,
          "--busy=" + std::to_string(busy),
          "--seconds=" + std::to_string(seconds),
          "--timeout=60",
          "--threads=1"};
}

/// 0.7 seconds until rank 1 ends, and what the launcher and a busy machine need besides.
constexpr double kMostSeconds = 4;

class Signals : public testing::TestWithParam<bool> {};

TEST_P(Signals, EndARankThatComputes) {
  const Ended ended = endRankOne(GetParam(), {asRank(1, 60)}, {0, 1, 2});
  EXPECT_EQ(ended.result.rankStatuses[1], 1) << ended.result.describe();
  EXPECT_EQ(ended.result.rankOutputs[1], "rank 1: error: this process was told to end by SIGTERM\n");
  EXPECT_LT(ended.seconds, kMostSeconds) << ended.result.describe();
  for (int rank : {0, 2}) {
    EXPECT_NE(ended.result.rankStatuses[rank], 0) << ended.result.describe();
    EXPECT_THAT(ended.result.rankOutputs[rank], HasSubstr("rank " + std::to_string(rank) + ": error: "));
    EXPECT_THAT(ended.result.rankOutputs[rank], HasSubstr("rank 1"));
  }
  for (const auto &[name, text] : ended.files)
    EXPECT_THAT(name, HasSubstr("ready.")) << "is left behind";
}

// It says who it is also where it would have waited for longer.
TEST_P(Signals, EndARankThatWaits) {
  const Ended ended = endRankOne(GetParam(), {asRank(0, 2)}, {0, 1, 2});
  EXPECT_EQ(ended.result.rankStatuses[1], 1) << ended.result.describe();
  EXPECT_THAT(ended.result.rankOutputs[1], HasSubstr("rank 1: error: "));
  EXPECT_THAT(ended.result.rankOutputs[1], HasSubstr("told to end by SIGTERM"));
}

INSTANTIATE_TEST_SUITE_P(Launchers, Signals, testing::Bool(),
                         [](const auto &info) { return info.param ? "Variables" : "Mpirun"; });

// Rank 0 never comes.
TEST(Signals, EndARankThatLooksForOthers) {
  const Ended ended =
      endRankOne(true, {{"sh", "-c", R"([ "$RANK" = 1 ] || exit 7; exec "$0" "$@")", asRank(0, 0)[0], kRole}}, {});
  EXPECT_EQ(ended.result.rankStatuses, (std::vector<int>{7, 1, 7})) << ended.result.describe();
  EXPECT_THAT(ended.result.rankOutputs[1], HasSubstr("rank 1: error: "));
}

} // namespace
} // namespace splitcast

int main(int argc, char **argv) {
  if (argc > 1 && std::strcmp(argv[1], splitcast::kRole) == 0)
    return splitcast::runAsRank(argc - 1, argv + 1);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
