//===- CheckpointKillTest.cc - Ranks that are killed at any time ---------------------===//
//
// A rank is killed (-9) at a random time, while a checkpoint is written, too; the job goes on from its checkpoints on
// other ranks and at another stage, until one ends. What it has trained is what one that was never killed trains.
//
//===----------------------------------------------------------------------===//
#include "tests/examples/TrainingRuns.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>

namespace splitcast {
namespace {

Command gptOf(int64_t ranks, int64_t stage, const std::vector<std::string> &arguments) {
  return with({programPath("examples/gpt/gpt"), "--text=text", "--layers=1", "--heads=2", "--width=12", "--context=6",
               "--batch=24", "--dropout=0.25", "--sample=0", "--steps=60", "--threads=1",
               absl::StrCat("--accumulate=", 12 / ranks), absl::StrCat("--enable-zero=reproducible=yes,stage=", stage)},
              arguments);
}

/// Runs the job and kills one of its ranks after so many seconds from when all have begun; whether it was killed.
bool runUntilKilled(const std::string &directory, int64_t ranks, const Command &command, int64_t victim,
                    double afterSeconds) {
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> begun;
  bool isKilled = false;
  Job job;
  job.commands = {command};
  job.ranks = ranks;
  job.directory = directory;
  job.limitSeconds = 120;
  job.watch = [&](const std::map<int64_t, int> &pids) {
    if (static_cast<int64_t>(pids.size()) < ranks || isKilled)
      return;
    begun = begun.value_or(Clock::now());
    if (std::chrono::duration<double>(Clock::now() - *begun).count() < afterSeconds)
      return;
    isKilled = ::kill(pids.at(victim), SIGKILL) == 0;
  };
  const JobResult result = runJob(job);
  EXPECT_NE(result.exitStatus, -1) << "ranks waited for one that was killed: " << result.describe();
  return !result.succeeded();
}

bool hasCheckpoint(const std::string &directory) {
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(directory, error))
    if (entry.path().extension() == ".json")
      return true;
  return false;
}

TEST(CheckpointKill, TrainingGoesOn) {
  const std::string directory = makeWorkDirectory();
  const Trained whole = train(directory, 3, gptOf(3, 1, {}));
  std::mt19937 random(KILLS);
  int kills = 0;
  for (int round = 0; kills < KILLS; ++round) {
    ASSERT_LT(round, 4 * KILLS + 8) << "jobs end before they are killed";
    const std::string checkpoints = absl::StrCat("c", round);
    bool isKilled = true;
    for (int attempt = 0; isKilled; ++attempt) {
      const int64_t ranks = 2 + static_cast<int64_t>(random() % 3), stage = static_cast<int64_t>(random() % 4);
      std::vector<std::string> arguments = {"--checkpoint=" + checkpoints, "--checkpoint-every=1",
                                            "--save-variables=variables", "--timeout=20"};
      if (hasCheckpoint(directory + "/" + checkpoints))
        arguments.push_back("--resume=" + checkpoints);
      const bool isLast = attempt == 2 || kills == KILLS; // which nobody kills
      const double seconds = isLast ? 1e9 : 0.3 + static_cast<double>(random() % 2000) / 1000;
      isKilled = runUntilKilled(directory, ranks, gptOf(ranks, stage, arguments),
                                static_cast<int64_t>(random() % ranks), seconds);
      ASSERT_FALSE(isLast && isKilled) << "a job failed that nobody killed";
      kills += isKilled;
    }
    EXPECT_EQ(readFile(directory + "/variables"), whole.variables) << "round " << round;
  }
}

} // namespace
} // namespace splitcast
