#include "tests/examples/TrainingRuns.h"

#include "runtime/io/Npy.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
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
  Trained first = train(directory, ranks, with(command, {stepsFlag, "--enable-zero=stage=0"}));
  ASSERT_EQ(countLines(first.losses), steps);
  ASSERT_FALSE(first.variables.empty());
  for (const char *stage : {"1", "2", "3"})
    for (const char *strategy : {"bucket", "tensor", "whole"}) {
      // Parameters of stage 3 as pieces and, by rows, in one copy.
      const char *copies = std::string(stage) == "3" && std::string(strategy) != "tensor" ? ",one-copy=no" : "";
      Command other =
          with(command, {stepsFlag, absl::StrCat("--enable-zero=stage=", stage, ",strategy=", strategy, copies)});
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
std::map<int64_t, std::map<std::string, double>> profiledKinds(const std::string &path, int64_t steps, Rows rows) {
  std::map<int64_t, std::map<std::string, double>> kinds;
  std::map<std::pair<int64_t, int64_t>, double> ends;
  const nlohmann::json trace = nlohmann::json::parse(readFile(path));
  for (const nlohmann::json &event : trace["traceEvents"]) {
    if (event["ph"] != "X")
      continue;
    const int64_t rank = event["pid"];
    double &end = ends[{rank, rows == Rows::InTurn ? 0 : event["tid"].get<int64_t>()}];
    EXPECT_GE(event["ts"].get<double>(), end);
    end = event["ts"].get<double>() + event["dur"].get<double>() - 0.002; // rounded
    kinds[rank][event["cat"]] += event["dur"].get<double>() / static_cast<double>(steps);
  }
  return kinds;
}

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

/// The module with these lines before its first op.
static void addToModule(const std::string &path, const std::vector<std::string> &lines) {
  std::string text = readFile(path);
  const size_t first = text.find("  sbp.variable");
  ASSERT_NE(first, std::string::npos);
  text.insert(first, absl::StrCat(absl::StrJoin(lines, "\n"), "\n"));
  std::ofstream(path) << text;
}

std::string compareWithRun(const Command &command, const std::vector<std::string> &inputs, int64_t ranks,
                           const std::vector<std::string> &decisions, std::pair<const char *, const char *> zero) {
  std::string directory = makeWorkDirectory();
  Trained expected = train(directory, ranks,
                           with(command, {"--steps=12", absl::StrCat("--enable-zero=", zero.first),
                                          "--write-mlir=module.mlir", "--write-inputs=.", "--seed=3"}));
  addToModule(directory + "/module.mlir", decisions);
  Command run = {programPath("compiler/tools/splitcast-run"),
                 "module.mlir",
                 "--function=train",
                 "--seed=3",
                 absl::StrCat("--enable-zero=", zero.second),
                 "--save-variables=other",
                 "--output=loss=loss.npy",
                 "--metrics=metrics.jsonl",
                 "--report"};
  for (const std::string &input : inputs)
    run.push_back("--input=" + input + "=" + input + ".npy");
  JobResult result = runIn(directory, ranks, run);
  EXPECT_TRUE(result.succeeded()) << result.describe();
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
  return result.rankOutputs[0];
}

} // namespace splitcast
