// Do the random graphs of the slow suite hold every op, also of small floats and of square tensors?
#include "tests/property/GraphCheck.h"

#include "tests/differential/PassList.h"
#include "tests/property/ModelState.h"

#include "gtest/gtest.h"

namespace splitcast::property {
namespace {

/// How many graphs hold an op.
class Counts {
public:
  void add(const std::set<std::string> &ops) {
    graphs += !ops.empty();
    for (const std::string &op : ops)
      ++byOp[op];
  }
  int64_t of(const std::string &op) const {
    auto known = byOp.find(op);
    return known == byOp.end() ? 0 : known->second;
  }

  int64_t graphs = 0; ///< that hold any

private:
  std::map<std::string, int64_t> byOp;
};

template <typename... Sets> std::set<std::string> unionOf(const Sets &...sets) {
  std::set<std::string> result;
  (result.insert(sets.begin(), sets.end()), ...);
  return result;
}

class CoverageTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    for (int64_t seed = FIRST; seed < FIRST + GRAPHS; ++seed) {
      absl::StatusOr<GraphOps> ops = opsOf(seed);
      ASSERT_TRUE(ops.ok()) << "seed " << seed << ": " << ops.status();
      all.add(ops->all);
      features.add(ops->features);
      bf16.add(ops->ofBF16);
      f16.add(ops->ofF16);
      halves.add(unionOf(ops->ofBF16, ops->ofF16));
      splitHalves.add(ops->ofSplitHalves);
      squares.add(unionOf(ops->ofSquares, ops->ofCubes));
      cubes.add(ops->ofCubes);
    }
  }

  static std::vector<std::string> opsOfDialects(const std::set<std::string> &dialects) {
    std::unique_ptr<mlir::MLIRContext> context = differential::createContext();
    std::vector<std::string> names;
    for (mlir::RegisteredOperationName name : context->getRegisteredOperations())
      if (dialects.count(name.getDialectNamespace().str()))
        names.push_back(name.getStringRef().str());
    return names;
  }

  static inline Counts all, features, bf16, f16, halves, splitHalves, squares, cubes;
};

TEST_F(CoverageTest, EveryOpOccursInTwentyGraphs) {
  const std::vector<std::string> ops = opsOfDialects({"sbp", "nn", "ccl", "exec"});
  for (const std::string &op : ops)
    EXPECT_GE(all.of(op), 20) << op;
  EXPECT_GT(ops.size(), 40U);
}

TEST_F(CoverageTest, EveryFeatureOccursInTwentyGraphs) {
  for (Feature feature : allFeatures()) {
    std::printf("%s: %ld of %d graphs\n", toString(feature), features.of(toString(feature)), GRAPHS);
    EXPECT_GE(features.of(toString(feature)), 20) << toString(feature);
  }
}

TEST_F(CoverageTest, EveryKindOccursInThirtyGraphs) {
  for (Feature kind : {Feature::RecomputedBlocks, Feature::PipelinedNorms, Feature::ReproduciblePipelines,
                       Feature::MaskedScores, Feature::WideAddends, Feature::LargeLogits, Feature::SessionTurns})
    EXPECT_GE(features.of(toString(kind)), 30) << toString(kind);
}

TEST_F(CoverageTest, AFifthOfTheGraphsHasSmallFloats) {
  EXPECT_GE(halves.graphs, GRAPHS / 5);
  EXPECT_GE(bf16.graphs, GRAPHS / 10);
  EXPECT_GE(f16.graphs, GRAPHS / 10);
  // Several ranks hold different ones.
  EXPECT_GE(splitHalves.graphs, GRAPHS / 20);
}

TEST_F(CoverageTest, EveryOpButTheLossTakesSmallFloats) {
  // Exact sums stand where addends are summed: see below.
  const std::set<std::string> others = {"nn.minimize",  "nn.exact_part",     "nn.exact_sum", "nn.exact_rest",
                                        "nn.sum_parts", "nn.total_of_parts", "nn.nonfinite"};
  for (const std::string &op : opsOfDialects({"nn"}))
    if (others.count(op) == 0)
      EXPECT_GE(halves.of(op), 3) << op;
  for (const char *op : {"ccl.all_gather", "ccl.all_to_all", "ccl.pack", "ccl.view"})
    EXPECT_GE(halves.of(op), 5) << op;
  // Whose addends each rank rounds: see GraphGenerator.cc.
  for (const char *op : {"ccl.all_reduce", "ccl.reduce_scatter"})
    EXPECT_EQ(halves.of(op), 0) << op;
}

TEST_F(CoverageTest, EveryOpTakesTensorsOfOneExtent) {
  EXPECT_GE(squares.graphs, GRAPHS / 3);
  EXPECT_GE(cubes.graphs, GRAPHS / 10);
  const std::set<std::string> others = {"nn.minimize", "nn.sum_parts", "nn.total_of_parts"}; // of 24 numbers
  for (const std::string &op : opsOfDialects({"nn"}))
    if (others.count(op) == 0)
      EXPECT_GE(squares.of(op), 6) << op;
}

} // namespace
} // namespace splitcast::property
