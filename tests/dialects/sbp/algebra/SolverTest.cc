// The solver: against all combinations of rows where the graph is a tree, against the walk where it is not.
#include "tests/dialects/sbp/algebra/SolverGraphs.h"
#include "tests/dialects/sbp/algebra/SolverSearch.h"

#include "gtest/gtest.h"

#include <cstdio>
#include <numeric>

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
  ASSERT_EQ(solved.statistics.refused, 0) << describe(problem, solved.assignment);
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

/// A tensor with so many uses that not all sets of boxings are tried: on three axes each of 20 products may want it in
/// many signatures.
TEST(SolverTest, ManyUsesOfOneTensor) {
  std::mt19937_64 engine(7);
  Graph graph({2, 2, 2});
  const std::vector<Sbp> entries = {b, s0, s1};
  auto draw = [&] { return entries[engine() % 3]; };
  int x = graph.unary(graph.given({16, 16}, {s0, s1, b}), false);
  for (int i = 0; i < 20; ++i)
    graph.demand(graph.matmul(x, graph.given({16, 64}, {draw(), draw(), draw()})), {draw(), draw(), draw()});
  Solution walked = walk(graph.problem), solved = solve(graph.problem);
  EXPECT_EQ(findIllegal(graph.problem, solved.assignment), "");
  EXPECT_EQ(plainScore(graph.problem, solved.assignment), solved.assignment.score);
  EXPECT_TRUE(solved.assignment.score < walked.assignment.score);
  EXPECT_FALSE(solved.statistics.isOptimal);
}

/// A demand for addends that nothing makes is counted, not refused: whoever builds the boxing says so.
TEST(SolverTest, IllegalDemandsAreCounted) {
  Graph graph({4});
  int x = graph.sum(graph.given({8, 4}, {s0}), 0), y = graph.unary(x, true);
  graph.lastOp().takesPartial = false;
  graph.demand(y, {Sbp::partial()});
  EXPECT_EQ(walk(graph.problem).assignment.score.illegal, 1);
  EXPECT_EQ(solve(graph.problem).assignment.score.illegal, 1);
  graph.lastOp().takesPartial = true;
  EXPECT_EQ(solve(graph.problem).assignment.score.illegal, 0);
}

/// Solved again, a problem has the same rows.
TEST(SolverTest, DependsOnTheProblemOnly) {
  const Problem problem = trainingStep(10, {2, 2});
  const Solution first = solve(problem), second = solve(Problem(problem));
  EXPECT_EQ(describe(problem, first.assignment), describe(problem, second.assignment));
}

/// Twice the layers are twice the steps.
TEST(SolverTest, StepsGrowWithTheOps) {
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{4}, {2, 2}}) {
    std::vector<int64_t> steps;
    for (int layers : {20, 40, 80}) {
      Problem problem = trainingStep(layers, mesh);
      Solution solved = solve(problem);
      ASSERT_FALSE(solved.failure);
      EXPECT_EQ(plainScore(problem, solved.assignment), solved.assignment.score);
      EXPECT_FALSE(walk(problem).assignment.score < solved.assignment.score);
      EXPECT_EQ(solved.statistics.refused, 0);
      steps.push_back(solved.statistics.steps);
    }
    EXPECT_NEAR(static_cast<double>(steps[1] - steps[0]) * 2, static_cast<double>(steps[2] - steps[1]),
                static_cast<double>(steps[1]) / 10)
        << steps[0] << " " << steps[1] << " " << steps[2];
  }
}

/// Each runner-up costs what the problem costs with it.
TEST(SolverTest, RunnersUpCostWhatTheySay) {
  std::mt19937_64 engine(4);
  size_t rows = 0;
  for (size_t i = 0; i < 200; ++i) {
    Problem problem =
        randomProblem(engine, GraphKind::Any, 2 + i % 5, i % 2 ? std::vector<int64_t>{3} : std::vector<int64_t>{2, 2});
    Solution solved = solve(problem);
    if (solved.failure)
      continue;
    std::vector<int> ops(problem.ops.size());
    std::iota(ops.begin(), ops.end(), 0);
    std::vector<std::vector<RunnerUp>> all = runnersUp(problem, solved.assignment, ops, 4);
    for (size_t op = 0; op < all.size(); ++op)
      for (size_t place = 0; place < all[op].size(); ++place) {
        std::vector<OpChoice> other = solved.assignment.ops;
        other[op].row = all[op][place].row;
        ASSERT_EQ(scoreOf(problem, other), all[op][place].score) << describe(problem, solved.assignment);
        ASSERT_FALSE(place > 0 && all[op][place].score < all[op][place - 1].score);
        ASSERT_FALSE(solved.statistics.isOptimal && all[op][place].score < solved.assignment.score);
        ++rows;
      }
  }
  EXPECT_GT(rows, 1000u);
}

//===----------------------------------------------------------------------===//
// Phases
//===----------------------------------------------------------------------===//

/// 20 us for each step that sends anything, and 1 ns for 10 bytes.
int64_t slowToStart(const Shape &shape, int64_t elementBytes, const NdSbp &from, const NdSbp &to,
                    const Placement &placement) {
  int64_t picoseconds = 0;
  for (const BoxingStep &step : planBoxing(shape, from, to, placement))
    if (int64_t bytes = stepVolume(step, shape, elementBytes, placement); bytes > 0)
      picoseconds += 20000000 + 100 * bytes;
  return picoseconds;
}

TEST(SolverPhasesTest, SumsDoNotDependOnUpdatesOrTransport) {
  const Sbp slot = Sbp::flat({"g", 0, 4096});
  size_t differWithoutPhases = 0;
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{4}, {3}, {2, 2}})
    for (auto chooser : {walk, solve}) {
      const Problem logical = trainingStep(3, mesh);
      const std::string expected = sumsOf(logical, chooser(logical).assignment);
      for (const Sbp &update : {b, s0, s1, slot})
        for (const BoxingCost &cost : {BoxingCost(boxingVolume), BoxingCost(slowToStart)}) {
          Problem stored = trainingStep(3, mesh, update);
          stored.cost = cost;
          Phases phases = solveInPhases(logical, stored, chooser);
          ASSERT_FALSE(phases.stored.failure);
          EXPECT_EQ(findIllegal(stored, phases.stored.assignment), "");
          EXPECT_EQ(phases.stored.assignment.score.illegal, 0);
          EXPECT_EQ(sumsOf(logical, phases.logical.assignment), expected);
          EXPECT_EQ(sumsOf(stored, phases.stored.assignment), expected) << toString(update);
          differWithoutPhases += sumsOf(stored, chooser(stored).assignment) != expected;
        }
    }
  EXPECT_GT(differWithoutPhases, 10u); // or nothing was shown
}

/// What an update computes stays where the variable's state is.
TEST(SolverPhasesTest, UpdatesAreComputedWhereTheyLie) {
  Problem stored = trainingStep(1, {4}, s0);
  Phases phases = solveInPhases(trainingStep(1, {4}), stored);
  size_t updates = 0;
  for (size_t op = 0; op < stored.ops.size(); ++op)
    if (!stored.ops[op].takesPartial) {
      EXPECT_EQ(phases.stored.assignment.ops[op].row.results[0], (NdSbp{s0}));
      ++updates;
    }
  EXPECT_EQ(updates, 6u);
}

/// Random graphs that are given otherwise, but for P.
TEST(SolverPhasesTest, RandomGraphs) {
  std::mt19937_64 engine(6);
  size_t cases = 0;
  for (size_t i = 0; i < 600; ++i) {
    const std::vector<int64_t> mesh = i % 2 ? std::vector<int64_t>{3} : std::vector<int64_t>{2, 2};
    const Problem logical = randomProblem(engine, GraphKind::Any, 2 + i % 7, mesh);
    Problem stored = logical;
    stored.cost = slowToStart;
    for (TensorInfo &info : stored.tensors)
      for (Sbp &entry : info.given)
        if (!entry.isPartial() && engine() % 2)
          entry = engine() % 2 || info.shape.empty() ? b : s0;
    for (auto chooser : {walk, solve}) {
      Phases phases = solveInPhases(logical, stored, chooser);
      if (phases.logical.failure || phases.stored.failure)
        continue;
      ++cases;
      ASSERT_EQ(findIllegal(stored, phases.stored.assignment), "");
      ASSERT_EQ(sumsOf(stored, phases.stored.assignment), sumsOf(logical, phases.logical.assignment))
          << describe(logical, phases.logical.assignment) << describe(stored, phases.stored.assignment);
    }
  }
  EXPECT_GT(cases, 1000u);
}

} // namespace
} // namespace splitcast::sbp
