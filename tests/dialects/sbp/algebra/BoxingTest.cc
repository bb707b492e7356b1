// Boxing: the table row by row, every plan simulated on integers, and costs against a search of its own.
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
            f = Sbp::flat({"g", 0, 8}), g = Sbp::flat({"g", 4, 8}), u = Sbp::split(0, 6);
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
                      {p, p, none}};
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

/// Steps chain from `from` to `to`, each as the table and the rule say, and moving integers along gives the tensor.
void checkPlan(const Shape &shape, const Placement &placement, const NdSbp &from, const NdSbp &to,
               Simulator &simulator) {
  std::vector<BoxingStep> plan = planBoxing(shape, from, to, placement);
  NdSbp state = from;
  Simulator::Values values = simulator.scatter(from);
  for (const BoxingStep &step : plan) {
    ASSERT_TRUE(sameBytes(step.from, state, placement)) << describe(shape, placement, from, to);
    NdSbp expected = step.from;
    expected[step.axis] = step.to[step.axis];
    ASSERT_EQ(step.to, expected) << "a step changes its axis only";
    ASSERT_TRUE(unitsFit(shape, step.to, placement)) << describe(shape, placement, from, to);
    ASSERT_EQ(singleStep(step.from[step.axis], step.to[step.axis]), step.collective);
    ASSERT_TRUE(ruleAllows(step.from, step.axis, step.to[step.axis])) << describe(shape, placement, from, to);
    values = simulator.apply(step, values);
    ASSERT_FALSE(values.empty()) << "not within groups: " << describe(shape, placement, step.from, step.to);
    state = step.to;
  }
  ASSERT_TRUE(sameBytes(state, to, placement)) << describe(shape, placement, from, to);
  ASSERT_TRUE(simulator.isTensor(values, state, from)) << describe(shape, placement, from, to);
  ASSERT_TRUE(simulator.isTensor(values, to, from)) << describe(shape, placement, from, to);
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

/// What a plan costs, smaller is better: volume, then steps.
using Cost = std::pair<int64_t, int64_t>;
constexpr Cost kNever = {INT64_MAX / 4, 0};

Cost plus(const Cost &a, const Cost &b) { return {a.first + b.first, a.second + b.second}; }

/// Costs of the cheapest chains of allowed steps between all pairs of signatures, by relaxing until nothing changes.
std::vector<std::vector<Cost>> cheapestChains(const Shape &shape, const Placement &placement,
                                              const std::vector<NdSbp> &signatures) {
  size_t count = signatures.size(), axes = placement.axes.size();
  std::vector<std::vector<Cost>> cost(count, std::vector<Cost>(count, kNever));
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < count; ++j) {
      size_t changed = 0, axis = 0;
      for (size_t a = 0; a < axes; ++a)
        if (signatures[i][a] != signatures[j][a]) {
          ++changed;
          axis = a;
        }
      if (changed == 0)
        cost[i][j] = {0, 0};
      std::optional<Collective> collective;
      if (changed == 1)
        collective = singleStep(signatures[i][axis], signatures[j][axis]);
      if (collective && ruleAllows(signatures[i], axis, signatures[j][axis]))
        cost[i][j] = {
            stepVolume({static_cast<int64_t>(axis), *collective, signatures[i], signatures[j]}, shape, 1, placement),
            1};
    }
  for (size_t via = 0; via < count; ++via)
    for (size_t i = 0; i < count; ++i)
      for (size_t j = 0; j < count; ++j)
        cost[i][j] = std::min(cost[i][j], plus(cost[i][via], cost[via][j]));
  return cost;
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

TEST(CostTest, PlansAreTheCheapest) {
  size_t checked = 0;
  const std::vector<std::pair<std::vector<int64_t>, std::vector<Shape>>> cases = {
      {{2}, {{}, {5}, {5, 3}, {2, 2}}},
      {{2, 2}, {{}, {5}, {5, 3}, {60, 90}}},
      {{2, 2, 2}, {{8}, {5, 3}}},
      {{3}, {{2}, {5, 3}, {100'000}, {12'011, 17}, {400, 900}}},
      {{3, 2}, {{}, {7}, {5, 3}, {100'000}, {12'011, 17}, {400, 900}}},
      {{2, 4}, {{9}, {5, 3}, {12'011, 17}}}};
  for (const auto &[mesh, shapes] : cases)
    for (const Shape &shape : shapes) {
      Placement placement = meshOf(mesh);
      std::vector<NdSbp> signatures = allSignatures(mesh.size(), entriesOf(shape.size(), /*withPartial=*/true));
      std::vector<std::vector<Cost>> cheapest = cheapestChains(shape, placement, signatures);
      for (size_t i = 0; i < signatures.size(); ++i)
        for (size_t j = 0; j < signatures.size(); ++j) {
          if (!isLegalBoxing(signatures[i], signatures[j]))
            continue;
          // Of sums over several axes the order is fixed, whatever it costs.
          size_t sums = 0;
          for (size_t axis = 0; axis < mesh.size(); ++axis)
            sums += signatures[i][axis].isPartial() && !signatures[j][axis].isPartial();
          if (sums > 1)
            continue;
          Cost cost = {boxingVolume(shape, 1, signatures[i], signatures[j], placement),
                       planBoxing(shape, signatures[i], signatures[j], placement).size()};
          ASSERT_EQ(cost, cheapest[i][j]) << describe(shape, placement, signatures[i], signatures[j]);
          ++checked;
        }
    }
  EXPECT_GT(checked, 0u);
}

/// stepVolume is what the busiest position sends, counted element by element.
void checkStepVolume(bool allToAll) {
  size_t checked = 0;
  for (const std::vector<int64_t> &mesh :
       std::vector<std::vector<int64_t>>{{1}, {2}, {3}, {4}, {2, 2}, {3, 2}, {2, 3}, {2, 2, 2}})
    for (const Shape &shape : std::vector<Shape>{{5}, {6}, {2}, {0}, {5, 3}, {1, 4}, {4, 4}, {7, 5}}) {
      Placement placement = meshOf(mesh);
      Simulator simulator(shape, placement);
      for (const NdSbp &state : allSignatures(mesh.size(), entriesOf(shape.size(), /*withPartial=*/true)))
        for (size_t axis = 0; axis < mesh.size(); ++axis)
          for (const Sbp &entry : entriesOf(shape.size(), /*withPartial=*/false)) {
            std::optional<Collective> collective = singleStep(state[axis], entry);
            if (!collective || !ruleAllows(state, axis, entry) || (*collective == Collective::AllToAll) != allToAll)
              continue;
            BoxingStep step{static_cast<int64_t>(axis), *collective, state, state};
            step.to[axis] = entry;
            ASSERT_EQ(stepVolume(step, shape, 1, placement), simulator.mostSent(step))
                << toString(*collective) << " " << describe(shape, placement, state, step.to);
            ASSERT_EQ(stepVolume(step, shape, 4, placement), 4 * stepVolume(step, shape, 1, placement));
            ++checked;
          }
    }
  EXPECT_GT(checked, 0u);
}

TEST(CostTest, StepVolumeIsThatOfTheBusiestRank) { checkStepVolume(/*allToAll=*/false); }
TEST(CostTest, StepVolumeOfAllToAll) { checkStepVolume(/*allToAll=*/true); }

/// The longest piece of a slot is that of a chunk in its middle when it begins within a chunk.
TEST(CostTest, StepVolumeOfFlatSplits) {
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{2}, {3}, {4}, {2, 3}})
    for (int64_t offset : {0, 1, 3, 8})
      for (const Shape &shape : std::vector<Shape>{{5}, {40}, {10, 4}}) {
        Placement placement = meshOf(mesh);
        size_t axis = mesh.size() - 1;
        Simulator simulator(shape, placement);
        for (const Sbp &whole : {Sbp::broadcast(), Sbp::partial()}) {
          NdSbp from(mesh.size(), Sbp::broadcast()), to = from;
          from[axis] = whole;
          const int64_t total = alignUp(offset + numElements(shape) + 5, mesh[axis]);
          Ends ends(mesh[axis], offset + numElements(shape) / 3);
          ends.back() = total;
          to[axis] = Sbp::flat({"g", offset, total, shape.size() == 2 ? ends : Ends()});
          for (bool gather : {false, true}) {
            BoxingStep step{static_cast<int64_t>(axis), Collective::AllGather, to, from};
            if (!gather)
              step = {static_cast<int64_t>(axis), singleStep(from[axis], to[axis]).value(), from, to};
            else if (whole.isPartial())
              continue;
            ASSERT_EQ(stepVolume(step, shape, 1, placement), simulator.mostSent(step))
                << toString(step.collective) << " " << describe(shape, placement, step.from, step.to);
          }
        }
      }
}

// What follows would not end if anything looked at the ranks of an axis one by one, or walked along axes of size 1.

TEST(GrowthTest, RanksCostNothing) {
  constexpr int64_t kRanks = int64_t{1} << 40;
  const Sbp b = Sbp::broadcast(), p = Sbp::partial(), s0 = Sbp::split(0), s1 = Sbp::split(1),
            f = Sbp::flat({"g", 5, 2 * kRanks});
  struct Row {
    Sbp from, to;
    int64_t bytes;
  };
  for (const Row &row : {Row{b, s0, 0}, Row{s0, b, 3 * (kRanks - 1)}, Row{p, s0, 3 * kRanks - 3},
                         Row{p, b, 6 * (kRanks - 1)}, Row{f, b, 2 * (kRanks - 1)}})
    EXPECT_EQ(boxingVolume({row.from.isFlat() ? kRanks : 3 * kRanks}, 1, {row.from}, {row.to}, meshOf({kRanks})),
              row.bytes)
        << toString(row.from) << " to " << toString(row.to);
  // The last rank has one row of each, and keeps none of the columns, of which there are fewer than ranks.
  EXPECT_EQ(stepVolume({0, Collective::AllToAll, {s0}, {s1}}, {kRanks, 7}, 1, meshOf({kRanks})), 7);
}

TEST(GrowthTest, RanksCostNothingWithUnits) {
  constexpr int64_t kRanks = int64_t{1} << 40;
  const Sbp b = Sbp::broadcast(), p = Sbp::partial(), s0 = Sbp::split(0), u = Sbp::split(0, 3);
  struct Row {
    Sbp from, to;
    int64_t bytes;
  };
  // Rank 0 has 6 rows and all others 3; singly ranks 0 to 2 have 4.
  for (const Row &row :
       {Row{b, u, 0}, Row{u, b, 6 * (kRanks - 1)}, Row{p, u, 3 * kRanks}, Row{u, s0, 2}, Row{s0, u, 2}})
    EXPECT_EQ(boxingVolume({3 * kRanks + 3}, 1, {row.from}, {row.to}, meshOf({kRanks})), row.bytes)
        << toString(row.from) << " to " << toString(row.to);
  // The last rank has no unit of 4 columns: it sends its row.
  EXPECT_EQ(stepVolume({0, Collective::AllToAll, {s0}, {Sbp::split(1, 4)}}, {kRanks, 8}, 1, meshOf({kRanks})), 8);
}

TEST(GrowthTest, AxesOfSizeOneCostNothing) {
  constexpr size_t kAxes = 60;
  const std::vector<size_t> real = {20, 40};
  std::vector<int64_t> sizes(kAxes, 1);
  sizes[20] = 2;
  sizes[40] = 3;
  for (const NdSbp &to : allSignatures(2, entriesOf(2, /*withPartial=*/false))) {
    NdSbp wideFrom(kAxes, Sbp::partial()), wideTo(kAxes, Sbp::split(1));
    for (size_t axis = 0; axis < 2; ++axis)
      wideTo[real[axis]] = to[axis];
    std::vector<BoxingStep> wide = planBoxing({7, 5}, wideFrom, wideTo, meshOf(sizes));
    std::vector<BoxingStep> plan = planBoxing({7, 5}, NdSbp(2, Sbp::partial()), to, meshOf({2, 3}));
    ASSERT_EQ(wide.size(), plan.size()) << toString(to);
    for (size_t i = 0; i < plan.size(); ++i) {
      EXPECT_EQ(wide[i].axis, static_cast<int64_t>(real[plan[i].axis])) << toString(to);
      EXPECT_EQ(wide[i].collective, plan[i].collective) << toString(to);
      for (size_t axis = 0; axis < 2; ++axis)
        EXPECT_EQ(wide[i].to[real[axis]], plan[i].to[axis]) << toString(to);
    }
  }
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

TEST(BoxingVolumeTest, NamedCases) {
  const Sbp b = Sbp::broadcast(), p = Sbp::partial(), s0 = Sbp::split(0), s1 = Sbp::split(1);
  struct Row {
    Shape shape;
    std::vector<int64_t> mesh;
    NdSbp from, to;
    int64_t bytes;
  };
  const Row rows[] = {
      {{10, 4}, {4}, {b}, {s0}, 0},                 // slice
      {{10, 4}, {4}, {s0}, {b}, 3 * 48},            // rank 0 sends 3 rows of 16 bytes to 3 others
      {{10, 4}, {4}, {p}, {s0}, 8 * 16},            // ranks 2 and 3 keep 2 rows, and send 8
      {{8, 8}, {4}, {s0}, {s1}, 3 * 16},            // 2x2 elements to each of 3 others
      {{8, 8}, {2, 2}, {s0, s0}, {b, b}, 64 + 128}, // 2 rows along b, then 4 rows along a
      {{8, 8}, {2, 2}, {s0, b}, {s0, s1}, 0},
  };
  for (const Row &row : rows)
    EXPECT_EQ(boxingVolume(row.shape, 4, row.from, row.to, meshOf(row.mesh)), row.bytes)
        << describe(row.shape, meshOf(row.mesh), row.from, row.to);
}

} // namespace
} // namespace splitcast::sbp
