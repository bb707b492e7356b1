// Do the random graphs of the slow suite hold every op?
#include "tests/property/GraphCheck.h"

#include "tests/differential/PassList.h"

#include "gtest/gtest.h"

namespace splitcast::property {
namespace {

TEST(CoverageTest, EveryOpOccursInTwentyGraphs) {
  std::map<std::string, int64_t> graphs;
  for (int64_t seed = FIRST; seed < FIRST + GRAPHS; ++seed) {
    absl::StatusOr<std::set<std::string>> ops = opsOf(seed);
    ASSERT_TRUE(ops.ok()) << "seed " << seed << ": " << ops.status();
    for (const std::string &op : *ops)
      ++graphs[op];
  }
  int64_t registered = 0;
  std::unique_ptr<mlir::MLIRContext> context = differential::createContext();
  for (mlir::RegisteredOperationName name : context->getRegisteredOperations()) {
    std::string dialect = name.getDialectNamespace().str();
    if (dialect != "sbp" && dialect != "nn" && dialect != "ccl" && dialect != "exec")
      continue;
    ++registered;
    EXPECT_GE(graphs[name.getStringRef().str()], 20) << name.getStringRef().str();
  }
  EXPECT_GT(registered, 40);
}

} // namespace
} // namespace splitcast::property
