// Boxing: the table row by row, and every plan simulated on integers.
#include "dialects/sbp/algebra/Sizes.h"
#include "tests/dialects/sbp/algebra/Reference.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <optional>

namespace splitcast::sbp {
namespace {

/// The table of Boxing.h.
TEST(SingleStepTest, Table) {
  const Sbp b = Sbp::broadcast(), p = Sbp::partial(), s0 = Sbp::split(0), s1 = Sbp::split(1),
            f = Sbp::flat({"g", 0, 8}), g = Sbp::flat({"g", 4, 8}), u = Sbp::split(0, 6), at = Sbp::at(2);
  const std::optional<Collective> none;
  struct Row {
    Sbp from, to;
    std::optional<Collective> step;
  };
  const Row rows[] = {{b, b, none},
                      {b, s0, Collective::Slice},
                      {b, f, Collective::Slice},
                      {b, p, none},
                      {s0, b, Collective::AllGather},
                      {s0, s0, none},
                      {s0, s1, Collective::AllToAll},
                      {s1, s0, Collective::AllToAll},
                      {s0, u, Collective::AllToAll},
                      {u, s1, Collective::AllToAll},
                      {u, u, none},
                      {u, b, Collective::AllGather},
                      {b, u, Collective::Slice},
                      {p, u, Collective::ReduceScatter},
                      {u, f, none},
                      {u, p, none},
                      {s0, f, none},
                      {s0, p, none},
                      {f, b, Collective::AllGather},
                      {f, s0, none},
                      {f, f, none},
                      {f, g, none},
                      {f, p, none},
                      {p, b, Collective::AllReduce},
                      {p, s0, Collective::ReduceScatter},
                      {p, f, Collective::ReduceScatter},
                      {p, p, none},
                      {b, at, Collective::Slice},
                      {s0, at, Collective::AllToAll},
                      {u, at, Collective::AllToAll},
                      {f, at, none},
                      {p, at, Collective::ReduceScatter},
                      {at, b, Collective::AllGather},
                      {at, s0, Collective::AllToAll},
                      {at, u, Collective::AllToAll},
                      {at, f, none},
                      {at, p, none},
                      {at, at, none},
                      {at, Sbp::at(0), Collective::AllToAll}};
  for (const Row &row : rows)
    EXPECT_EQ(singleStep(row.from, row.to), row.step) << toString(row.from) << " to " << toString(row.to);
}

TEST(IsLegalBoxingTest, Table) {
  const Sbp b = Sbp::broadcast(), p = Sbp::partial(), s = Sbp::split(0);
  struct Row {
    NdSbp from, to;
    bool legal;
  };
  for (const Row &row : {Row{{}, {}, true}, Row{{b}, {s}, true}, Row{{b}, {p}, false}, Row{{s}, {p}, false},
                         Row{{p}, {p}, true}, Row{{p}, {b}, true}, Row{{p, b}, {p, s}, true},
                         Row{{p, b}, {p, p}, false}, Row{{p, b}, {b, p}, false}, Row{{p, p}, {s, p}, true}})
    EXPECT_EQ(isLegalBoxing(row.from, row.to), row.legal) << toString(row.from) << " to " << toString(row.to);
}

TEST(CollectiveTest, Names) {
  EXPECT_STREQ(toString(Collective::Slice), "slice");
  EXPECT_STREQ(toString(Collective::AllGather), "all-gather");
  EXPECT_STREQ(toString(Collective::AllReduce), "all-reduce");
  EXPECT_STREQ(toString(Collective::ReduceScatter), "reduce-scatter");
  EXPECT_STREQ(toString(Collective::AllToAll), "all-to-all");
  EXPECT_STREQ(toString(Collective::Exchange), "exchange");
}

/// Ragged, smaller than a mesh axis, even, and empty.
std::vector<Shape> shapesOfRank(size_t rank) {
  const std::vector<std::vector<Shape>> shapes = {
      {{}}, {{0}, {1}, {2}, {5}, {6}}, {{5, 3}, {1, 4}, {2, 2}, {0, 3}, {6, 4}}};
  return shapes[rank];
}

std::vector<std::vector<int64_t>> meshesOf(size_t axes) {
  std::vector<std::vector<int64_t>> meshes = allTuples(axes, 3);
  for (std::vector<int64_t> &mesh : meshes)
    for (int64_t &size : mesh)
      ++size;
  return meshes;
}

int64_t trivialAxes(const Placement &placement) {
  return std::count_if(placement.axes.begin(), placement.axes.end(), [](const Axis &axis) { return axis.size == 1; });
}

/// Whether the signatures are the same on all axes but those of size 1, where every entry means the same bytes.
bool sameBytes(const NdSbp &a, const NdSbp &b, const Placement &placement) {
  for (size_t axis = 0; axis < a.size(); ++axis)
    if (a[axis] != b[axis] && placement.axes[axis].size > 1)
      return false;
  return true;
}

/// A step changes one axis, as the table and the rule say; or several, where there are no addends.
void checkStep(const BoxingStep &step, const Shape &shape, const Placement &placement, Simulator &simulator) {
  const std::string text = describe(shape, placement, step.from, step.to);
  if (step.toLast < 0) {
    ASSERT_TRUE(unitsFit(shape, step.to, placement)) << text;
  }
  if (step.from[step.axis].isAt() || step.to[step.axis].isAt()) {
    ASSERT_EQ(stepVolume(step, shape, 1, placement), simulator.mostSent(step)) << text;
  }
  if (step.collective != Collective::Exchange) {
    NdSbp expected = step.from;
    expected[step.axis] = step.to[step.axis];
    ASSERT_EQ(step.to, expected) << "a step changes its axis only";
    ASSERT_EQ(singleStep(step.from[step.axis], step.to[step.axis]), step.collective) << text;
    // A scatter below others is what the rule does not allow, and lies otherwise afterwards.
    ASSERT_EQ(ruleAllows(step.from, step.axis, step.to[step.axis]), step.toLast < 0) << text;
    ASSERT_TRUE(step.toLast < 0 || (step.toLast == step.axis && step.collective == Collective::ReduceScatter)) << text;
    return;
  }
  const std::vector<int64_t> axes = step.axes();
  ASSERT_TRUE(std::is_sorted(axes.begin(), axes.end())) << text;
  for (int64_t axis = 0; axis < static_cast<int64_t>(step.from.size()); ++axis) {
    ASSERT_TRUE(step.from[axis].isSplit() || std::find(axes.begin(), axes.end(), axis) == axes.end()) << text;
    for (const Sbp *entry : {&step.from[axis], &step.to[axis]})
      ASSERT_FALSE(step.from[axis] != step.to[axis] && (entry->isPartial() || entry->isFlat())) << text;
  }
  // All axes are short here.
  ASSERT_EQ(stepVolume(step, shape, 1, placement), simulator.mostSent(step)) << text;
}

/// Steps chain from `from` to `to`, each as the table and the rule say, and moving integers along gives the tensor.
void checkPlan(const Shape &shape, const Placement &placement, const NdSbp &from, const NdSbp &to,
               const std::vector<BoxingStep> &plan, Simulator &simulator) {
  NdSbp state = from;
  int64_t last = -1;
  Simulator::Values values = simulator.scatter(from);
  for (const BoxingStep &step : plan) {
    ASSERT_TRUE(sameBytes(step.from, state, placement)) << describe(shape, placement, from, to);
    ASSERT_EQ(step.fromLast, last) << describe(shape, placement, from, to);
    checkStep(step, shape, placement, simulator);
    if (testing::Test::HasFatalFailure())
      return;
    values = simulator.apply(step, values);
    ASSERT_FALSE(values.empty()) << "not within groups: " << describe(shape, placement, step.from, step.to);
    state = step.to;
    last = step.toLast;
  }
  ASSERT_EQ(last, -1) << describe(shape, placement, from, to);
  ASSERT_TRUE(sameBytes(state, to, placement)) << describe(shape, placement, from, to);
  ASSERT_TRUE(simulator.isTensor(values, state, from)) << describe(shape, placement, from, to);
  ASSERT_TRUE(simulator.isTensor(values, to, from)) << describe(shape, placement, from, to);
}

/// Where calls count, and where bytes alone do.
void checkPlan(const Shape &shape, const Placement &placement, const NdSbp &from, const NdSbp &to,
               Simulator &simulator) {
  for (int64_t perCall : {kElementsPerCall, int64_t{0}})
    checkPlan(shape, placement, from, to, planBoxing(shape, from, to, placement, perCall), simulator);
}

/// Runs checkPlan for every `stride`-th legal pair of signatures; `pairs` counts them on from call to call.
size_t checkAllPlans(const Shape &shape, const Placement &placement, size_t stride, size_t &pairs) {
  Simulator simulator(shape, placement);
  std::vector<NdSbp> signatures = allSignatures(placement.axes.size(), entriesOf(shape.size(), /*withPartial=*/true));
  size_t checked = 0;
  for (const NdSbp &from : signatures)
    for (const NdSbp &to : signatures)
      if (isLegalBoxing(from, to) && pairs++ % stride == 0) {
        checkPlan(shape, placement, from, to, simulator);
        ++checked;
        if (testing::Test::HasFatalFailure())
          return checked;
      }
  return checked;
}

class PlanTest : public testing::TestWithParam<size_t> {};

TEST_P(PlanTest, EveryPlanMovesTheTensor) {
  size_t axes = GetParam(), checked = 0, pairs = 0;
  for (const std::vector<int64_t> &mesh : meshesOf(axes))
    for (size_t rank = 0; rank <= 2; ++rank)
      for (const Shape &shape : shapesOfRank(rank)) {
        // With three axes and two dimensions there are 13^3 pairs for each of 135 meshes and shapes: every 61st, a
        // prime, is taken, so that each pair comes with two or three of them.
        checked += checkAllPlans(shape, meshOf(mesh), axes == 3 && rank == 2 ? 61 : 1, pairs);
        if (HasFatalFailure())
          return;
      }
  EXPECT_GT(checked, meshesOf(axes).size());
}

/// From, to and past what one rank of an axis has alone.
TEST(PlanWithCoordinatesTest, EveryPlanMovesTheTensor) {
  size_t checked = 0, pairs = 0;
  const std::vector<std::pair<std::vector<int64_t>, size_t>> cases = {
      {{1}, 1}, {{2}, 1}, {{3}, 1}, {{2, 2}, 1}, {{3, 2}, 1}, {{2, 1}, 1}, {{2, 3}, 1}, {{2, 2, 2}, 7}};
  for (const auto &[mesh, stride] : cases)
    for (const Shape &shape : std::vector<Shape>{{}, {5}, {0}, {5, 3}}) {
      const Placement placement = meshOf(mesh);
      Simulator simulator(shape, placement);
      const std::vector<NdSbp> signatures = signaturesWithCoordinates(shape.size(), placement);
      for (const NdSbp &from : signatures)
        for (const NdSbp &to : signatures) {
          if (!isLegalBoxing(from, to) || pairs++ % stride != 0)
            continue;
          checkPlan(shape, placement, from, to, simulator);
          if (HasFatalFailure())
            return;
          ++checked;
        }
    }
  EXPECT_GT(checked, 10'000u);
}

/// From a to b to c is from a to c, and a gather behind a slice gives what was: the values of one plan are what the
/// next begins with.
TEST(LawTest, PlansMayFollowOneAnother) {
  size_t checked = 0;
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{3}, {2, 2}, {2, 3}})
    for (const Shape &shape : std::vector<Shape>{{5}, {4, 3}}) {
      const Placement placement = meshOf(mesh);
      Simulator simulator(shape, placement);
      const std::vector<NdSbp> all = allSignatures(mesh.size(), entriesOf(shape.size(), /*withPartial=*/true));
      for (const NdSbp &a : all)
        for (const NdSbp &b : all)
          for (const NdSbp &c : all) {
            if (!isLegalBoxing(a, b) || !isLegalBoxing(b, c))
              continue;
            Simulator::Values values = simulator.scatter(a);
            for (const auto &[from, to] : {std::make_pair(a, b), std::make_pair(b, c)})
              for (const BoxingStep &step : planBoxing(shape, from, to, placement))
                values = simulator.apply(step, values);
            ASSERT_TRUE(simulator.isTensor(values, c, a)) << describe(shape, placement, a, b) << " to " << toString(c);
            ++checked;
          }
    }
  EXPECT_GT(checked, 1000u);
}

/// Nothing is sent where, and only where, every rank has what it is to have.
TEST(LawTest, NoVolumeIsNoMove) {
  size_t free = 0, moved = 0;
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{1}, {3}, {2, 2}, {2, 1}, {2, 3}})
    for (const Shape &shape : std::vector<Shape>{{0}, {1}, {5}, {4, 3}, {1, 4}}) {
      const Placement placement = meshOf(mesh);
      Simulator simulator(shape, placement);
      const std::vector<NdSbp> all = allSignatures(mesh.size(), entriesOf(shape.size(), /*withPartial=*/true));
      for (const NdSbp &from : all)
        for (const NdSbp &to : all) {
          if (!isLegalBoxing(from, to))
            continue;
          bool hasAll = true;
          for (int64_t position = 0; position < placement.numPositions(); ++position) {
            const std::vector<int64_t> &held = simulator.held(from, position);
            for (int64_t element : simulator.held(to, position))
              hasAll &= std::find(held.begin(), held.end(), element) != held.end();
          }
          for (size_t axis = 0; axis < mesh.size(); ++axis)
            hasAll &= mesh[axis] == 1 || numElements(shape) == 0 || to[axis].isPartial() || !from[axis].isPartial();
          ASSERT_EQ(boxingVolume(shape, 4, from, to, placement) == 0, hasAll) << describe(shape, placement, from, to);
          ++(hasAll ? free : moved);
        }
    }
  EXPECT_GT(free, 100u);
  EXPECT_GT(moved, 100u);
}

/// Nor is what goes to a bucket, though that would send fewer bytes: its members are reduced in one collective.
TEST(PlanOrderTest, ABucketTakesItsPartOfTheSum) {
  const Sbp b = Sbp::broadcast(), p = Sbp::partial();
  for (int64_t size : {7, 40'000, 10'000'000})
    for (int64_t elementsPerCall : {int64_t{0}, kElementsPerCall}) {
      const Sbp slot = Sbp::flat({"g", 0, size});
      const std::vector<BoxingStep> plan = planBoxing({size}, {p, p}, {slot, b}, meshOf({2, 4}), elementsPerCall);
      ASSERT_EQ(plan.size(), 2u);
      EXPECT_EQ(plan[1].collective, Collective::ReduceScatter);
      EXPECT_EQ(plan[1].axis, 0);
      // Where the axis of the bucket has to be summed first, it is made whole, and the piece is cut out.
      const std::vector<BoxingStep> inner = planBoxing({size}, {p, p}, {b, slot}, meshOf({2, 4}), elementsPerCall);
      ASSERT_EQ(inner.size(), 3u);
      EXPECT_EQ(inner[0].collective, Collective::AllReduce);
      EXPECT_EQ(inner[2].collective, Collective::Slice);
    }
}

/// Plans are made of steps that the rule allows; here is every such step, with all states of three axes and two
/// dimensions, so that with PlanTest every plan is right.
TEST_P(PlanTest, EveryStepOfTheRuleIsGroupLocal) {
  size_t axes = GetParam(), checked = 0;
  for (const std::vector<int64_t> &mesh : meshesOf(axes))
    for (const Shape &shape : shapesOfRank(2)) {
      Simulator simulator(shape, meshOf(mesh));
      for (const NdSbp &state : allSignatures(axes, entriesOf(2, /*withPartial=*/true)))
        for (size_t axis = 0; axis < axes; ++axis)
          for (const Sbp &entry : entriesOf(2, /*withPartial=*/false)) {
            std::optional<Collective> collective = singleStep(state[axis], entry);
            if (!collective || !ruleAllows(state, axis, entry))
              continue;
            BoxingStep step{static_cast<int64_t>(axis), *collective, state, state};
            step.to[axis] = entry;
            Simulator::Values after = simulator.apply(step, simulator.scatter(state));
            ASSERT_FALSE(after.empty()) << describe(shape, meshOf(mesh), step.from, step.to);
            ASSERT_TRUE(simulator.isTensor(after, step.to, state)) << describe(shape, meshOf(mesh), state, step.to);
            ++checked;
          }
    }
  EXPECT_GT(checked, 0u);
}

INSTANTIATE_TEST_SUITE_P(Axes, PlanTest, testing::Values(1, 2, 3));

/// Along one axis a unit costs no step more than the table says, though equal pieces would be gathered for fewer bytes.
TEST(UnitPlanTest, AlongOneAxisItIsOneStep) {
  const Sbp b = Sbp::broadcast(), p = Sbp::partial(), s0 = Sbp::split(0), u = Sbp::split(0, 8), v = Sbp::split(0, 16);
  for (int64_t ranks : {3, 5, 8})
    for (const auto &[from, to] :
         std::vector<std::pair<Sbp, Sbp>>{{u, b}, {b, u}, {p, u}, {u, s0}, {s0, u}, {u, v}, {v, u}}) {
      std::vector<BoxingStep> plan = planBoxing({144}, {from}, {to}, meshOf({ranks}));
      ASSERT_EQ(plan.size(), 1u) << toString(from) << " to " << toString(to) << " on " << ranks;
      EXPECT_EQ(plan[0].collective, singleStep(from, to));
    }
}

/// A shape with such signatures on a mesh, beside all others.
template <typename Check> void forPairsWithEnds(Check check) {
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{2}, {3}, {4}, {2, 3}, {3, 2}})
    for (const Shape &shape : std::vector<Shape>{{0}, {5}, {3, 2}}) {
      const Placement placement = meshOf(mesh);
      std::vector<NdSbp> others = allSignatures(mesh.size(), entriesOf(shape.size(), /*withPartial=*/true));
      for (size_t axis = 0; axis < mesh.size(); ++axis) {
        const std::vector<NdSbp> withEnds = signaturesWithEnds(shape, placement, axis, /*withPartial=*/true);
        if (mesh.size() == 1)
          others.insert(others.end(), withEnds.begin(), withEnds.end());
        for (const NdSbp &ends : withEnds)
          for (const NdSbp &other : others) {
            check(shape, placement, ends, other);
            check(shape, placement, other, ends);
          }
      }
    }
}

TEST(EndsPlanTest, EveryPlanMovesTheTensor) {
  size_t checked = 0;
  forPairsWithEnds([&](const Shape &shape, const Placement &placement, const NdSbp &from, const NdSbp &to) {
    if (testing::Test::HasFatalFailure() || !isLegalBoxing(from, to))
      return;
    Simulator simulator(shape, placement);
    checkPlan(shape, placement, from, to, simulator);
    for (const BoxingStep &step : planBoxing(shape, from, to, placement))
      ASSERT_EQ(stepVolume(step, shape, 1, placement), simulator.mostSent(step))
          << describe(shape, placement, step.from, step.to);
    ++checked;
  });
  EXPECT_GT(checked, 1000u);
}

/// Though even pieces would be gathered for fewer bytes.
TEST(EndsPlanTest, AlongOneAxisItIsOneStep) {
  const Sbp b = Sbp::broadcast(), p = Sbp::partial(), s = Sbp::split(0), e = Sbp::splitTo(0, {0, 144, 144});
  for (const auto &[from, to] : std::vector<std::pair<Sbp, Sbp>>{{e, b}, {b, e}, {p, e}, {e, s}, {s, e}}) {
    std::vector<BoxingStep> plan = planBoxing({144}, {from}, {to}, meshOf({3}));
    ASSERT_EQ(plan.size(), 1u) << toString(from) << " to " << toString(to);
    EXPECT_EQ(plan[0].collective, singleStep(from, to));
  }
}

/// Every 61st pair, a prime.
TEST(UnitPlanTest, EveryPlanOnThreeAxesMovesTheTensor) {
  size_t checked = 0, pairs = 0;
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{2, 2, 2}, {3, 2, 2}, {2, 1, 3}})
    for (const Shape &shape : std::vector<Shape>{{8}, {18}, {6, 2}, {0, 4}}) {
      Placement placement = meshOf(mesh);
      Simulator simulator(shape, placement);
      std::vector<NdSbp> signatures = signaturesWithUnits(shape, placement, /*withPartial=*/true);
      for (const NdSbp &from : signatures)
        for (const NdSbp &to : signatures) {
          if (!isLegalBoxing(from, to) || pairs++ % 61 != 0)
            continue;
          checkPlan(shape, placement, from, to, simulator);
          if (HasFatalFailure())
            return;
          ++checked;
        }
    }
  EXPECT_GT(checked, 1000u);
}

/// Splits whose elements stay together in units, ragged and nested.
TEST(UnitPlanTest, EveryPlanMovesTheTensor) {
  size_t checked = 0;
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{2}, {3}, {4}, {2, 3}, {3, 2}})
    for (const Shape &shape : std::vector<Shape>{{6}, {8}, {12}, {0, 4}, {4, 4}, {6, 2}, {2, 6}}) {
      Placement placement = meshOf(mesh);
      Simulator simulator(shape, placement);
      std::vector<NdSbp> signatures = signaturesWithUnits(shape, placement, /*withPartial=*/true);
      for (const NdSbp &from : signatures)
        for (const NdSbp &to : signatures) {
          if (!isLegalBoxing(from, to) || (mesh.size() > 1 && shape.size() > 1 && checked++ % 7 != 0))
            continue;
          checkPlan(shape, placement, from, to, simulator);
          if (HasFatalFailure())
            return;
          ++checked;
        }
    }
  EXPECT_GT(checked, 1000u);
}

/// Entries on each axis, with units that fit, whether they make a difference or not: a plan may pass through both.
std::vector<NdSbp> signaturesThatFit(const Shape &shape, const Placement &placement) {
  std::vector<NdSbp> signatures;
  for (const NdSbp &sbp : allSignatures(placement.axes.size(), entriesWithUnits(shape, /*withPartial=*/true)))
    if (unitsFit(shape, sbp, placement))
      signatures.push_back(sbp);
  return signatures;
}

class UnitVolumeTest : public testing::TestWithParam<std::pair<std::vector<int64_t>, std::vector<Shape>>> {};

/// stepVolume is what the busiest position sends, counted element by element.
TEST_P(UnitVolumeTest, StepVolumeIsThatOfTheBusiestRank) {
  const auto &[mesh, shapes] = GetParam();
  size_t checked = 0;
  for (const Shape &shape : shapes) {
    Placement placement = meshOf(mesh);
    Simulator simulator(shape, placement);
    for (const NdSbp &from : signaturesThatFit(shape, placement))
      for (size_t axis = 0; axis < mesh.size(); ++axis)
        for (const Sbp &entry : entriesWithUnits(shape, /*withPartial=*/false)) {
          BoxingStep step{static_cast<int64_t>(axis), Collective::Slice, from, from};
          step.to[axis] = entry;
          std::optional<Collective> collective = singleStep(from[axis], entry);
          if (!collective || !ruleAllows(from, axis, entry) || !unitsFit(shape, step.to, placement))
            continue;
          step.collective = *collective;
          ASSERT_EQ(stepVolume(step, shape, 1, placement), simulator.mostSent(step))
              << toString(*collective) << " " << describe(shape, placement, from, step.to);
          ++checked;
        }
  }
  EXPECT_GT(checked, 100u);
}

using UnitMeshes = std::vector<std::pair<std::vector<int64_t>, std::vector<Shape>>>;
INSTANTIATE_TEST_SUITE_P(Axes, UnitVolumeTest,
                         testing::ValuesIn(UnitMeshes{{{2}, {{6}, {12}, {0}, {4, 4}, {6, 2}, {0, 4}, {6, 0}}},
                                                      {{3}, {{6}, {12}, {16}, {0}, {4, 4}, {6, 2}, {0, 4}, {6, 0}}},
                                                      {{5}, {{12}, {36}, {60}, {8, 6}}},
                                                      {{12}, {{36}, {60}, {96}}},
                                                      {{2, 3}, {{12}, {14}, {0}, {4, 4}, {6, 2}, {0, 4}}},
                                                      {{2, 4}, {{12}, {14}, {20}, {36}, {4, 6}}},
                                                      {{3, 2}, {{12}, {14}, {0}, {4, 4}, {6, 2}, {6, 0}}},
                                                      {{2, 2, 2}, {{6}, {12}, {0}, {4, 4}}},
                                                      {{3, 2, 2}, {{12}, {18}, {4, 2}, {0, 2}}},
                                                      {{2, 2, 3}, {{12}, {18}, {2, 4}, {2, 0}}}}));

/// 14 rows are 8 and 6. Of 8 four ranks have 2 each, singly or in pairs; of 6 they do not, and who has less sends more.
TEST(UnitVolumeTest, WhoHasLessMaySendMore) {
  const Sbp pairs = Sbp::split(0, 2);
  EXPECT_EQ(stepVolume({1, Collective::AllToAll, {pairs, Sbp::split(0)}, {pairs, pairs}}, {14}, 1, meshOf({2, 4})), 1);
}

/// Without the rule data would have to cross groups: the simulator sees it, and no plan does it.
TEST(SimulatorTest, SeesStepsThatAreNotGroupLocal) {
  Placement placement = meshOf({2, 2});
  const Sbp b = Sbp::broadcast(), p = Sbp::partial(), s = Sbp::split(0);
  for (const auto &[from, to] :
       std::vector<std::pair<NdSbp, NdSbp>>{{{b, s}, {s, s}}, {{s, s}, {b, s}}, {{p, s}, {s, s}}}) {
    Simulator simulator({5}, placement);
    BoxingStep step{0, *singleStep(from[0], to[0]), from, to};
    EXPECT_FALSE(ruleAllows(from, 0, to[0]));
    EXPECT_TRUE(simulator.apply(step, simulator.scatter(from)).empty()) << toString(from) << " to " << toString(to);
  }
}

TEST(SimulatorTest, SeesWrongValues) {
  Simulator simulator({5}, meshOf({3}));
  const NdSbp p = {Sbp::partial()}, s = {Sbp::split(0)};
  Simulator::Values values = simulator.apply({0, Collective::ReduceScatter, p, s}, simulator.scatter(p));
  EXPECT_TRUE(simulator.isTensor(values, s, p));
  ++values[1][0];
  EXPECT_FALSE(simulator.isTensor(values, s, p));
  --values[1][0];
  values[2].push_back(0);
  EXPECT_FALSE(simulator.isTensor(values, s, p));
}

/// A slot that holds what the other axes of `sbp` leave, with some of the bucket before and behind it.
Sbp slotFor(const Shape &shape, NdSbp sbp, size_t axis, const Placement &placement, int64_t offset) {
  sbp[axis] = Sbp::broadcast();
  int64_t size = placement.axes[axis].size;
  return Sbp::flat(
      {"g", offset,
       alignUp(offset + std::max<int64_t>(maxBoxElements(shape, sbp, placement), 1), size) + offset / 2 * size});
}

/// From and to flat splits on one axis; the others hold anything.
TEST(FlatPlanTest, EveryPlanMovesTheTensor) {
  size_t checked = 0;
  for (const std::vector<int64_t> &mesh :
       std::vector<std::vector<int64_t>>{{1}, {2}, {3}, {2, 2}, {3, 2}, {2, 3}, {1, 2}, {2, 1}})
    for (const Shape &shape : std::vector<Shape>{{}, {0}, {5}, {1}, {5, 3}, {2, 4}}) {
      Placement placement = meshOf(mesh);
      Simulator simulator(shape, placement);
      std::vector<NdSbp> all = allSignatures(mesh.size(), entriesOf(shape.size(), /*withPartial=*/true));
      for (size_t axis = 0; axis < mesh.size(); ++axis)
        for (int64_t offset : {0, 1, 6})
          for (const NdSbp &from : all)
            for (NdSbp to : all) {
              if (!isLegalBoxing(from, to) || !to[axis].isBroadcast())
                continue;
              to[axis] = slotFor(shape, to, axis, placement, offset);
              checkPlan(shape, placement, from, to, simulator);
              if (!from[axis].isBroadcast())
                continue;
              NdSbp flatFrom = from, wholeTo = to;
              flatFrom[axis] = slotFor(shape, from, axis, placement, offset);
              wholeTo[axis] = Sbp::broadcast();
              checkPlan(shape, placement, flatFrom, wholeTo, simulator);
              checkPlan(shape, placement, flatFrom, to, simulator);
              checked += 3;
              if (HasFatalFailure())
                return;
            }
    }
  EXPECT_GT(checked, 0u);
}

/// The other axis splits by units: pieces of more or less than its equal ones lie in the slot.
TEST(FlatPlanTest, BesideUnits) {
  size_t checked = 0;
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{2, 2}, {3, 2}, {2, 3}, {4, 3}})
    for (const Shape &shape : std::vector<Shape>{{6}, {12}, {0}, {4, 2}, {3, 6}}) {
      Placement placement = meshOf(mesh);
      Simulator simulator(shape, placement);
      for (size_t axis = 0; axis < mesh.size(); ++axis)
        for (int64_t offset : {0, 3})
          for (NdSbp whole : signaturesWithUnits(shape, placement, /*withPartial=*/true)) {
            if (!whole[axis].isBroadcast())
              continue;
            NdSbp flat = whole;
            flat[axis] = slotFor(shape, whole, axis, placement, offset);
            checkPlan(shape, placement, whole, flat, simulator);
            checkPlan(shape, placement, flat, whole, simulator);
            if (HasFatalFailure())
              return;
            BoxingStep step{static_cast<int64_t>(axis), Collective::AllGather, flat, whole};
            ASSERT_EQ(stepVolume(step, shape, 1, placement), simulator.mostSent(step))
                << describe(shape, placement, flat, whole);
            whole[axis] = Sbp::partial();
            step = {static_cast<int64_t>(axis), Collective::ReduceScatter, whole, flat};
            ASSERT_EQ(stepVolume(step, shape, 1, placement), simulator.mostSent(step))
                << describe(shape, placement, whole, flat);
            ++checked;
          }
    }
  EXPECT_GT(checked, 100u);
}

// Bits must not depend on where a sum goes: addends along the last axis are summed first.
TEST(PlanOrderTest, SumsOverAxesHaveOneOrder) {
  Placement placement = meshOf({2, 3, 2});
  for (const NdSbp &to : allSignatures(3, entriesOf(2, /*withPartial=*/false))) {
    int64_t last = 3;
    for (const BoxingStep &step : planBoxing({7, 5}, NdSbp(3, Sbp::partial()), to, placement))
      if (step.from[step.axis].isPartial()) {
        EXPECT_EQ(step.axis, --last) << toString(to);
      }
    EXPECT_EQ(last, 0) << toString(to);
  }
}

/// What becomes pieces is never summed whole: no rank would need most of it.
TEST(PlanOrderTest, NoSumIsMadeWholeToBeCut) {
  size_t scatters = 0, below = 0;
  for (const std::vector<int64_t> &mesh :
       std::vector<std::vector<int64_t>>{{2}, {3}, {2, 2}, {2, 3}, {3, 2}, {2, 2, 2}})
    for (const Shape &shape : std::vector<Shape>{{8}, {7}, {5, 3}, {6, 4}}) {
      const Placement placement = meshOf(mesh);
      const std::vector<NdSbp> signatures = allSignatures(mesh.size(), entriesOf(shape.size(), /*withPartial=*/true));
      for (const NdSbp &from : signatures)
        for (const NdSbp &to : signatures) {
          if (!isLegalBoxing(from, to))
            continue;
          for (int64_t perCall : {kElementsPerCall, int64_t{0}})
            for (const BoxingStep &step : planBoxing(shape, from, to, placement, perCall)) {
              if (!to[step.axis].isSplit() || !step.from[step.axis].isPartial())
                continue;
              ASSERT_EQ(step.collective, Collective::ReduceScatter) << describe(shape, placement, from, to);
              ++scatters;
              below += step.toLast >= 0;
            }
        }
    }
  EXPECT_GT(scatters, 1000u);
  EXPECT_GT(below, 100u);
}

/// Axes of size 1 need no step, wherever they stand and whatever their entry is.
TEST(TrivialAxesTest, NoSteps) {
  for (const std::vector<int64_t> &mesh : meshesOf(2)) {
    Placement placement = meshOf(mesh);
    if (trivialAxes(placement) == 0)
      continue;
    std::vector<NdSbp> signatures = allSignatures(2, entriesOf(1, /*withPartial=*/true));
    for (const NdSbp &from : signatures)
      for (const NdSbp &to : signatures) {
        if (!isLegalBoxing(from, to))
          continue;
        for (const BoxingStep &step : planBoxing({5}, from, to, placement))
          ASSERT_GT(placement.axes[step.axis].size, 1) << describe({5}, placement, from, to);
      }
  }
}

/// The table gives one step for P to B, and a transport may do a small one in one round: it must not become two
/// collectives.
TEST(AllReduceTest, AlongOneAxisItIsOneStep) {
  for (int64_t ranks : {2, 3, 4, 8})
    for (int64_t elements : {1, 3, 64, 1000, 1024, 2000, 4096, 5000, 100'000}) {
      std::vector<BoxingStep> plan = planBoxing({elements}, {Sbp::partial()}, {Sbp::broadcast()}, meshOf({ranks}));
      ASSERT_EQ(plan.size(), 1u) << elements << " elements on " << ranks << " ranks begin with a "
                                 << toString(plan[0].collective);
      EXPECT_EQ(plan[0].collective, Collective::AllReduce);
    }
}

} // namespace
} // namespace splitcast::sbp
