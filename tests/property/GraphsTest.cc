// Random graphs through every pass. The seeds of this binary: FIRST to FIRST + GRAPHS - 1, as its BUILD rule says; of
// each twenty LEAST_EXACT at least are exact.
#include "tests/property/GraphCheck.h"

#include "gtest/gtest.h"

#include <cstdlib>

namespace splitcast::property {
namespace {

constexpr int64_t kGraphsPerTest = 20;

/// Twenty graphs a test, so that Bazel can spread them over shards.
class GraphsTest : public testing::TestWithParam<int64_t> {};

TEST_P(GraphsTest, EveryPassKeepsWhatTheyMean) {
  GraphCheckOptions options;
  options.objectCacheDir = testing::TempDir() + "/objects";
  int64_t exact = 0, roundedApart = 0;
  for (int64_t seed = GetParam(); seed < GetParam() + kGraphsPerTest; ++seed) {
    options.runsPlan = seed % PLAN_EVERY == 0;
    GraphCheckResult result = checkGraph(seed, options);
    EXPECT_TRUE(result.status.ok()) << result.status;
    exact += result.isExact;
    roundedApart += result.isRoundedApart;
  }
  // Else the comparison would be with a tolerance nearly everywhere. How many are exact is a matter of chance.
  EXPECT_GE(exact, LEAST_EXACT);
  // Rarely does a sum's order show; a kernel that rounds twice where its op rounds once shows often.
  EXPECT_LE(roundedApart, 1);
}

INSTANTIATE_TEST_SUITE_P(Seeds, GraphsTest, testing::Range<int64_t>(FIRST, FIRST + GRAPHS, kGraphsPerTest));

} // namespace
} // namespace splitcast::property
