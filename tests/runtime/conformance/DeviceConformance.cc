//===- DeviceConformance.cc - The suites on what a program is launched on -------------===//
//
//   conformance [--device=KIND] ...      as one rank, or as one of several, started as any program is
//
// Runs the suites on the device's communicator, on ranks that the launcher has started, and ends with 'N passed, N
// failed' and a status that is not 0 if a rank has failed. What needs ranks of its own (lost ones, timeouts, ranks that
// disagree) is left to the backends that make some.
//
//===----------------------------------------------------------------------===//
#include "compiler/launch/Launch.h"
#include "tests/runtime/conformance/Registry.h"
#include "tests/runtime/conformance/StagedCommunicator.h"

#include "absl/strings/str_cat.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

namespace splitcast::runtime::conformance {
namespace {

const std::set<std::string> &needsRanksOfItsOwn() {
  static const std::set<std::string> tests = {"SilentRank",
                                              "SilentRankOfGroup",
                                              "EarlierCollectiveIsNamed",
                                              "LostRank",
                                              "DifferentPrograms",
                                              "DifferentLengths",
                                              "UnlikeCalls",
                                              "SitesAreLines",
                                              "UnlikeSessions",
                                              "OtherGroupsLearnOfADisagreement",
                                              "TagsWrapAround",
                                              "TimeoutRunsInWaitOnly",
                                              "TimeoutRunsFromTheLastProgress"};
  return tests;
}

class DeviceRank final : public RankContext {
public:
  explicit DeviceRank(Launch &launch) : launch(launch) {}
  int64_t rank() const override { return launch.rank(); }
  int64_t size() const override { return launch.size(); }
  std::unique_ptr<Transport> createTransport() override { return nullptr; }
  std::unique_ptr<Communicator> createCommunicator(const HostCommunicatorOptions &) override {
    std::vector<int64_t> all(launch.size());
    std::iota(all.begin(), all.end(), 0);
    auto group = launch.communicator().split(all, {"start of a test"});
    absl::StatusOr<std::unique_ptr<Communicator>> staged =
        group.ok() ? createStagedCommunicator(*std::move(group), launch.device()) : group.status();
    EXPECT_TRUE(staged.ok()) << staged.status();
    return staged.ok() ? *std::move(staged) : nullptr;
  }
  std::optional<ccl::Traffic> sent() const override { return std::nullopt; }

private:
  Launch &launch;
};

/// What this rank found wrong, or checked nothing of; OK else.
absl::Status runTest(const SuiteTest &test, Launch &launch) {
  DeviceRank context(launch);
  ::testing::TestPartResultArray failures;
  {
    using Reporter = ::testing::ScopedFakeTestPartResultReporter;
    Reporter reporter(Reporter::INTERCEPT_ALL_THREADS, &failures);
    test.body(context);
  }
  if (failures.size() > 0)
    return absl::InternalError(failures.GetTestPartResult(0).message());
  return context.checks > 0 ? absl::OkStatus() : absl::InternalError("checked nothing");
}

absl::Status runAll(Launch &launch) {
  int64_t passed = 0, failed = 0;
  for (const SuiteTest &test : suiteTests()) {
    if (needsRanksOfItsOwn().count(test.name) != 0)
      continue;
    const absl::Status status = launch.agree(runTest(test, launch), test.name);
    ++(status.ok() ? passed : failed);
    if (launch.rank() == 0)
      printf("%-28s %s\n", test.name.c_str(), status.ok() ? "passed" : std::string(status.message()).c_str());
  }
  if (launch.rank() == 0)
    printf("on %ld ranks\n%ld passed, %ld failed\n", launch.size(), passed, failed);
  return failed == 0 && passed > 0 ? absl::OkStatus() : absl::InternalError(absl::StrCat(failed, " tests failed"));
}

} // namespace
} // namespace splitcast::runtime::conformance

int main(int argc, char **argv) {
  using namespace splitcast;
  Flags flags("conformance", "[flags]\nRuns what every device and communicator must do on this one.");
  LaunchOptions options;
  options.addTo(flags);
  return launchMain(flags, argc, argv, options, runtime::conformance::runAll);
}
