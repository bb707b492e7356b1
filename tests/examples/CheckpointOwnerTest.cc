//===- CheckpointOwnerTest.cc - Several jobs, one directory of checkpoints ------------===//
//
// A directory belongs to the job that began last. A job that is stopped (SIGSTOP) at a random moment, often while it
// writes, or between its look at who owns the directory and its act (StopsAtRename.cc), goes on when its successor has
// ended: it fails, names the successor, and changes nothing that this one has written. The same for a job that was
// never stopped, for two that begin together, and for a third that resumes while one of these two saves. The seed is
// printed.
//
//===----------------------------------------------------------------------===//
#include "tests/examples/TrainingRuns.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <random>
#include <thread>
#include <vector>

namespace splitcast {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kForever = 1'000'000; ///< steps of a job that is to be ended by another

Command gptOf(int64_t ranks, int64_t stage, int64_t steps, const std::vector<std::string> &arguments) {
  return with({programPath("examples/gpt/gpt"), "--text=text", "--layers=1", "--heads=2", "--width=12", "--context=6",
               "--batch=24", "--dropout=0.25", "--sample=0", absl::StrCat("--steps=", steps), "--threads=1",
               absl::StrCat("--accumulate=", 12 / ranks), absl::StrCat("--enable-zero=reproducible=yes,stage=", stage)},
              arguments);
}

/// The largest number that follows `prefix` in the name of a file of JSON; 0 without one.
int64_t largestIn(const std::string &directory, const std::string &prefix) {
  int64_t largest = 0;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(directory, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    if (const std::string name = entry->path().filename().string();
        absl::StartsWith(name, prefix) && absl::EndsWith(name, ".json"))
      largest = std::max<int64_t>(largest, std::atoll(name.c_str() + prefix.size()));
  return largest;
}

/// The newest step of any checkpoint, and the job that began last; 0 without one.
int64_t newestStep(const std::string &directory) { return largestIn(directory, "step-"); }
int64_t newestJob(const std::string &directory) { return largestIn(directory, "job-"); }

/// Whether a file is being written that gets the name of a checkpoint next.
bool isWriting(const std::string &directory) {
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator(directory, error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    if (absl::EndsWith(entry->path().string(), ".partial"))
      return true;
  return false;
}

/// The files of job `number`, with their contents.
std::map<std::string, std::string> filesOf(const std::string &directory, int64_t number) {
  std::map<std::string, std::string> files = snapshot(directory);
  const std::string mark = absl::StrCat("-job-", number, ".");
  for (auto file = files.begin(); file != files.end();)
    file = absl::StrContains(file->first, mark) ? std::next(file) : files.erase(file);
  return files;
}

/// A job beside this thread, whose ranks can be stopped.
class RunningJob {
public:
  RunningJob(const std::string &directory, int64_t ranks, const Command &command, int64_t limitSeconds = 100,
             const std::map<std::string, std::string> &environment = {})
      : ranks(ranks) {
    job.environments = {environment};
    job.commands = {with(command, {"--timeout=60"})};
    job.ranks = ranks;
    job.directory = directory;
    job.limitSeconds = static_cast<double>(limitSeconds);
    job.watch = [this](const std::map<int64_t, int> &pids) { look(pids); };
    thread = std::thread([this] {
      result = runJob(job);
      hasEnded = true;
    });
  }
  ~RunningJob() {
    if (thread.joinable())
      wait();
  }

  /// Stops all ranks as soon as `when` holds; false if the job ended before.
  bool stop(std::function<bool()> when) {
    moment = std::move(when);
    wanted = SIGSTOP;
    while (wanted != 0 && !hasEnded)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return wanted == 0;
  }
  /// Stops all ranks as soon as one of them has stopped itself. That it is about to would not do: it could find its
  /// signal only after it was to go on, and wait for ever.
  bool stopWithItself() {
    return stop([this] {
      return std::any_of(current.begin(), current.end(), [](int pid) { return processState(pid) == 'T'; });
    });
  }
  /// Lets the ranks go on, and waits until the job has ended.
  JobResult wait() {
    moment = [] { return true; };
    wanted = SIGCONT;
    thread.join();
    return result;
  }

private:
  void look(const std::map<int64_t, int> &pids) {
    if (wanted == 0 || static_cast<int64_t>(pids.size()) < ranks)
      return;
    current.clear();
    for (const auto &[rank, pid] : pids)
      current.push_back(pid);
    if (!moment())
      return;
    for (int pid : current)
      ::kill(pid, wanted);
    wanted = 0;
  }

  const int64_t ranks;
  Job job;
  JobResult result;
  std::function<bool()> moment;
  std::vector<int> current;   ///< the ranks' processes; of the thread that watches
  std::atomic<int> wanted{0}; ///< a signal for the ranks; 0: none
  std::atomic<bool> hasEnded{false};
  std::thread thread;
};

/// What all ranks of the job that lost say.
void expectLost(const JobResult &result, int64_t winner) {
  EXPECT_GT(result.exitStatus, 0) << result.describe();
  const std::string text = absl::StrCat("now belongs to job ", winner, " (process ");
  for (size_t rank = 0; rank < result.rankStatuses.size(); ++rank) {
    EXPECT_EQ(result.rankStatuses[rank], 1) << result.describe();
    EXPECT_TRUE(absl::StrContains(result.rankOutputs[rank], text)) << result.describe();
    EXPECT_TRUE(absl::StrContains(result.rankOutputs[rank], " on host ")) << result.describe();
    EXPECT_TRUE(absl::StrContains(result.rankOutputs[rank], ", begun 20")) << result.describe();
  }
}

/// What all ranks of a job say that has lost to `winner` or to one before it, or was refused: it does not resume, and
/// found checkpoints. Returns whether it has lost to `winner`.
bool expectLostOrRefused(const JobResult &result, int64_t winner) {
  EXPECT_GT(result.exitStatus, 0) << result.describe();
  std::vector<std::string> reasons = {"continue from it with --resume=c"};
  for (int64_t job = 2; job <= winner; ++job)
    reasons.push_back(absl::StrCat("now belongs to job ", job, " (process "));
  for (const std::string &reason : reasons)
    if (std::all_of(result.rankOutputs.begin(), result.rankOutputs.end(),
                    [&](const std::string &output) { return absl::StrContains(output, reason); }))
      return reason == reasons.back();
  ADD_FAILURE() << "the ranks do not all give one of the reasons: " << result.describe();
  return false;
}

/// A job or two, and a successor that begins while one of them trains or is stopped.
class Succession {
public:
  explicit Succession(std::mt19937 &random) : random(random), directory(makeWorkDirectory()) {}

  /// The first job is stopped until the second has ended.
  void runWithPause() {
    const int64_t ranks = draw(3);
    RunningJob first(directory, ranks, firstOf(ranks, kForever));
    ASSERT_TRUE(first.stop(atRandomMoment(/*milliseconds=*/400)));
    goOnBehindSuccessor(first, /*more=*/40);
  }

  /// The same, just before or after it gives a file its name: it has found that the directory is its own.
  void runWithPauseAtRename() {
    const int64_t ranks = draw(3);
    // Of a checkpoint's two names the second is its manifest's, behind which old ones are removed. Without the first
    // checkpoint the second job could not resume.
    const bool isAfter = draw(2) == 1;
    const std::map<std::string, std::string> environment = {
        {"LD_PRELOAD", programPath("tests/examples/libstops_at_rename.so")},
        {isAfter ? "SPLITCAST_TEST_STOP_AFTER" : "SPLITCAST_TEST_STOP_BEFORE",
         absl::StrCat(isAfter ? 2 * draw(5) : 2 + draw(10))}};
    RunningJob first(directory, ranks, firstOf(ranks, kForever), /*limitSeconds=*/240, environment);
    ASSERT_TRUE(first.stopWithItself());
    goOnBehindSuccessor(first, /*more=*/10);
  }

  /// The first job trains and saves until it finds the second, and has `steps` steps to do. Returns whether it found
  /// it; it may have ended before.
  bool runBesideEachOther(int64_t steps) {
    const int64_t ranks = draw(3);
    RunningJob first(directory, ranks, firstOf(ranks, steps));
    waitUntil(atRandomMoment(/*milliseconds=*/50));
    runSuccessor(steps);
    const std::map<std::string, std::string> written = filesOf(checkpoints, 2);
    const JobResult result = first.wait();
    EXPECT_EQ(filesOf(checkpoints, 2), written);
    resumeAfterwards(steps);
    if (result.succeeded())
      return false;
    expectLost(result, 2);
    return true;
  }

  /// Two jobs begin together, and train and save until one of them finds the third, which resumes, or have done `steps`
  /// steps. Returns whether neither had ended before.
  bool runThree(int64_t steps) {
    const auto command = [&](const std::string &variables) {
      return jobOf(2, steps, {"--checkpoint-every=1", "--save-variables=" + variables});
    };
    constexpr int64_t kLimitSeconds = 240; // three jobs share the processors
    RunningJob one(directory, 2, command("one"), kLimitSeconds);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 100));
    RunningJob other(directory, 2, command("other"), kLimitSeconds);
    waitUntil(atRandomMoment(/*milliseconds=*/50));
    runSuccessor(steps, kLimitSeconds);
    const int64_t winner = newestJob(checkpoints);
    EXPECT_GE(winner, 2); // one of the two may have been refused
    const std::map<std::string, std::string> written = filesOf(checkpoints, winner);
    const std::pair<JobResult, std::string> results[] = {{one.wait(), "/one"}, {other.wait(), "/other"}};
    EXPECT_EQ(filesOf(checkpoints, winner), written);
    resumeAfterwards(steps);
    int64_t found = 0;
    for (const auto &[result, variables] : results) {
      if (result.succeeded()) // it had ended when the third began
        return false;
      EXPECT_FALSE(std::filesystem::exists(directory + variables)) << result.describe();
      found += expectLostOrRefused(result, winner) ? 1 : 0;
    }
    EXPECT_GT(found, 0) << "nobody names job " << winner << ": " << results[0].first.describe()
                        << results[1].first.describe();
    return true;
  }

private:
  int64_t draw(int64_t limit) { return 1 + static_cast<int64_t>(random() % limit); }
  Command jobOf(int64_t ranks, int64_t steps, const std::vector<std::string> &arguments) {
    return gptOf(ranks, draw(4) - 1, steps, with({"--checkpoint=c"}, arguments));
  }
  Command firstOf(int64_t ranks, int64_t steps) { return jobOf(ranks, steps, {"--checkpoint-every=1"}); }

  /// The second job does so many steps more than the first, which is stopped, and then goes on.
  void goOnBehindSuccessor(RunningJob &first, int64_t more) {
    const int64_t steps = newestStep(checkpoints) + more;
    runSuccessor(steps);
    const std::map<std::string, std::string> written = filesOf(checkpoints, 2);
    EXPECT_EQ(written.size(), 6u);
    expectLost(first.wait(), 2);
    EXPECT_EQ(filesOf(checkpoints, 2), written);
    resumeAfterwards(steps);
  }

  void runSuccessor(int64_t steps, int64_t limitSeconds = 120) {
    const int64_t ranks = draw(3);
    const JobResult successor =
        runIn(directory, ranks,
              jobOf(ranks, steps, {"--resume=c", "--checkpoint-every=1", "--keep=3", "--save-variables=successor"}),
              limitSeconds);
    EXPECT_TRUE(successor.succeeded()) << successor.describe();
  }

  /// Who resumes goes on from the successor's last step, and has what was trained without any stop.
  void resumeAfterwards(int64_t steps) {
    const int64_t ranks = draw(3);
    const JobResult resumed = runIn(directory, ranks, jobOf(ranks, steps, {"--resume=c", "--save-variables=resumed"}));
    EXPECT_TRUE(resumed.succeeded()) << resumed.describe();
    EXPECT_EQ(readFile(directory + "/resumed"), readFile(directory + "/successor")) << "not the successor's variables";
    const Trained whole = train(directory, 2, gptOf(2, 1, steps, {}));
    EXPECT_EQ(readFile(directory + "/resumed"), whole.variables);
  }

  static void waitUntil(const std::function<bool()> &isTime) {
    for (const auto limit = Clock::now() + std::chrono::seconds(60); !isTime() && Clock::now() < limit;)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }

  /// Returns what holds from up to so many milliseconds after the first checkpoint on; mostly while one is written.
  std::function<bool()> atRandomMoment(int64_t milliseconds) {
    const auto after = std::chrono::milliseconds(random() % milliseconds);
    const bool whileWriting = random() % 4 != 0;
    return [this, after, whileWriting, begun = std::optional<Clock::time_point>()]() mutable {
      if (newestStep(checkpoints) == 0)
        return false;
      begun = begun.value_or(Clock::now());
      if (Clock::now() - *begun < after)
        return false;
      for (int look = 0; whileWriting && look < 2000 && !isWriting(checkpoints); ++look)
        ;
      return true;
    };
  }

  std::mt19937 &random;
  const std::string directory, checkpoints = directory + "/c";
};

unsigned seedOf() {
  const char *given = std::getenv("SPLITCAST_TEST_SEED");
  const unsigned seed = given ? static_cast<unsigned>(std::atoll(given)) : std::random_device()();
  std::cout << "SPLITCAST_TEST_SEED=" << seed << "\n";
  return seed;
}

TEST(CheckpointOwner, AStoppedJobGoesOnBehindItsSuccessor) {
  std::mt19937 random(seedOf());
  for (int round = 0; round < ROUNDS && !HasFailure(); ++round)
    Succession(random).runWithPause();
}

TEST(CheckpointOwner, AJobStoppedAtARenameGoesOnBehindItsSuccessor) {
  std::mt19937 random(seedOf());
  for (int round = 0; round < ROUNDS && !HasFailure(); ++round)
    Succession(random).runWithPauseAtRename();
}

TEST(CheckpointOwner, AJobBeginsWhileAnotherSaves) {
  std::mt19937 random(seedOf());
  int64_t steps = 150;
  for (int round = 0; round < (ROUNDS + 1) / 2 && !HasFailure(); ++round)
    for (int attempt = 0; !Succession(random).runBesideEachOther(steps) && !HasFailure(); ++attempt, steps *= 2)
      ASSERT_LT(attempt, 6) << "the first job always ends before it finds the second";
}

/// One of two goes on; the other is refused, or finds that it is no longer the owner.
TEST(CheckpointOwner, TwoBeginTogether) {
  std::mt19937 random(seedOf());
  for (int round = 0; round < (ROUNDS + 1) / 2 && !HasFailure(); ++round) {
    const std::string directory = makeWorkDirectory();
    const auto command = [&](const std::string &variables) {
      return gptOf(2, 2, 30, {"--checkpoint=c", "--checkpoint-every=1", "--save-variables=" + variables});
    };
    RunningJob first(directory, 2, command("first"));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 100));
    RunningJob second(directory, 2, command("second"));
    const JobResult results[] = {first.wait(), second.wait()};
    const bool firstWins = results[0].succeeded();
    EXPECT_NE(firstWins, results[1].succeeded()) << results[0].describe() << results[1].describe();
    const JobResult &lost = results[firstWins ? 1 : 0];
    (void)expectLostOrRefused(lost, newestJob(directory + "/c"));
    EXPECT_FALSE(std::filesystem::exists(directory + (firstWins ? "/second" : "/first")));
    const JobResult resumed = runIn(directory, 1, gptOf(1, 0, 30, {"--resume=c", "--save-variables=resumed"}));
    ASSERT_TRUE(resumed.succeeded()) << resumed.describe();
    EXPECT_EQ(readFile(directory + "/resumed"), readFile(directory + (firstWins ? "/first" : "/second")));
  }
}

/// The third goes on from what the winner of the two has saved; both others have lost.
TEST(CheckpointOwner, AThirdBeginsWhileTheWinnerOfTwoSaves) {
  std::mt19937 random(seedOf());
  int64_t steps = 150;
  for (int round = 0; round < (ROUNDS + 1) / 2 && !HasFailure(); ++round)
    for (int attempt = 0; !Succession(random).runThree(steps) && !HasFailure(); ++attempt, steps *= 2)
      ASSERT_LT(attempt, 6) << "the winner of the two always ends before the third begins";
}

} // namespace
} // namespace splitcast
