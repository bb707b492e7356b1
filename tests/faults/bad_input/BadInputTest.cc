//===- BadInputTest.cc - A clear error, on every rank, in time ---------------------===//
//
// For every case: each rank ends by itself with a status that is not 0, and has said what is wrong; the job ends in
// time; and the directory is as it was.
//
//===----------------------------------------------------------------------===//
#include "tests/examples/Job.h"
#include "tests/faults/bad_input/BadInputCases.h"

#include <algorithm>
#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace splitcast {
namespace {

using ::testing::HasSubstr;

/// Whether an argument begins so.
bool hasPrefix(const std::vector<std::string> &arguments, const std::string &prefix) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string &a) { return a.rfind(prefix, 0) == 0; });
}

Command commandOf(const std::vector<std::string> &words) {
  std::vector<std::string> arguments(words.begin() + 1, words.end());
  Command command;
  if (words[0] == "run" || words[0] == "bare")
    command = {programPath("compiler/tools/splitcast-run")};
  else
    command = {programPath(words[0])};
  if (words[0] == "run") {
    command.push_back("module.mlir");
    for (const char *input : {"--input=x=", "--input=labels="})
      if (!hasPrefix(arguments, input))
        command.push_back(std::string(input) + (input[8] == 'x' ? "x.npy" : "labels.npy"));
  }
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

std::string makeFiles() {
  std::string directory = makeDirectory();
  writeFiles(directory);
  return directory;
}

/// Files that are in one snapshot only, or differ.
std::vector<std::string> differences(const std::map<std::string, std::string> &before,
                                     const std::map<std::string, std::string> &after) {
  std::vector<std::string> names;
  for (const auto &[name, text] : before)
    if (auto found = after.find(name); found == after.end() || found->second != text)
      names.push_back(name);
  for (const auto &[name, text] : after)
    if (!before.count(name))
      names.push_back(name);
  return names;
}

class BadInputs : public ::testing::TestWithParam<BadInput> {};

TEST_P(BadInputs, EndsEveryRankWithAnError) {
  const BadInput &input = GetParam();
  Job job;
  job.ranks = input.ranks;
  job.directory = makeFiles();
  job.commands = {commandOf(input.command)};
  if (!input.commandOfRank1.empty())
    job.commands.push_back(commandOf(input.commandOfRank1));
  auto before = snapshot(job.directory);
  JobResult result = runJob(job);
  EXPECT_GT(result.exitStatus, 0) << result.describe();
  EXPECT_LT(result.seconds, 20);
  for (size_t rank = 0; rank < result.rankStatuses.size(); ++rank) {
    EXPECT_EQ(result.rankStatuses[rank], 1) << result.describe();
    std::string prefix = "rank " + std::to_string(rank) + ": error: ";
    EXPECT_THAT(result.rankOutputs[rank], HasSubstr(prefix));
    for (const std::string &expected : input.expected)
      EXPECT_THAT(result.rankOutputs[rank], HasSubstr(expected));
  }
  EXPECT_THAT(differences(before, snapshot(job.directory)), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Table, BadInputs, ::testing::ValuesIn(badInputs()),
                         [](const auto &info) { return info.param.name; });

// The command that the table varies is a good one; otherwise its errors would prove little.
TEST(BadInput, TheGoodCommandSucceeds) {
  Job job;
  job.ranks = 2;
  job.directory = makeFiles();
  job.commands = {
      commandOf({"run", "--output=loss=loss.npy", "--save-variables=variables", "--metrics=metrics.jsonl"})};
  auto before = snapshot(job.directory);
  JobResult result = runJob(job);
  EXPECT_TRUE(result.succeeded()) << result.describe();
  EXPECT_THAT(differences(before, snapshot(job.directory)),
              ::testing::UnorderedElementsAre("loss.npy", "variables", "metrics.jsonl"));
}

//===----------------------------------------------------------------------===//
// Ranks that end, or stop
//===----------------------------------------------------------------------===//

/// Sends `signal` to rank 1 of 3 once it has trained for a while.
JobResult disturb(const std::string &directory, int signal) {
  Job job;
  job.ranks = 3;
  job.directory = directory;
  job.commands = {{programPath("examples/classifier/classifier"), "--steps=100000000", "--timeout=2",
                   "--enable-zero=stage=3", "--save-variables=variables", "--losses=losses",
                   "--metrics=metrics.jsonl"}};
  bool isSent = false;
  job.watch = [&](const std::map<int64_t, int> &pids) {
    if (isSent || !pids.count(1) || readFile(directory + "/metrics.jsonl").find("\"step\":50,") == std::string::npos)
      return;
    kill(pids.at(1), signal);
    isSent = true;
  };
  JobResult result = runJob(job);
  EXPECT_TRUE(isSent) << result.describe();
  return result;
}

/// The job ends in time, the other ranks name rank 1 and what they waited in, and only the metrics are left: whole
/// lines.
void expectDisturbed(int signal, const std::vector<std::string> &expected) {
  std::string directory = makeDirectory();
  JobResult result = disturb(directory, signal);
  EXPECT_GT(result.exitStatus, 0) << result.describe();
  EXPECT_LT(result.seconds, 30);
  for (size_t rank : {0, 2}) {
    EXPECT_NE(result.rankStatuses[rank], 0);
    EXPECT_THAT(result.rankOutputs[rank], HasSubstr("rank " + std::to_string(rank) + ": error: step "));
    for (const std::string &text : expected)
      EXPECT_THAT(result.rankOutputs[rank], ::testing::ContainsRegex(text));
  }
  auto files = snapshot(directory);
  EXPECT_EQ(files.size(), 1u);
  EXPECT_EQ(files["metrics.jsonl"].back(), '\n');
}

// A rank may wait for several at once: those that wait for rank 1, too.
constexpr char kRank1[] = "waited.* for ranks? ([02], )?1|has lost rank 1",
               kCollective[] = " of '.+' .collective [0-9]+ of @train";

TEST(Disturbed, KilledRankEndsTheJob) { expectDisturbed(SIGKILL, {kRank1, kCollective}); }
TEST(Disturbed, StoppedRankEndsTheJob) { expectDisturbed(SIGSTOP, {kRank1, kCollective, "waited 2s"}); }

} // namespace
} // namespace splitcast
