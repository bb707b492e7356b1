// The solver: against all combinations of rows where the graph is a tree, against the walk where it is not.
#include "tests/dialects/sbp/algebra/SolverGraphs.h"
#include "tests/dialects/sbp/algebra/SolverSearch.h"

#include "gtest/gtest.h"

#include <cstdio>

namespace splitcast::sbp {
namespace {

const Sbp b = Sbp::broadcast(), s0 = Sbp::split(0), s1 = Sbp::split(1);

TEST(SolverTest, HeaderExample) {
  Graph graph({4});
  int x = graph.given({64, 8}, {s0}), w = graph.given({8, 4096}, {b});
  int h = graph.matmul(x, w);
  graph.softmax(h, 0);
  Solution walked = walk(graph.problem), solved = solve(graph.problem);
  EXPECT_EQ(walked.assignment.tensors[h], (NdSbp{s0}));
  EXPECT_EQ(walked.assignment.score.cost, 196608);
  EXPECT_EQ(solved.assignment.tensors[h], (NdSbp{s1}));
  EXPECT_EQ(solved.assignment.ops[0].row.operands, (std::vector<NdSbp>{{b}, {s1}}));
  EXPECT_EQ(solved.assignment.score.cost, 1536);
  EXPECT_TRUE(solved.statistics.isOptimal);
}

struct Counts {
  size_t cases = 0, improved = 0, searched = 0, optimal = 0, least = 0;
};

/// Solves, checks what holds for any graph, and compares with all combinations where these are few.
void check(const Problem &problem, Counts &counts, size_t most) {
  Solution walked = walk(problem), solved = solve(problem);
  ASSERT_EQ(walked.failure.has_value(), solved.failure.has_value());
  if (walked.failure)
    return;
  ASSERT_EQ(findIllegal(problem, solved.assignment), "");
  ASSERT_EQ(plainScore(problem, solved.assignment), solved.assignment.score);
  ASSERT_FALSE(walked.assignment.score < solved.assignment.score);
  ++counts.cases;
  counts.improved += solved.assignment.score < walked.assignment.score;
  counts.optimal += solved.statistics.isOptimal;
  std::optional<Score> least = leastScore(problem, allRows(problem, walked.assignment), most);
  if (!least)
    return;
  ++counts.searched;
  counts.least += solved.assignment.score == *least;
  ASSERT_FALSE(solved.assignment.score < *least) << describe(problem, solved.assignment);
  if (solved.statistics.isOptimal)
    ASSERT_EQ(solved.assignment.score, *least) << "cost " << solved.assignment.score.cost << " for " << least->cost
                                               << " " << describe(problem, solved.assignment);
}

Counts checkMany(GraphKind kind, size_t cases, uint64_t seed) {
  const std::vector<std::vector<int64_t>> meshes = {{2}, {3}, {4}, {2, 2}, {3, 2}, {1}};
  std::mt19937_64 engine(seed);
  Counts counts;
  for (size_t i = 0; i < cases && !::testing::Test::HasFatalFailure(); ++i) {
    Problem problem = randomProblem(engine, kind, 2 + i % 5, meshes[i % meshes.size()]);
    problem.mayAddWork = i % 3 == 0;
    check(problem, counts, 4000);
  }
  std::printf(
      "%zu cases, %zu lower than the walk, %zu optimal by their shape; %zu searched, %zu with the least score\n",
      counts.cases, counts.improved, counts.optimal, counts.searched, counts.least);
  return counts;
}

void checkTrees(GraphKind kind, uint64_t seed) {
  Counts counts = checkMany(kind, 1200, seed);
  EXPECT_EQ(counts.optimal, counts.cases);
  EXPECT_EQ(counts.least, counts.searched);
  EXPECT_GT(counts.searched, 1000u);
  EXPECT_GT(counts.improved, 500u);
}

TEST(SolverTest, LeastOfAllOnChains) { checkTrees(GraphKind::Chain, 1); }

TEST(SolverTest, LeastOfAllOnTrees) { checkTrees(GraphKind::Tree, 2); }

TEST(SolverTest, NeverAboveTheWalkOnAnyGraph) {
  Counts counts = checkMany(GraphKind::Any, 1200, 3);
  EXPECT_LT(counts.optimal, counts.cases - 100); // the others are no trees
  EXPECT_GT(counts.searched, 1000u);
  EXPECT_GT(counts.least, counts.searched * 95 / 100);
  EXPECT_GT(counts.improved, 500u);
}

} // namespace
} // namespace splitcast::sbp
