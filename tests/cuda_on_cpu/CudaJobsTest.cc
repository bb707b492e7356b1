//===- CudaJobsTest.cc - Training on GPUs that the CPU plays --------------------------------------------------===//
//
// The programs, the backend and its kernels are those that a GPU gets; CUDA's libraries are libcuda_on_cpu.so, which
// runs the PTX, checks every access and every race, and lets streams run late. What it cannot know is what its authors
// believe wrongly of CUDA.
//
//===----------------------------------------------------------------------===//
#include "tests/examples/TrainingRuns.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>

namespace splitcast {
namespace {

using ::testing::HasSubstr;

/// `command` on CUDA's devices, with these variables.
Command onCuda(const Command &command, const std::vector<std::string> &variables) {
  Command all = {"env", "LD_PRELOAD=" + programPath("tests/cuda_on_cpu/libcuda_on_cpu.so"),
                 "SPLITCAST_CUDA_BACKEND=" + programPath("compiler/launch/libsplitcast-cuda.so")};
  all.insert(all.end(), variables.begin(), variables.end());
  all.insert(all.end(), command.begin(), command.end());
  return with(all, {"--device=cuda"});
}

Command gpt() {
  return {programPath("examples/gpt/gpt"),
          "--text=text",
          "--layers=2",
          "--heads=2",
          "--width=20",
          "--context=13",
          "--batch=12",
          "--dropout=0.1",
          "--sample=0"};
}
/// Rows that are a whole number of a warp's vectors, as those of large models are; and gradients whose norm the blocks
/// of the whole device add up.
Command gptOfWholeVectors() {
  return {programPath("examples/gpt/gpt"),
          "--text=text",
          "--layers=1",
          "--heads=2",
          "--width=128",
          "--context=16",
          "--batch=12",
          "--clip-norm=0.5",
          "--sample=0"};
}
Command textModel() {
  return {programPath("examples/text_model/text_model"),
          "--text=text",
          "--batch=12",
          "--hidden=36",
          "--window=5",
          "--width=6"};
}
Command classifier() { return {programPath("examples/classifier/classifier")}; }
Command recipe() { return {programPath("examples/recipe/recipe"), "--layers=3", "--width=33", "--batch=5"}; }

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

struct Setting {
  const char *zero;
  std::vector<std::string> variables;
};

/// Trains at all stages, with graphs and without, on streams that run late in several ways: the same bits, and near the
/// CPU's losses.
void compareWithCpu(const Command &program, int64_t ranks, int64_t steps, const std::string &type = "own") {
  const std::string directory = makeWorkDirectory(), computes = ",compute-type=" + type;
  const double tolerance = type == "own" ? 1e-3 : 1e-2;
  const Command command = with(program, {"--steps=" + std::to_string(steps)});
  const std::vector<float> expected =
      exactLosses(train(directory, ranks, with(command, {"--enable-zero=stage=1" + computes})).losses);
  ASSERT_EQ(expected.size(), static_cast<size_t>(steps));
  const std::string own = "SPLITCAST_CUDA_ON_CPU_DEVICES=" + std::to_string(ranks);
  const std::vector<Setting> settings = {
      {"stage=0", {own}},
      {"stage=1", {own, "SPLITCAST_CUDA_ON_CPU_SEED=1", "SPLITCAST_NCCL_ROUND_KIB=1"}},
      {"stage=2,strategy=tensor", {own, "SPLITCAST_CUDA_ON_CPU_SEED=2"}},
      {"stage=2", {own, "SPLITCAST_CUDA_GRAPHS=0", "SPLITCAST_CUDA_ON_CPU_SEED=3"}},
      {"stage=3",
       {"SPLITCAST_SHARE_GPUS=1", "SPLITCAST_CUDA_ON_CPU_SEED=4", "SPLITCAST_TIME_PRODUCTS=0.0001",
        "SPLITCAST_NCCL_ROUND_KIB=1"}},
      {"stage=3,strategy=tensor",
       {own, "SPLITCAST_CUDA_GRAPHS=0", "SPLITCAST_NCCL_WINDOWS=1", "SPLITCAST_CUDA_ON_CPU_NCCL_VERSION=23007"}},
  };
  Trained first;
  for (const Setting &setting : settings) {
    const std::string zero = std::string("--enable-zero=") + setting.zero + computes;
    Trained trained = train(directory, ranks, onCuda(with(command, {zero}), setting.variables));
    if (first.losses.empty())
      first = trained;
    EXPECT_EQ(trained.losses, first.losses) << zero;
    EXPECT_TRUE(trained.variables == first.variables) << zero;
  }
  const std::vector<float> losses = exactLosses(first.losses);
  ASSERT_EQ(losses.size(), expected.size());
  for (size_t step = 0; step < losses.size(); ++step)
    EXPECT_NEAR(losses[step], expected[step], tolerance * std::abs(expected[step])) << "step " << step;
}

class CudaRanks : public ::testing::TestWithParam<int64_t> {};

TEST_P(CudaRanks, TrainTheClassifierToTheSameBits) { compareWithCpu(classifier(), GetParam(), 6); }
TEST_P(CudaRanks, TrainTheTextModelToTheSameBits) { compareWithCpu(textModel(), GetParam(), 6); }
TEST_P(CudaRanks, TrainTheRecipeToTheSameBits) { compareWithCpu(recipe(), GetParam(), 3); }
TEST_P(CudaRanks, TrainTheLanguageModelToTheSameBits) { compareWithCpu(gpt(), GetParam(), 3); }
TEST_P(CudaRanks, TrainTheLanguageModelInBf16ToTheSameBits) {
  compareWithCpu(gptOfWholeVectors(), GetParam(), 3, "bf16");
}

// A step in four micro-batches is three plans: each is a graph of its own from its second run on.
TEST_P(CudaRanks, CaptureEachSegmentOfAStep) {
  const int64_t ranks = GetParam();
  const std::string directory = makeWorkDirectory();
  const Command command = with(gpt(), {"--steps=3", "--accumulate=4"});
  const std::vector<float> expected = exactLosses(train(directory, ranks, command).losses);
  const std::string own = "SPLITCAST_CUDA_ON_CPU_DEVICES=" + std::to_string(ranks);
  const std::string report = directory + "/report";
  Trained first;
  for (const Setting &setting : std::vector<Setting>{
           {"stage=2", {own, "SPLITCAST_CUDA_GRAPHS=0"}},
           {"stage=3", {own, "SPLITCAST_CUDA_ON_CPU_SEED=5", "SPLITCAST_CUDA_ON_CPU_REPORT=" + report}}}) {
    Trained trained = train(directory, ranks,
                            onCuda(with(command, {std::string("--enable-zero=") + setting.zero}), setting.variables));
    if (first.losses.empty())
      first = trained;
    EXPECT_EQ(trained.losses, first.losses) << setting.zero;
    EXPECT_TRUE(trained.variables == first.variables) << setting.zero;
  }
  std::istringstream lines(readFile(report));
  int64_t processes = 0;
  for (std::string line; std::getline(lines, line); ++processes)
    EXPECT_EQ(nlohmann::json::parse(line)["graph_launches"], 2 + 5 + 2); // of 3 runs, 6 and 3
  EXPECT_EQ(processes, ranks);
  const std::vector<float> losses = exactLosses(first.losses);
  ASSERT_EQ(losses.size(), expected.size());
  for (size_t step = 0; step < losses.size(); ++step)
    EXPECT_NEAR(losses[step], expected[step], 1e-3 * std::abs(expected[step])) << "step " << step;
}

INSTANTIATE_TEST_SUITE_P(Examples, CudaRanks, ::testing::Values(1, 3, 4),
                         [](const auto &info) { return std::to_string(info.param); });

// NCCL's own sums are right, in another order.
TEST(CudaJobs, NcclsOwnSumsAreNearToo) {
  const std::string directory = makeWorkDirectory();
  const Command command = with(textModel(), {"--steps=4", "--enable-zero=stage=2"});
  const std::vector<float> expected = exactLosses(train(directory, 3, command).losses);
  const Command onGpu = onCuda(command, {"SPLITCAST_CUDA_ON_CPU_DEVICES=3", "SPLITCAST_NCCL_SUMS=1"});
  const std::vector<float> losses = exactLosses(train(directory, 3, onGpu).losses);
  ASSERT_EQ(losses.size(), 4u);
  for (size_t step = 0; step < losses.size(); ++step)
    EXPECT_NEAR(losses[step], expected[step], 1e-3 * expected[step]);
}

// With events between the ops; losses are those without.
TEST(CudaJobs, ProfilesSayWhereTheTimeGoes) {
  const std::string directory = makeWorkDirectory();
  const Command command = onCuda(with(recipe(), {"--steps=4", "--enable-zero=stage=3"}),
                                 {"SPLITCAST_CUDA_ON_CPU_DEVICES=3", "SPLITCAST_CUDA_ON_CPU_SEED=1"});
  const Trained plain = train(directory, 3, command);
  const JobResult result = runIn(directory, 3, with(command, {"--profile=profile.json", "--losses=others"}));
  ASSERT_TRUE(result.succeeded()) << result.describe();
  EXPECT_EQ(readFile(directory + "/others"), plain.losses);
  const auto kinds = profiledKinds(directory + "/profile.json", 3, Rows::SideBySide); // the first step is left out
  ASSERT_EQ(kinds.size(), 3u);
  for (const auto &[rank, ofRank] : kinds)
    for (const char *kind : {"kernel", "matmul", "all_gather", "reduce_scatter"}) {
      ASSERT_EQ(ofRank.count(kind), 1u) << kind << " of rank " << rank;
      EXPECT_GT(ofRank.at(kind), 10) << kind << " of rank " << rank; // enqueuing takes less
    }
  for (const char *text :
       {"rank 0's ops, without the first run of each", "GB/s (read and written)", "matmul m = 5, n = 33"})
    EXPECT_THAT(result.rankOutputs[0], HasSubstr(text));
}

// Small ones, to see that they run.
TEST(CudaJobs, FiguresOfTheDeviceAreMeasured) {
  const JobResult result = runIn(makeWorkDirectory(), 1,
                                 onCuda({programPath("benchmarks/device/device_figures"), "--elements=100", "--size=8",
                                         "--products=2", "--launches=3", "--rounds=1"},
                                        {}));
  ASSERT_TRUE(result.succeeded()) << result.describe();
  for (const char *what : {"executor", "adamw", "products"})
    EXPECT_THAT(result.rankOutputs[0], HasSubstr(std::string("{\"what\":\"") + what + "\""));
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

// What the compiler predicts is what the device gives away, apart from what libraries keep for themselves: products' 32
// MiB, and the word of a check of indices. All else comes back.
TEST(CudaJobs, PredictedBytesAreAllocated) {
  constexpr int64_t kOfProducts = int64_t{32} << 20, kOfIndices = sizeof(uint64_t);
  for (const char *stage : {"--enable-zero=stage=0", "--enable-zero=stage=3"}) {
    const std::string directory = makeWorkDirectory();
    const Command command = with(classifier(), {"--steps=3", "--report", stage});
    const JobResult result = runIn(
        directory, 3,
        onCuda(command, {"SPLITCAST_CUDA_ON_CPU_DEVICES=3", "SPLITCAST_CUDA_ON_CPU_REPORT=" + directory + "/report"}));
    ASSERT_TRUE(result.succeeded()) << result.describe();
    std::istringstream lines(readFile(directory + "/report"));
    int processes = 0;
    int64_t most = 0;
    for (std::string line; std::getline(lines, line); ++processes) {
      const nlohmann::json report = nlohmann::json::parse(line);
      EXPECT_EQ(report["graph_launches"], 2); // the first step is not a graph's
      EXPECT_EQ(report["device_bytes_at_exit"], kOfProducts);
      most = std::max(most, report["most_device_bytes"].get<int64_t>() - kOfProducts - kOfIndices);
    }
    EXPECT_EQ(processes, 3);
    const double predicted = std::atof(valueAfter(result.rankOutputs[0], "memory: predicted peak ").c_str());
    EXPECT_GT(predicted, 0);
    EXPECT_NEAR(static_cast<double>(most) / 1e6, predicted, 0.0005); // as it is printed
  }
}

//===----------------------------------------------------------------------===//
// What goes wrong
//===----------------------------------------------------------------------===//

/// Every rank ends by itself, with an error that says this.
void expectErrors(const Command &command, int64_t ranks, const std::vector<std::string> &expected) {
  const std::string directory = makeWorkDirectory();
  const JobResult result = runIn(directory, ranks, with(command, {"--losses=losses", "--save-variables=variables"}));
  EXPECT_GT(result.exitStatus, 0) << result.describe();
  for (size_t rank = 0; rank < result.rankStatuses.size(); ++rank) {
    EXPECT_EQ(result.rankStatuses[rank], 1) << result.describe();
    EXPECT_THAT(result.rankOutputs[rank], HasSubstr("rank " + std::to_string(rank) + ": error: "));
    for (const std::string &text : expected)
      EXPECT_THAT(result.rankOutputs[rank], HasSubstr(text));
  }
  EXPECT_EQ(snapshot(directory).size(), 1u); // the text
}

TEST(CudaErrors, AttentionMayGiveOtherBits) {
  expectErrors(onCuda(with(gptOfWholeVectors(), {"--enable-zero=stage=1,compute-type=bf16"}),
                      {"SPLITCAST_CUDA_ON_CPU_DEVICES=3", "SPLITCAST_CUDA_ON_CPU_NONDETERMINISTIC=1"}),
               3, {"library call 'attention'", "may give other bits from run to run"});
}

TEST(CudaErrors, ACudnnThatReadsInvalidMemory) {
  expectErrors(onCuda(with(gptOfWholeVectors(), {"--enable-zero=stage=1,compute-type=bf16"}),
                      {"SPLITCAST_CUDA_ON_CPU_DEVICES=3", "SPLITCAST_CUDA_ON_CPU_CUDNN_VERSION=91500"}),
               3, {"library call 'attention'", "cuDNN 9.15.0", "9.15.1 or later"});
}

TEST(CudaErrors, SettingsThatAreNoNumbers) {
  for (const auto &[name, value] : {std::pair{"SPLITCAST_TIME_PRODUCTS", "abc"},
                                    {"SPLITCAST_TIME_PRODUCTS", "-1"},
                                    {"SPLITCAST_NCCL_ROUND_KIB", "0"},
                                    {"SPLITCAST_NCCL_ROUND_KIB", "32769"}})
    expectErrors(onCuda(textModel(), {"SPLITCAST_CUDA_ON_CPU_DEVICES=3", std::string(name) + "=" + value}), 3,
                 {std::string(name) + " is '" + value + "'"});
}

// With different ones, ranks would wait for each other in different collectives, or compute different bits.
TEST(CudaErrors, SettingsThatDiffer) {
  for (const char *setting :
       {"SPLITCAST_NCCL_SUMS=1", "SPLITCAST_TF32=1", "SPLITCAST_CUDA_GRAPHS=0", "SPLITCAST_NCCL_ROUND_KIB=5",
        "SPLITCAST_TIME_PRODUCTS=3", "SPLITCAST_NCCL_WINDOWS=1", "SPLITCAST_SHARE_GPUS=1"}) {
    Job job;
    job.ranks = 3;
    job.directory = makeWorkDirectory();
    for (int rank = 0; rank < 3; ++rank) {
      std::vector<std::string> variables = {"SPLITCAST_CUDA_ON_CPU_DEVICES=3"};
      if (rank == 1)
        variables.push_back(setting);
      job.commands.push_back(onCuda(with(textModel(), {"--steps=2"}), variables));
    }
    const JobResult result = runJob(job);
    EXPECT_FALSE(result.succeeded());
    for (const std::string &output : result.rankOutputs)
      EXPECT_THAT(output, HasSubstr(std::string("but rank 1 has ") + setting + "; give all ranks the same"));
  }
}

TEST(CudaErrors, NoDevice) { expectErrors(onCuda(textModel(), {"SPLITCAST_CUDA_ON_CPU_DEVICES=0"}), 3, {"no GPU"}); }

TEST(CudaErrors, MoreRanksThanDevices) {
  expectErrors(onCuda(textModel(), {"SPLITCAST_CUDA_ON_CPU_DEVICES=2"}), 3,
               {"3 ranks", "2 GPUs", "SPLITCAST_SHARE_GPUS=1"});
}

// As a scheduler gives them: each rank sees one device, its own; two of three that see one and the same are an error.
TEST(CudaJobs, EachRankSeesOneDeviceOfItsOwn) {
  for (const bool areDifferent : {true, false}) {
    Job job;
    job.ranks = 3;
    job.directory = makeWorkDirectory();
    for (int rank = 0; rank < 3; ++rank)
      job.commands.push_back(onCuda(with(textModel(), {"--steps=2"}),
                                    {"SPLITCAST_CUDA_ON_CPU_DEVICES=1",
                                     "SPLITCAST_CUDA_ON_CPU_FIRST=" + std::to_string(areDifferent ? rank : rank / 2)}));
    const JobResult result = runJob(job);
    EXPECT_EQ(result.succeeded(), areDifferent) << result.describe();
    for (const std::string &output : result.rankOutputs)
      if (!areDifferent)
        EXPECT_THAT(output, HasSubstr("ranks 0 and 1 have the same GPU"));
  }
}

TEST(CudaErrors, OutOfMemory) {
  expectErrors(onCuda(textModel(), {"SPLITCAST_CUDA_ON_CPU_DEVICES=3", "SPLITCAST_CUDA_ON_CPU_BYTES=100000"}), 3,
               {"cannot allocate", "a higher stage"});
}

TEST(CudaErrors, NoToolkitWhereItIsSaidToBe) {
  expectErrors(onCuda(textModel(), {"SPLITCAST_CUDA_ON_CPU_DEVICES=3", "CUDA_HOME=/nowhere"}), 3,
               {"CUDA_HOME is '/nowhere'", "libdevice"});
}

/// Sends `signal` to rank 1 of 3 once it trains: the others end with an error that says one of these.
/// Without mpirun, which ends them itself, they end by themselves.
void expectOthersEnd(int signal, const std::vector<std::string> &variables, const std::string &pattern,
                     bool byThemselves = false) {
  Job job;
  job.ranks = 3;
  job.byVariables = byThemselves;
  job.directory = makeWorkDirectory();
  // Who is stopped is missed after this time, who is killed at once; before the first step it is what ranks may differ
  // by.
  const std::string timeout = signal == SIGKILL ? "--timeout=20" : "--timeout=5";
  job.commands = {onCuda(with(textModel(), {"--steps=100000000", timeout, "--metrics=metrics"}), variables)};
  bool isSent = false;
  job.watch = [&](const std::map<int64_t, int> &pids) {
    if (!isSent && pids.count(1) && !readFile(job.directory + "/metrics").empty())
      isSent = kill(pids.at(1), signal) == 0;
  };
  const JobResult result = runJob(job);
  EXPECT_TRUE(isSent);
  for (int rank : {0, 2}) {
    EXPECT_NE(result.rankStatuses[rank], 0) << result.describe();
    EXPECT_THAT(result.rankOutputs[rank], ::testing::ContainsRegex(pattern));
    EXPECT_THAT(result.rankOutputs[rank], ::testing::Not(HasSubstr("cuda_on_cpu: error"))); // memory that is gone, say
  }
}

TEST(CudaErrors, AKilledRankEndsTheOthers) {
  for (const char *graphs : {"SPLITCAST_CUDA_GRAPHS=0", "SPLITCAST_CUDA_GRAPHS=1"})
    expectOthersEnd(SIGKILL, {"SPLITCAST_CUDA_ON_CPU_DEVICES=3", graphs},
                    "error: step .*(NCCL: a rank is gone|start of a run: .*while it waited for rank 1)");
}

// Whatever hangs after the error, its text comes, and the process ends.
TEST(CudaErrors, AnAbortThatHangsEndsToo) {
  expectOthersEnd(SIGKILL, {"SPLITCAST_CUDA_ON_CPU_DEVICES=3", "SPLITCAST_CUDA_ON_CPU_ABORT_HANGS=1"},
                  "error: .*NCCL: a rank is gone", /*byThemselves=*/true);
}

TEST(CudaErrors, AStoppedRankEndsTheOthers) {
  for (const char *graphs : {"SPLITCAST_CUDA_GRAPHS=0", "SPLITCAST_CUDA_GRAPHS=1"})
    expectOthersEnd(SIGSTOP, {"SPLITCAST_CUDA_ON_CPU_DEVICES=3", graphs},
                    "error: step .*(has not answered within 5s|has waited 5s for rank 1 with no answer)");
}

} // namespace
} // namespace splitcast
