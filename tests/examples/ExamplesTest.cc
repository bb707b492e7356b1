//===- ExamplesTest.cc - The examples, across ranks, to the bit -----------------===//
//
// A stage is a memory choice, never a numeric one: for each number of ranks, every loss and every saved variable is the
// same for all stages and strategies, and splitcast-run, from the module and the inputs that an example has written,
// gives them, too.
//
//===----------------------------------------------------------------------===//
#include "tests/examples/TrainingRuns.h"

#include "runtime/io/Npy.h"
#include "runtime/io/Safetensors.h"

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace splitcast {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Command recipe() { return {programPath("examples/recipe/recipe"), "--layers=4", "--width=33", "--batch=5"}; }
Command classifier() { return {programPath("examples/classifier/classifier")}; }
Command textModel() {
  return {programPath("examples/text_model/text_model"),
          "--text=text",
          "--batch=50",
          "--hidden=72",
          "--window=7",
          "--width=10"};
}

class Ranks : public ::testing::TestWithParam<int64_t> {};

TEST_P(Ranks, ClassifierIsTheSameAtEveryStage) { compareAll(classifier(), GetParam(), GetParam() < 3 ? 10 : 100); }
// On 3 and 4 ranks in micro-batches of 10 rows.
TEST_P(Ranks, TextModelIsTheSameAtEveryStage) {
  const Command command =
      GetParam() < 3 ? textModel()
                     : with(textModel(), {"--accumulate=5", GetParam() == 3 ? "--accumulate-order=per-step"
                                                                            : "--accumulate-order=per-micro-batch"});
  compareAll(command, GetParam(), GetParam() < 3 ? 10 : 100);
}
TEST_P(Ranks, RecipeIsTheSameAtEveryStage) { compareAll(recipe(), GetParam(), 3); }

// The sum of all parameters does not depend on how they are divided.
TEST_P(Ranks, RecipeSumIsTheSameInEveryDigit) {
  std::string directory = makeWorkDirectory(), first;
  for (const char *stage :
       {"--enable-zero=stage=0", "--enable-zero=stage=1", "--enable-zero=stage=2", "--enable-zero=stage=3"}) {
    JobResult result = runIn(directory, GetParam(), with(recipe(), {stage, "--steps=2"}));
    ASSERT_TRUE(result.succeeded()) << result.describe();
    const std::string &output = result.rankOutputs[0];
    std::string sum = valueAfter(output, "sum of all parameters: ");
    EXPECT_NE(sum, "");
    first = first.empty() ? sum : first;
    EXPECT_EQ(sum, first) << stage;
    for (const char *expected : {"memory: predicted peak ", "high-water mark of rank 0: at the start ",
                                 "after building ", "step 2: loss ", "high-water mark before ", "step time: median "})
      EXPECT_THAT(output, HasSubstr(expected));
  }
}

INSTANTIATE_TEST_SUITE_P(Examples, Ranks, ::testing::Values(1, 2, 3, 4),
                         [](const auto &info) { return std::to_string(info.param); });

//===----------------------------------------------------------------------===//
// Front doors
//===----------------------------------------------------------------------===//

TEST(Examples, RunTrainsTheClassifierToTheSameBits) { compareWithRun(classifier(), {"x", "labels"}, 3); }
TEST(Examples, RunTrainsTheTextModelToTheSameBits) {
  compareWithRun(textModel(), {"bytes", "next"}, 3, {},
                 {"stage=2,accumulate=5,accumulate-order=per-step",
                  "stage=3,strategy=tensor,keep=step,accumulate=5,accumulate-order=per-step"});
}
TEST(Examples, RunTrainsTheRecipeToTheSameBits) { compareWithRun(recipe(), {"x", "target"}, 2); }

// Without mpirun: by environment variables and over sockets.
Job byVariables(const std::string &directory, int64_t ranks, const Command &command) {
  Job job;
  job.commands = {with(command, {"--timeout=30"})};
  job.ranks = ranks;
  job.byVariables = true;
  job.directory = directory;
  return job;
}

TEST(Examples, RanksStartedByVariablesTrainToTheSameBits) {
  const std::string directory = makeWorkDirectory();
  const Command command = with(textModel(), {"--steps=10", "--enable-zero=stage=2"});
  const Trained underMpirun = train(directory, 3, command);
  JobResult result = runJob(byVariables(directory, 3, with(command, {"--losses=again", "--save-variables=all"})));
  ASSERT_TRUE(result.succeeded()) << result.describe();
  EXPECT_EQ(readFile(directory + "/again"), underMpirun.losses);
  EXPECT_TRUE(readFile(directory + "/all") == underMpirun.variables);
}

// Of the parameters, at stages 2 and 3 and in memory that they have in common.
TEST(Examples, RanksHaveOneCopy) {
  const std::string text = "all ranks of a group have one copy", directory = makeWorkDirectory();
  const Command apart = with(textModel(), {"--steps=2", "--report", "--enable-zero=stage=2", "--transport=messages"});
  EXPECT_THAT(runIn(directory, 3, apart).rankOutputs[0], Not(HasSubstr(text)));
  for (const auto &[options, isShared] : std::map<std::string, bool>{{"--enable-zero=stage=2", true},
                                                                     {"--enable-zero=stage=3", true},
                                                                     {"--enable-zero=stage=3,one-copy=no", false},
                                                                     {"--enable-zero=stage=0", false}}) {
    const std::string output =
        runIn(directory, 3, with(textModel(), {"--steps=2", "--report", options})).rankOutputs[0];
    if (output.find(" cannot read the memory of rank ") != std::string::npos)
      GTEST_SKIP() << output;
    EXPECT_EQ(output.find(text) != std::string::npos, isShared) << options << "\n" << output;
  }
  // Files of at most 2 MB: too small for all parameters, so that each rank has its pieces alone.
  const Command small = {"sh",
                         "-c",
                         "trap '' XFSZ; ulimit -f 4000; exec \"$0\" \"$@\"",
                         recipe().front(),
                         "--layers=4",
                         "--width=900",
                         "--steps=2",
                         "--report",
                         "--enable-zero=stage=3",
                         "--kernel-cache="};
  const std::string output = runIn(directory, 3, small).rankOutputs[0];
  EXPECT_THAT(output, Not(HasSubstr(text)));
  EXPECT_THAT(output, HasSubstr("all-gather: 6 calls"));
}

TEST(Examples, ALostRankStartedByVariablesEndsTheOthers) {
  Job job = byVariables(makeWorkDirectory(), 3, with(textModel(), {"--steps=1000000", "--metrics=metrics.jsonl"}));
  bool killed = false;
  job.watch = [&](const std::map<int64_t, int> &pids) {
    // Once it trains.
    if (!killed && pids.count(1) != 0 && !readFile(job.directory + "/metrics.jsonl").empty())
      killed = kill(pids.at(1), SIGKILL) == 0;
  };
  JobResult result = runJob(job);
  EXPECT_TRUE(killed);
  EXPECT_EQ(result.rankStatuses, (std::vector<int>{1, 128 + SIGKILL, 1})) << result.describe();
  for (int rank : {0, 2})
    EXPECT_THAT(result.rankOutputs[rank], HasSubstr(" has lost rank 1 ")) << result.describe();
}

// There is no job yet, and still each rank's error is its own.
TEST(Examples, RanksThatCannotMeetSayWhoTheyAre) {
  Job job = byVariables(makeWorkDirectory(), 3, with({"env", "MASTER_PORT=none"}, textModel()));
  JobResult result = runJob(job);
  EXPECT_EQ(result.rankStatuses, (std::vector<int>{1, 1, 1})) << result.describe();
  for (int rank : {0, 1, 2})
    EXPECT_THAT(result.rankOutputs[rank], HasSubstr("rank " + std::to_string(rank) + ": error: MASTER_PORT is 'none'"));
}

/// Runs three ranks of which `odd` has another secret than the others, or none.
JobResult runWithUnlikeSecrets(int odd, const std::string &secret, int port) {
  Job job = byVariables(makeWorkDirectory(), 3, with(textModel(), {"--steps=2"}));
  job.commands[0].back() = "--timeout=15"; // in which all begin, on a busy machine, too
  for (int rank = 0; rank < 3; ++rank)
    job.environments.push_back({{"MASTER_PORT", std::to_string(port)},
                                {"SPLITCAST_SECRET", rank == odd ? secret : "what the other two 'know'"}});
  return runJob(job);
}

// Rank 0 waits for the others as long as it may, since whoever was refused may be a stranger.
TEST(Examples, RanksWithUnlikeSecretsSaySo) {
  const std::string another = "it has another secret", lacks = "it has no secret, and this rank has one",
                    has = "it has a secret, and this rank has none", before = "of another job, of before";
  const struct {
    int odd;
    std::string secret, toldRank0, toldRefused;
  } cases[] = {{0, before, another, another},
               {1, before, another, another},
               {2, before, another, another},
               {0, "", has, lacks},
               {2, "", lacks, has}};
  std::vector<std::future<JobResult>> results;
  for (const auto &one : cases) // at once: they sleep
    results.push_back(std::async(std::launch::async, runWithUnlikeSecrets, one.odd, one.secret,
                                 30000 + getpid() % 400 * 5 + static_cast<int>(results.size())));
  for (size_t i = 0; i < results.size(); ++i) {
    const auto &[odd, secret, toldRank0, toldRefused] = cases[i];
    const JobResult result = results[i].get();
    EXPECT_EQ(result.rankStatuses, (std::vector<int>{1, 1, 1})) << result.describe();
    EXPECT_LT(result.seconds, 60);
    for (int rank = 0; rank < 3; ++rank) {
      const bool isRefused = rank != 0 && (odd == 0 || odd == rank);
      const std::string &told = isRefused ? toldRefused : toldRank0;
      EXPECT_THAT(result.rankOutputs[rank],
                  HasSubstr(told + "; give all ranks of a job the same SPLITCAST_SECRET or SPLITCAST_SECRET_FILE"))
          << "rank " << rank << ", " << odd << " is odd: " << result.describe();
      EXPECT_EQ(result.rankOutputs[rank].find("a process that is none of this job (") != std::string::npos, isRefused);
      EXPECT_EQ(result.rankOutputs[rank].find("within 15s; a process that calls itself rank ") != std::string::npos,
                !isRefused);
      EXPECT_THAT(result.rankOutputs[rank], Not(HasSubstr("step ")));
    }
  }
}

// Nobody reads a cache of kernels that others may have written, or adds to it; the ranks of the machine say so once.
TEST(Examples, CachesOfOthersAreNotUsed) {
  const std::string directory = makeWorkDirectory(), cache = directory + "/kernels";
  const Command command = with(textModel(), {"--steps=4", "--enable-zero=stage=2"});
  const Trained expected = train(directory, 3, with(command, {"--kernel-cache="}));
  const std::string warning =
      "warning: compiled kernels are not taken from the cache, or not kept for the next run: '" + cache + "': ";
  std::vector<std::pair<std::string, std::function<bool()>>> reasons = {
      {"has mode 777, so others may have written to it", [&] { return chmod(cache.c_str(), 0777) == 0; }}};
  if (geteuid() == 0) // who alone gives directories away
    reasons.emplace_back("belongs to user 65534, but this process runs as user 0",
                         [&] { return chown(cache.c_str(), 65534, getegid()) == 0; });
  for (const auto &[reason, prepare] : reasons) {
    std::filesystem::create_directory(cache);
    ASSERT_TRUE(prepare());
    const JobResult result =
        runIn(directory, 3, with(command, {"--kernel-cache=" + cache, "--losses=losses", "--save-variables=all"}));
    ASSERT_TRUE(result.succeeded()) << result.describe();
    EXPECT_EQ(readFile(directory + "/losses"), expected.losses);
    EXPECT_TRUE(readFile(directory + "/all") == expected.variables);
    const std::string all = result.describe();
    EXPECT_THAT(all, HasSubstr(warning + reason));
    EXPECT_EQ(all.find("warning: ", all.find(warning) + 1), std::string::npos) << all;
    EXPECT_TRUE(std::filesystem::is_empty(cache)) << reason;
    std::filesystem::remove_all(cache);
  }
  ASSERT_TRUE(runIn(directory, 3, with(command, {"--kernel-cache=" + cache})).succeeded());
  EXPECT_FALSE(std::filesystem::is_empty(cache)) << "no kernels are kept";
}

// Nor is it silent if the cache of rank 0 is in order, and others have one that is not: it is said once of each.
TEST(Examples, EachCacheThatIsNotUsedIsNamed) {
  const std::string directory = makeWorkDirectory();
  Job job = byVariables(directory, 5, with(textModel(), {"--steps=2"}));
  for (const char *home : {"good", "bad", "bad", "good", "worse"}) {
    std::filesystem::create_directories(directory + "/" + home + "/splitcast/kernels");
    job.environments.push_back({{"XDG_CACHE_HOME", directory + "/" + home}});
  }
  for (const char *home : {"/bad", "/worse"})
    ASSERT_EQ(chmod((directory + home + "/splitcast/kernels").c_str(), 0777), 0);
  const JobResult result = runJob(job);
  ASSERT_TRUE(result.succeeded()) << result.describe();
  for (int rank = 0; rank < 5; ++rank) {
    const std::string warning = "/splitcast/kernels': has mode 777";
    EXPECT_EQ(result.rankOutputs[rank].find(warning) != std::string::npos, rank == 1 || rank == 4) << result.describe();
  }
}

/// Makes all values of a file of f32 variables multiples of 1/64, and so their products with small integers and the
/// sums of these exact: libraries may add up the last rows of a product in another order.
void roundVariables(const std::string &path) {
  std::string bytes = readFile(path);
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof(header));
  for (size_t at = sizeof(header) + header; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, &bytes[at], sizeof(value));
    value = std::nearbyint(value * 64) / 64;
    std::memcpy(&bytes[at], &value, sizeof(value));
  }
  std::ofstream(path, std::ios::binary) << bytes;
}

// And nothing else changes: losses are those without.
TEST(Examples, ProfilesSayWhereTheTimeGoes) {
  const std::string directory = makeWorkDirectory();
  const Command command = with(recipe(), {"--steps=4", "--enable-zero=stage=3", "--metrics=metrics"});
  const Trained plain = train(directory, 3, command);
  const JobResult result =
      runIn(directory, 3, with(command, {"--profile=profile.json", "--losses=others", "--transport=messages"}));
  ASSERT_TRUE(result.succeeded()) << result.describe();
  EXPECT_EQ(readFile(directory + "/others"), plain.losses);
  const auto kinds = profiledKinds(directory + "/profile.json", 3, Rows::InTurn); // the first step is left out
  ASSERT_EQ(kinds.size(), 3u);
  for (const auto &[rank, ofRank] : kinds)
    for (const char *kind : {"kernel", "matmul", "all_gather", "wait for all_gather", "reduce_scatter"})
      EXPECT_GT(ofRank.count(kind), 0u) << kind << " of rank " << rank;
  for (const char *text : {"rank 0's ops, without the first run of each", "Gflop/s of f32", "matmul m = 5, n = 33"})
    EXPECT_THAT(result.rankOutputs[0], HasSubstr(text));
  const JobResult refused = runIn(directory, 2, with(command, {"--profile=none/profile.json"}));
  for (int64_t rank = 0; rank < 2; ++rank) {
    EXPECT_NE(refused.rankStatuses[rank], 0);
    EXPECT_THAT(refused.rankOutputs[rank], HasSubstr("none/profile.json"));
  }
}

// As a full disk: an error, and no partial file.
TEST(Examples, AFileBeyondTheLimitOfSizesIsAnError) {
  const std::string directory = makeWorkDirectory();
  const Command command = {
      "sh",        "-c",          "ulimit -f 1000; exec \"$@\"", "sh", programPath("examples/recipe/recipe"),
      "--steps=1", "--width=300", "--save-variables=v"};
  const std::map<std::string, std::string> before = snapshot(directory);
  const JobResult result = runIn(directory, 1, command);
  EXPECT_EQ(result.rankStatuses[0], 1) << result.describe();
  EXPECT_THAT(result.rankOutputs[0], HasSubstr("File too large"));
  EXPECT_EQ(snapshot(directory), before);
}

// Outputs that are split over ranks, raggedly, come out whole: as many ranks as one gives the same file.
// To see what of a step its collectives cost.
TEST(Examples, CollectivesCanBeTakenOut) {
  const std::string directory = makeWorkDirectory();
  const Command command = with(textModel(), {"--steps=3", "--enable-zero=stage=2"});
  const Trained whole = train(directory, 3, command), apart = train(directory, 3, with(command, {"--no-collectives"}));
  EXPECT_NE(apart.losses, whole.losses);
}

TEST(Examples, RunWritesSplitOutputsWhole) {
  std::string directory = makeWorkDirectory(), first;
  for (int64_t ranks : {1, 3}) {
    JobResult trained = runIn(
        directory, ranks, with(classifier(), {"--steps=0", "--write-mlir=module.mlir", "--save-variables=variables"}));
    ASSERT_TRUE(trained.succeeded()) << trained.describe();
    roundVariables(directory + "/variables");
    // 2 steps of 1000 samples: 2 x 1000 x 256.
    absl::StatusOr<runtime::NpyWriter> writer =
        runtime::NpyWriter::create(directory + "/x.npy", runtime::ElementType::F32, {1000, 256});
    ASSERT_TRUE(writer.ok());
    std::vector<float> x(2 * 1000 * 256);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(i % 1009 % 7);
    ASSERT_TRUE(writer->append(2, x.data()).ok() && writer->commit().ok());
    JobResult result =
        runIn(directory, ranks,
              {programPath("compiler/tools/splitcast-run"), "module.mlir", "--function=predict",
               "--load-variables=variables", "--rates=saved", "--input=x=x.npy", "--output=logits=logits.npy"});
    ASSERT_TRUE(result.succeeded()) << result.describe();
    std::string logits = readFile(directory + "/logits.npy");
    EXPECT_EQ(npyFloats(directory + "/logits.npy").size(), 2u * 1000 * 10);
    first = first.empty() ? logits : first;
    EXPECT_TRUE(logits == first);
  }
}

// A training that is cut in two, with other ranks, stages and strategies in its second half, goes on from the same
// state.
TEST(Examples, SavedVariablesGoOn) {
  std::string directory = makeWorkDirectory();
  Trained half = train(directory, 3, with(textModel(), {"--steps=5", "--enable-zero=stage=3"}));
  JobResult loaded = runIn(directory, 2,
                           with(textModel(), {"--steps=0", "--enable-zero=stage=1,strategy=tensor",
                                              "--load-variables=variables", "--save-variables=again"}));
  ASSERT_TRUE(loaded.succeeded()) << loaded.describe();
  EXPECT_TRUE(readFile(directory + "/again") == half.variables);
  EXPECT_EQ(runtime::SafetensorsFile::open(directory + "/again")->find("hidden.weight")->shape,
            (std::vector<int64_t>{70, 72}));
}

// The progress line and the metrics of the language model; and it learns.
TEST(Examples, TextModelLearns) {
  std::string directory = makeWorkDirectory();
  JobResult result = runIn(directory, 2, with(textModel(), {"--steps=150", "--metrics=metrics.jsonl"}));
  ASSERT_TRUE(result.succeeded()) << result.describe();
  for (const char *expected : {"step 1/150  loss 5.", "step 150/150  loss ", " tokens/s  memory ", "time left 0:00"})
    EXPECT_THAT(result.rankOutputs[0], HasSubstr(expected));
  EXPECT_EQ(result.rankOutputs[1], "");
  std::istringstream lines(readFile(directory + "/metrics.jsonl"));
  std::vector<nlohmann::json> metrics;
  for (std::string line; std::getline(lines, line);)
    metrics.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(metrics.size(), 150u);
  EXPECT_GT(metrics.front()["loss"].get<double>(), 5.0);
  EXPECT_LT(metrics.back()["loss"].get<double>(), 2.5);
  EXPECT_GT(metrics.back()["tokens_per_second"].get<double>(), 0);
}

TEST(Examples, ClassifierPredicts) {
  std::string directory = makeWorkDirectory();
  JobResult result = runIn(directory, 2, with(classifier(), {"--enable-zero=stage=3"}));
  ASSERT_TRUE(result.succeeded()) << result.describe();
  EXPECT_THAT(result.rankOutputs[0], HasSubstr("step 100: loss "));
  // Guessing gives 0.1.
  EXPECT_GT(std::atof(valueAfter(result.rankOutputs[0], "unseen samples: ").c_str()), 0.2);
}

} // namespace
} // namespace splitcast
