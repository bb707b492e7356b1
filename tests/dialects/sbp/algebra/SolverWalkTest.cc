// The walk: the rows of the tests of 'sbp-propagate', and what holds for any graph.
#include "tests/dialects/sbp/algebra/Reference.h"
#include "tests/dialects/sbp/algebra/SolverGraphs.h"

#include "gtest/gtest.h"

namespace splitcast::sbp {
namespace {

const Sbp b = Sbp::broadcast(), p = Sbp::partial(), s0 = Sbp::split(0), s1 = Sbp::split(1);

/// Each op's operands, then its results.
std::vector<std::vector<NdSbp>> rowsOf(const Problem &problem, Solution (*chooser)(const Problem &) = walk) {
  Solution solution = chooser(problem);
  EXPECT_FALSE(solution.failure);
  EXPECT_EQ(findIllegal(problem, solution.assignment), "");
  EXPECT_EQ(plainScore(problem, solution.assignment), solution.assignment.score);
  std::vector<std::vector<NdSbp>> rows;
  for (const OpChoice &choice : solution.assignment.ops) {
    rows.push_back(choice.row.operands);
    rows.back().insert(rows.back().end(), choice.row.results.begin(), choice.row.results.end());
  }
  return rows;
}

using Rows = std::vector<std::vector<NdSbp>>;

TEST(SolverWalkTest, TheSmallerIsGathered) {
  Graph graph({4});
  graph.matmul(graph.given({64, 4}, {s0}), graph.given({4, 4}, {s0}));
  EXPECT_EQ(rowsOf(graph.problem), (Rows{{{s0}, {b}, {s0}}}));
  Graph other({4});
  other.matmul(other.given({4, 64}, {s0}), other.given({64, 64}, {s1}));
  EXPECT_EQ(rowsOf(other.problem), (Rows{{{b}, {s1}, {s1}}}));
}

TEST(SolverWalkTest, SumsAreLeftToWhomTheyConcern) {
  Graph graph({4});
  int product = graph.matmul(graph.given({8, 4}, {s1}), graph.given({4, 4}, {s0}));
  int scaled = graph.unary(product, true);
  int sum = graph.binary(product, scaled, Linearity::Together);
  graph.unary(sum, false);
  EXPECT_EQ(rowsOf(graph.problem), (Rows{{{s1}, {s0}, {p}}, {{p}, {p}}, {{p}, {p}, {p}}, {{s0}, {s0}}}));
}

TEST(SolverWalkTest, PinnedResultsAreBoxedToWhatTheUserWrote) {
  Graph graph({4});
  int x = graph.unary(graph.given({8, 4}, {s0}), false);
  int y = graph.matmul(x, graph.given({4, 2}, {b}));
  graph.lastOp().pinned = {{s1}};
  graph.unary(y, false);
  EXPECT_EQ(rowsOf(graph.problem), (Rows{{{s0}, {s0}}, {{s0}, {b}, {s0}}, {{s1}, {s1}}}));
  EXPECT_EQ(walk(graph.problem).assignment.score.boxings, 1);
}

TEST(SolverWalkTest, AxisByAxis) {
  Graph graph({2, 2});
  int up = graph.matmul(graph.given({8, 4}, {s0, b}), graph.given({4, 6}, {b, s1}));
  int act = graph.unary(up, false);
  int down = graph.matmul(act, graph.given({6, 4}, {b, s0}));
  EXPECT_EQ(rowsOf(graph.problem),
            (Rows{{{s0, b}, {b, s1}, {s0, s1}}, {{s0, s1}, {s0, s1}}, {{s0, s1}, {b, s0}, {s0, p}}}));
  EXPECT_EQ(walk(graph.problem).assignment.tensors[down], (NdSbp{s0, p}));
}

/// Beside a tensor at a coordinate an op is there, whatever it costs; another tensor says nothing, of another axis
/// neither does that.
TEST(SolverWalkTest, BesideATensorAtACoordinate) {
  const Sbp at1 = Sbp::at(1), at0 = Sbp::at(0);
  for (Solution (*chooser)(const Problem &) : {walk, solve}) {
    Graph graph({3, 2});
    const int there = graph.given({2}, {b, at1}), nowhere = graph.given({2}, {s0, b});
    const int x = graph.given({64, 8}, {s0, at0});
    const int moved = graph.unary(x, true);
    graph.lastOp().beside = there;
    graph.unary(moved, true);
    graph.unary(x, true);
    graph.lastOp().beside = nowhere;
    graph.unary(graph.given({64, 8}, {p, b}), true);
    graph.lastOp().beside = there;
    graph.unary(graph.constant({64, 8}), true); // split as what it is beside
    graph.lastOp().beside = moved;
    graph.unary(graph.constant({64, 8}), true); // free
    graph.lastOp().beside = nowhere;
    const NdSbp free;
    EXPECT_EQ(rowsOf(graph.problem, chooser), (Rows{{{s0, at1}, {s0, at1}},
                                                    {{s0, at1}, {s0, at1}},
                                                    {{s0, at0}, {s0, at0}},
                                                    {{p, at1}, {p, at1}},
                                                    {free},
                                                    {{s0, at1}, {s0, at1}},
                                                    {free},
                                                    {free, free}}));
  }
}

/// A batch of many rows, of which each rank has a part, and weights of few bytes that a user has split: the batch is
/// gathered, and what comes out of the second product is added up over the ranks.
TEST(SolverWalkTest, SplitsThatAUserChoseStay) {
  for (bool isKept : {false, true}) {
    Graph graph({4});
    const int up = graph.given({4, 8}, {s1}), down = graph.given({8, 4}, {s0});
    graph.problem.tensors[up].keepsSplits = graph.problem.tensors[down].keepsSplits = isKept;
    const int x = graph.given({4096, 4}, {s0});
    graph.matmul(graph.unary(graph.matmul(x, up), false), down);
    const Rows gathered = {{{b}, {s1}, {s1}}, {{s1}, {s1}}, {{s1}, {s0}, {p}}},
               splitBatch = {{{s0}, {b}, {s0}}, {{s0}, {s0}}, {{s0}, {b}, {s0}}};
    EXPECT_EQ(rowsOf(graph.problem), isKept ? gathered : splitBatch);
    EXPECT_EQ(walk(graph.problem).assignment.score.undone, 0);
    EXPECT_EQ(rowsOf(graph.problem, solve), isKept ? gathered : splitBatch);
  }
}

/// Where no row keeps a split, it goes to where that costs least.
TEST(SolverWalkTest, SplitsThatNoRowHasAreUndone) {
  Graph graph({4});
  const int table = graph.given({64, 4}, {s0});
  graph.problem.tensors[table].keepsSplits = true;
  graph.softmax(table, 0);
  EXPECT_EQ(rowsOf(graph.problem), (Rows{{{s1}, {s1}}}));
  EXPECT_EQ(walk(graph.problem).assignment.score.undone, 1);
}

/// The gradient of a product's second operand, which is smaller than the first as it lies: but the other is gathered
/// already.
TEST(SolverWalkTest, WhatIsBoxedOnceIsThere) {
  for (bool isFirst : {false, true}) {
    Graph graph({4});
    const int weights = graph.given({8, 8}, {s1}), y = graph.given({16, 8}, {s1}),
              gradient = graph.given({16, 8}, {s0});
    const int fenced = graph.sameAs(gradient);
    graph.problem.tensors[weights].keepsSplits = true;
    if (isFirst)
      graph.matmul(gradient, weights);
    graph.matmul(graph.transpose(y), gradient);
    EXPECT_EQ(walk(graph.problem).assignment.ops.back().row.operands[1], (isFirst ? NdSbp{b} : NdSbp{s0}));
    // Another tensor; the same, as far as elements go.
    graph.matmul(graph.transpose(y), fenced);
    EXPECT_EQ(walk(graph.problem).assignment.ops.back().row.operands[1], (NdSbp{s0}));
    graph.problem.tensors[fenced].sameElements = gradient;
    EXPECT_EQ(walk(graph.problem).assignment.ops.back().row.operands[1], (isFirst ? NdSbp{b} : NdSbp{s0}));
  }
}

/// What is made again meets what it met at first, whoever uses it.
TEST(SolverWalkTest, WhatIsMadeAgainMeetsTheSame) {
  Graph graph({4});
  const int x = graph.given({64, 8}, {s0}), mean = graph.sum(x, 0);
  const int first = graph.broadcast(mean, 64), used = graph.softmax(first, 1), again = graph.broadcast(mean, 64);
  graph.problem.tensors[again].sameElements = first;
  graph.binary(again, x, Linearity::Together);
  EXPECT_EQ(rowsOf(graph.problem)[1], rowsOf(graph.problem)[3]);
  EXPECT_NE(used, again);
}

/// Two ops that are alike but for what becomes of their results: where rows of it are wanted, the operands are
/// gathered, which are smaller.
TEST(SolverWalkTest, WhatIsWantedLaterIsPartOfTheChoice) {
  for (bool isSplitFirst : {false, true}) {
    Graph graph({4});
    const int x = graph.transpose(graph.given({8, 256}, {s0})), y = graph.given({8, 256}, {s0});
    for (bool isSplit : {isSplitFirst, !isSplitFirst})
      graph.demand(graph.matmul(x, y), {isSplit ? s0 : b});
    const Rows rows = rowsOf(graph.problem);
    EXPECT_EQ(rows[isSplitFirst ? 1 : 2], (std::vector<NdSbp>{{s0}, {b}, {s0}}));
    EXPECT_EQ(rows[isSplitFirst ? 2 : 1], (std::vector<NdSbp>{{s1}, {s0}, {p}}));
  }
}

/// On an axis of one rank there is nothing to keep.
TEST(SolverWalkTest, SplitsOnOneRankAreNone) {
  Graph graph({1});
  const int weights = graph.given({4, 8}, {s1});
  graph.problem.tensors[weights].keepsSplits = true;
  graph.demand(weights, {b});
  EXPECT_EQ(walk(graph.problem).assignment.score.undone, 0);
}

TEST(SolverWalkTest, FreeTensorsAreMadeAsTheirUsesWantThem) {
  Graph graph({4});
  int scalar = graph.constant({});
  int row = graph.broadcast(scalar, 4), all = graph.broadcast(row, 8);
  graph.binary(graph.given({8, 4}, {s0}), all, Linearity::Each);
  graph.binary(graph.given({8, 4}, {p}), all, Linearity::Each);
  EXPECT_EQ(rowsOf(graph.problem), (Rows{{{b}}, {{b}, {}}, {{}, {}}, {{s0}, {s0}, {s0}}, {{p}, {b}, {p}}}));
  EXPECT_EQ(walk(graph.problem).assignment.score, (Score{0, 0, 0, 0, 2}));
}

/// Were the scalar's broadcast free, its sum would be as many times too large.
TEST(SolverWalkTest, AddendsAreNotFree) {
  Graph graph({4});
  int total = graph.sum(graph.given({8}, {s0}), 0);
  graph.broadcast(total, 8);
  EXPECT_EQ(rowsOf(graph.problem), (Rows{{{s0}, {p}}, {{p}, {p}}}));
}

/// A mean over a batch, as a batch norm takes it from each sample: added up while it is small, and made where the
/// samples are, also behind a fence and behind what needs the sum itself.
TEST(SolverWalkTest, BroadcastsAreMadeWhereTheyAreNeeded) {
  for (bool isLinear : {false, true}) {
    Graph graph({4});
    const int x = graph.given({64, 8}, {s0});
    const int mean = graph.unary(graph.sum(x, 0), isLinear);
    const int all = graph.unary(graph.sameAs(graph.broadcast(mean, 64)), true);
    graph.binary(all, x, Linearity::Together);
    const NdSbp ofMean = isLinear ? NdSbp{p} : NdSbp{s0};
    EXPECT_EQ(rowsOf(graph.problem),
              (Rows{{{s0}, {p}}, {ofMean, ofMean}, {{b}, {s0}}, {{s0}, {s0}}, {{s0}, {s0}, {s0}}}));
    // Beside what each rank has whole they are addends for as long as they may be.
    graph.problem.tensors[graph.problem.ops.back().operands.back()].given = {b};
    graph.problem.ops.front().operands = {graph.given({64, 8}, {s0})};
    EXPECT_EQ(rowsOf(graph.problem)[2].front(), isLinear ? NdSbp{p} : NdSbp{s0});
  }
}

/// What comes later counts as what it is made of; what is as large says nothing, and neither does one whose result is
/// pinned.
TEST(SolverWalkTest, OnlyWhatABroadcastMeetsCounts) {
  for (bool isOfX : {false, true}) {
    Graph later({4});
    const int x = later.given({64, 8}, {s0});
    const int all = later.broadcast(later.sum(x, 0), 64);
    later.binary(all, isOfX ? later.unary(x, false) : later.softmax(x, 1), Linearity::Together);
    EXPECT_EQ(rowsOf(later.problem)[1], (isOfX ? std::vector<NdSbp>{{b}, {s0}} : std::vector<NdSbp>{{p}, {p}}));
  }
  Graph pinned({4});
  const int z = pinned.given({64, 8}, {s0}), wide = pinned.broadcast(pinned.given({8}, {s0}), 64);
  pinned.lastOp().pinned = {{s1}};
  pinned.binary(wide, z, Linearity::Together);
  EXPECT_EQ(rowsOf(pinned.problem)[0], (std::vector<NdSbp>{{s0}, {s1}}));
  Graph equal({4});
  const int x = equal.given({64, 8}, {s0});
  equal.binary(equal.unary(equal.matmul(equal.given({64, 4}, {s1}), equal.given({4, 8}, {s0})), true), x,
               Linearity::Together);
  EXPECT_EQ(rowsOf(equal.problem)[1], (std::vector<NdSbp>{{p}, {p}}));
}

TEST(SolverWalkTest, UnitsAreBroughtAlong) {
  const Sbp by5 = Sbp::split(0, 5);
  Graph graph({3});
  int rows = graph.merge(graph.given({8, 5, 4}, {s0}));
  int product = graph.matmul(rows, graph.given({4, 6}, {b}));
  graph.split(graph.unary(product, false), 8);
  EXPECT_EQ(rowsOf(graph.problem), (Rows{{{s0}, {by5}}, {{by5}, {b}, {by5}}, {{by5}, {by5}}, {{by5}, {s0}}}));
  Graph pinned({3});
  pinned.unary(pinned.unary(pinned.given({40}, {b}), false), false);
  pinned.lastOp().pinned = {{by5}};
  EXPECT_EQ(rowsOf(pinned.problem), (Rows{{{b}, {b}}, {{by5}, {by5}}}));
}

/// A row may take a unit from a later axis: what that costs is asked for the tensor without it.
TEST(SolverWalkTest, UnitsOfLaterAxes) {
  const NdSbp x = {b, Sbp::split(0, 4)};
  Graph graph({2, 2});
  graph.binary(graph.given({12}, x), graph.given({12}, {s0, b}), Linearity::Together);
  EXPECT_EQ(rowsOf(graph.problem), (Rows{{x, x, x}}));
}

TEST(SolverWalkTest, SlotsKeepTheOtherAxes) {
  const NdSbp slot = {Sbp::flat({"l", 0, 32}), b};
  Graph graph({2, 3});
  graph.binary(graph.given({6}, slot), graph.given({6}, {b, s0}), Linearity::Each);
  EXPECT_EQ(rowsOf(graph.problem), (Rows{{slot, slot, slot}}));
}

TEST(SolverWalkTest, UpdatesTakeNoAddends) {
  Graph graph({4});
  int addends = graph.sum(graph.given({4, 8, 6}, {s0}), 0);
  graph.binary(graph.given({8, 6}, {b}), addends, Linearity::Each);
  EXPECT_EQ(rowsOf(graph.problem)[1], (std::vector<NdSbp>{{b}, {p}, {p}}));
  graph.lastOp().takesPartial = false;
  EXPECT_EQ(rowsOf(graph.problem)[1], (std::vector<NdSbp>{{s0}, {s0}, {s0}}));
}

TEST(SolverWalkTest, DemandsAreBoxedOnceForEachSignature) {
  Graph graph({4});
  int x = graph.given({8, 8}, {s0});
  graph.demand(x, {b});
  graph.demand(x, {b});
  graph.demand(x, {s1});
  graph.demand(x, {b}, /*orAs=*/{s0});
  graph.demand(x, {});
  EXPECT_EQ(walk(graph.problem).assignment.score, (Score{0, 0, 3 * 64 + 48, 2, 0}));
  graph.demand(x, {p});
  EXPECT_EQ(walk(graph.problem).assignment.score, (Score{1, 0, 3 * 64 + 48, 3, 0}));
}

/// Behind a fence a tensor has the same signature, and is boxed again.
TEST(SolverWalkTest, FencesKeepSignaturesApart) {
  Graph graph({4});
  int x = graph.unary(graph.given({8, 8}, {s0}), false);
  int fenced = graph.sameAs(graph.sameAs(x));
  graph.demand(x, {b});
  graph.demand(fenced, {b});
  EXPECT_EQ(walk(graph.problem).assignment.tensors[fenced], (NdSbp{s0}));
  EXPECT_EQ(walk(graph.problem).assignment.score, (Score{0, 0, 2 * 3 * 64, 2, 0}));
}

TEST(SolverWalkTest, OnOneRankNothingCosts) {
  Graph graph({1});
  graph.matmul(graph.given({8, 8}, {s0}), graph.given({8, 8}, {s0}));
  EXPECT_EQ(rowsOf(graph.problem), (Rows{{{s0}, {b}, {s0}}}));
  EXPECT_EQ(walk(graph.problem).assignment.score.cost, 0);
}

TEST(SolverWalkTest, AnOpWithoutARowIsNamed) {
  // The row of slots needs both operands in one slot, and the other axes as each has them: there is none.
  const Slot slot{"g", 0, 32};
  Graph graph({2, 2});
  graph.unary(graph.given({6}, {b, b}), false);
  graph.binary(graph.given({6, 2}, {Sbp::flat(slot), s0}), graph.given({6, 2}, {Sbp::flat(slot), s1}), Linearity::Each);
  Solution solution = walk(graph.problem);
  ASSERT_TRUE(solution.failure);
  EXPECT_EQ(solution.failure->op, 1);
  EXPECT_EQ(solution.failure->axis, 1);
}

/// Where a step states a row, bytes do not count; where no row is as stated, they do.
TEST(SolverWalkTest, AStatedRowIsTaken) {
  for (bool isLegal : {true, false}) {
    Graph graph({4});
    graph.matmul(graph.given({64, 4}, {s1}), graph.given({4, 4}, {s0}));
    EXPECT_EQ(rowsOf(graph.problem), (Rows{{{s1}, {s0}, {p}}}));
    graph.lastOp().stated = isLegal ? AxisRow{0, {s0, b}, {s0}} : AxisRow{0, {s0, s0}, {s0}};
    EXPECT_EQ(rowsOf(graph.problem), isLegal ? (Rows{{{s0}, {b}, {s0}}}) : (Rows{{{s1}, {s0}, {p}}}));
  }
}

/// What is fenced is not free: its repeat is made whole, and cut where it is used.
TEST(SolverWalkTest, ARepeatOfAFreeTensorBehindAFenceIsWhole) {
  Graph graph({4});
  const int scalar = graph.constant({}), row = graph.broadcast(scalar, 4), all = graph.broadcast(row, 8);
  graph.binary(graph.given({8, 4}, {s0}), all, Linearity::Each);
  const int fenced = graph.sameAs(row), again = graph.broadcast(fenced, 8);
  graph.problem.tensors[fenced].sameElements = row;
  graph.problem.tensors[again].sameElements = all;
  graph.binary(graph.given({8, 4}, {s0}), again, Linearity::Each);
  EXPECT_EQ(rowsOf(graph.problem),
            (Rows{{{b}}, {{b}, {}}, {{}, {}}, {{s0}, {s0}, {s0}}, {{b}, {b}}, {{s0}, {s0}, {s0}}}));
}

/// Recomputation must not change where anything is summed: neither for what is made again, nor for what uses it.
TEST(SolverWalkTest, RepeatsChangeNoRow) {
  std::mt19937_64 engine(11);
  size_t repeats = 0, boxings = 0;
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{2}, {3}, {4}, {2, 2}, {3, 2}})
    for (int i = 0; i < 100; ++i)
      for (Solution (*chooser)(const Problem &) : {walk, solve}) {
        const Problem plain = randomProblem(engine, GraphKind::Any, 2 + i % 8, mesh);
        Problem problem = plain;
        const std::vector<int> originals = addRepeats(engine, problem, 1 + i % 4);
        const Solution before = chooser(plain), after = chooser(problem);
        ASSERT_EQ(before.failure.has_value(), after.failure.has_value());
        if (before.failure) {
          ASSERT_EQ(originals[after.failure->op], before.failure->op);
          continue;
        }
        ASSERT_EQ(findIllegal(problem, after.assignment), "") << describe(problem, after.assignment);
        ASSERT_EQ(plainScore(problem, after.assignment), after.assignment.score);
        std::vector<bool> wasSeen(plain.ops.size());
        for (size_t op = 0; op < originals.size(); ++op) {
          const OpChoice &one = before.assignment.ops[originals[op]], &other = after.assignment.ops[op];
          const bool isRepeat = wasSeen[originals[op]];
          repeats += isRepeat;
          wasSeen[originals[op]] = true;
          if (one.isFree && !other.isFree) { // the fence of a free tensor is B
            ASSERT_EQ(other.row.results.front(), NdSbp(mesh.size()));
            continue;
          }
          ASSERT_EQ(one.isFree, other.isFree);
          ASSERT_EQ(one.row.results, other.row.results) << describe(problem, after.assignment);
          ASSERT_EQ(one.row.operands, other.row.operands) << describe(problem, after.assignment);
        }
        boxings += after.assignment.score.boxings;
      }
  EXPECT_GT(repeats, 1000u);
  EXPECT_GT(boxings, 1500u);
}

TEST(SolverWalkTest, LegalOnAnyGraph) {
  std::mt19937_64 engine(5);
  size_t cases = 0, boxings = 0, freeOps = 0;
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{1}, {2}, {3}, {4}, {2, 2}, {3, 2}, {1, 4}})
    for (int i = 0; i < 300; ++i) {
      Problem problem = randomProblem(engine, GraphKind::Any, 2 + i % 8, mesh);
      Solution solution = walk(problem);
      if (solution.failure)
        continue;
      ASSERT_EQ(findIllegal(problem, solution.assignment), "");
      ASSERT_EQ(plainScore(problem, solution.assignment), solution.assignment.score)
          << describe(problem, solution.assignment);
      ASSERT_EQ(scoreOf(problem, solution.assignment.ops), solution.assignment.score);
      ++cases;
      boxings += solution.assignment.score.boxings;
      for (const OpChoice &choice : solution.assignment.ops)
        freeOps += choice.isFree;
    }
  RecordProperty("cases", static_cast<int>(cases));
  EXPECT_GT(cases, 2000u);
  EXPECT_GT(boxings, 2000u);
  EXPECT_GT(freeOps, 200u);
}

} // namespace
} // namespace splitcast::sbp
