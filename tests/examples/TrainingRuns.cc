#include "tests/examples/TrainingRuns.h"

#include "runtime/io/Npy.h"

#include <algorithm>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace splitcast {

using ::testing::HasSubstr;

Command with(Command command, const std::vector<std::string> &arguments) {
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

/// A directory with the text that the language model reads.
std::string makeWorkDirectory() {
  std::string directory = makeDirectory();
  std::ostringstream text;
  for (int64_t i = 0; i < 500; ++i)
    text << "Line " << i << " is as good as line " << i * 7919 % 500 << ", or better.\n";
  writeFile(directory + "/text", text.str());
  return directory;
}

JobResult runIn(const std::string &directory, int64_t ranks, const Command &command, int64_t limitSeconds) {
  Job job;
  job.commands = {with(command, {"--timeout=60"})};
  job.ranks = ranks;
  job.directory = directory;
  job.limitSeconds = limitSeconds;
  return runJob(job);
}

Trained train(const std::string &directory, int64_t ranks, const Command &command) {
  JobResult result = runIn(directory, ranks, with(command, {"--losses=losses", "--save-variables=variables"}));
  EXPECT_TRUE(result.succeeded()) << result.describe();
  return {readFile(directory + "/losses"), readFile(directory + "/variables")};
}

static int64_t countLines(const std::string &text) { return std::count(text.begin(), text.end(), '\n'); }

/// Trains with all stages and strategies, and compares with the first.
void compareAll(const Command &command, int64_t ranks, int64_t steps) {
  std::string directory = makeWorkDirectory();
  std::string stepsFlag = "--steps=" + std::to_string(steps);
  Trained first = train(directory, ranks, with(command, {stepsFlag, "--zero-stage=0"}));
  ASSERT_EQ(countLines(first.losses), steps);
  ASSERT_FALSE(first.variables.empty());
  for (const char *stage : {"0", "1", "2", "3"})
    for (const char *strategy : {"bucket", "tensor"}) {
      Command other =
          with(command, {stepsFlag, std::string("--zero-stage=") + stage, std::string("--strategy=") + strategy});
      Trained trained = train(directory, ranks, other);
      EXPECT_EQ(trained.losses, first.losses) << ranks << " ranks, stage " << stage << ", " << strategy;
      EXPECT_TRUE(trained.variables == first.variables) << ranks << " ranks, stage " << stage << ", " << strategy;
    }
}

/// What follows `label` in the output, up to the line's end.
std::string valueAfter(const std::string &output, const std::string &label) {
  size_t begin = output.find(label);
  if (begin == std::string::npos)
    return "";
  begin += label.size();
  return output.substr(begin, output.find('\n', begin) - begin);
}

/// The losses in a file of an example, from their exact form.
std::vector<float> exactLosses(const std::string &text) {
  std::istringstream lines(text);
  std::vector<float> losses;
  for (std::string step, rounded, exact; lines >> step >> rounded >> exact;)
    losses.push_back(std::strtof(exact.c_str(), nullptr));
  return losses;
}

std::vector<float> npyFloats(const std::string &path) {
  absl::StatusOr<runtime::NpyFile> file = runtime::NpyFile::open(path);
  std::vector<float> values(file.ok() ? file->numElements() : 0);
  EXPECT_TRUE(file.ok() && file->read(0, file->numElements(), values.data()).ok()) << path;
  return values;
}

/// Trains with the example, and then with splitcast-run what the example has written.
void compareWithRun(const Command &command, const std::vector<std::string> &inputs, int64_t ranks) {
  std::string directory = makeWorkDirectory();
  Trained expected = train(
      directory, ranks,
      with(command, {"--steps=12", "--zero-stage=2", "--write-mlir=module.mlir", "--write-inputs=.", "--seed=3"}));
  Command run = {programPath("compiler/tools/splitcast-run"),
                 "module.mlir",
                 "--function=train",
                 "--seed=3",
                 "--enable-zero=stage=3,strategy=tensor",
                 "--save-variables=other",
                 "--output=loss=loss.npy",
                 "--metrics=metrics.jsonl",
                 "--report"};
  for (const std::string &input : inputs)
    run.push_back("--input=" + input + "=" + input + ".npy");
  JobResult result = runIn(directory, ranks, run);
  ASSERT_TRUE(result.succeeded()) << result.describe();
  EXPECT_THAT(result.rankOutputs[0], HasSubstr("predicted peak"));
  EXPECT_TRUE(readFile(directory + "/other") == expected.variables);
  std::vector<float> losses = exactLosses(expected.losses);
  EXPECT_EQ(losses.size(), 12u);
  EXPECT_EQ(npyFloats(directory + "/loss.npy"), losses);
  std::istringstream metrics(readFile(directory + "/metrics.jsonl"));
  size_t step = 0;
  for (std::string line; std::getline(metrics, line); ++step) {
    nlohmann::json object = nlohmann::json::parse(line);
    EXPECT_EQ(object["step"], step + 1);
    EXPECT_EQ(object["loss"].get<float>(), losses.at(step));
    EXPECT_GT(object["seconds"].get<double>(), 0);
  }
  EXPECT_EQ(step, losses.size());
}

} // namespace splitcast
