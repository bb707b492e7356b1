//===- MpiBackend.cc - Ranks as processes under mpirun ---------------------===//
//
// Starting mpirun takes longer than most tests, so the first test at a number of ranks runs all of them there, and each
// rank writes a file with one paragraph per test:
//
//   test <name> checks <number>
//     <a failure, indented, on as many lines as it takes>
//
// Once over MPI's messages alone, and once with ranks that read each other's memory.
//
//===----------------------------------------------------------------------===//
#include "runtime/mpi/MpiRuntime.h"
#include "runtime/pull/PullTransport.h"
#include "tests/runtime/conformance/Registry.h"
#include "tests/runtime/mpi/CountingMpi.h"
#include "tests/runtime/mpi/Mpirun.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <sstream>

namespace splitcast::runtime::conformance {
namespace {

/// Set in the processes that are ranks: where they write what they found, and whether they read each other's memory.
constexpr const char *kDirectoryVariable = "SPLITCAST_CONFORMANCE_DIRECTORY";
constexpr const char *kPullsVariable = "SPLITCAST_CONFORMANCE_PULLS";
constexpr double kLimitSeconds = 100;
/// The exit status of ranks that may not read each other's memory.
constexpr int kForbidden = 77;

class MpiRank : public RankContext {
public:
  explicit MpiRank(MpiRuntime &runtime) : runtime(runtime) {}
  int64_t rank() const override { return runtime.rank(); }
  int64_t size() const override { return runtime.size(); }
  std::unique_ptr<Transport> createTransport() override { return *runtime.createTransport(); }
  std::optional<ccl::Traffic> sent() const override { return sentOverMpi(); }

private:
  MpiRuntime &runtime;
};

/// What is read of memory, MPI does not see.
class PullingRank final : public MpiRank {
public:
  PullingRank(MpiRuntime &runtime, std::shared_ptr<PeerMemory> memory) : MpiRank(runtime), memory(std::move(memory)) {}
  std::unique_ptr<Transport> createTransport() override {
    std::unique_ptr<Transport> messages = MpiRank::createTransport();
    return createPullTransport(std::move(messages), MpiRank::createTransport(), memory);
  }
  std::optional<ccl::Traffic> sent() const override { return std::nullopt; }
  bool sharesMemory() const override { return true; }

private:
  std::shared_ptr<PeerMemory> memory;
};

std::string fileOf(const std::string &directory, int64_t rank) { return directory + "/rank" + std::to_string(rank); }

struct Finding {
  int64_t checks = 0;
  std::string failures;
};

/// What one rank found, by test.
std::map<std::string, Finding> readFindings(const std::string &path) {
  std::map<std::string, Finding> findings;
  std::ifstream file(path);
  Finding *last = nullptr;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string test, name, checks;
    if (line.rfind("test ", 0) == 0 && words >> test >> name >> checks)
      words >> (last = &findings[name])->checks;
    else if (last)
      last->failures += line + "\n";
  }
  return findings;
}

class MpiBackend final : public Backend {
public:
  explicit MpiBackend(bool pulls) : pulls(pulls) {}
  std::string name() const override { return pulls ? "MpiPull" : "Mpi"; }

  std::map<std::string, std::string> never() const override {
    return {{"LostRank", "MPI tells no rank that another has died; mpirun ends the job (see tests/runtime/mpi)"}};
  }

  int64_t run(const SuiteTest &test, int64_t ranks) override {
    auto known = found.find(ranks);
    if (known == found.end())
      known = found.emplace(ranks, runAll(ranks)).first;
    if (isForbidden) {
      std::fprintf(stderr, "skipped: processes may not read each other's memory here\n");
      return 1;
    }
    int64_t fewest = INT64_MAX;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const Finding &finding = known->second[rank][test.name];
      EXPECT_EQ(finding.failures, "") << "on rank " << rank << " of " << ranks;
      fewest = std::min(fewest, finding.checks);
    }
    return fewest;
  }

  std::optional<int> runAsRank() override {
    const char *directory = std::getenv(kDirectoryVariable);
    if (!directory || (std::getenv(kPullsVariable) != nullptr) != pulls)
      return std::nullopt;
    auto runtime = MpiRuntime::create();
    if (!runtime.ok())
      return 1;
    std::shared_ptr<PeerMemory> memory;
    if (pulls && !connect(**runtime, memory))
      return kForbidden;
    std::ofstream file(fileOf(directory, (*runtime)->rank()));
    auto excluded = never();
    for (const SuiteTest &test : suiteTests())
      if (excluded.count(test.name) == 0)
        runTest(test, **runtime, memory, file);
    return file.good() ? 0 : 1;
  }

private:
  using Findings = std::vector<std::map<std::string, Finding>>; ///< by rank

  static bool connect(MpiRuntime &runtime, std::shared_ptr<PeerMemory> &memory) {
    auto connected = PeerMemory::connect(*createHostCommunicator(*runtime.createTransport(), {}), true);
    if (!connected.ok() || !(*connected)->whatFailed().empty())
      return false;
    memory = *std::move(connected);
    suiteMemory() = memory->memory();
    return true;
  }

  static void runTest(const SuiteTest &test, MpiRuntime &runtime, const std::shared_ptr<PeerMemory> &memory,
                      std::ostream &file) {
    MpiRank messages(runtime);
    PullingRank pulling(runtime, memory);
    RankContext &context = memory ? static_cast<RankContext &>(pulling) : messages;
    ::testing::TestPartResultArray failures;
    {
      using Reporter = ::testing::ScopedFakeTestPartResultReporter;
      Reporter reporter(Reporter::INTERCEPT_ALL_THREADS, &failures);
      test.body(context);
    }
    file << "test " << test.name << " checks " << context.checks << "\n";
    for (int i = 0; i < failures.size(); ++i) {
      const ::testing::TestPartResult &part = failures.GetTestPartResult(i);
      std::istringstream lines(part.message());
      file << "  " << part.file_name() << ":" << part.line_number() << "\n";
      for (std::string line; std::getline(lines, line);)
        file << "  " << line << "\n";
    }
    file.flush();
  }

  Findings runAll(int64_t ranks) {
    std::string directory = makeTestDirectory();
    setenv(kDirectoryVariable, directory.c_str(), 1);
    if (pulls)
      setenv(kPullsVariable, "1", 1);
    MpirunResult result = runUnderMpirun(ranks, {}, kLimitSeconds);
    isForbidden = result.exitCode == kForbidden;
    unsetenv(kDirectoryVariable);
    unsetenv(kPullsVariable);
    EXPECT_TRUE(result.exitCode == 0 || isForbidden) << result.output;
    Findings findings;
    for (int64_t rank = 0; rank < ranks; ++rank)
      findings.push_back(readFindings(fileOf(directory, rank)));
    return findings;
  }

  const bool pulls;
  bool isForbidden = false;
  std::map<int64_t, Findings> found;
};

RegisterBackend registerMessages(std::make_unique<MpiBackend>(false));
RegisterBackend registerPulls(std::make_unique<MpiBackend>(true));

} // namespace
} // namespace splitcast::runtime::conformance
