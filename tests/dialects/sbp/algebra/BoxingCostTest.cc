// What boxings cost: plans against a search of its own, volumes against a count of elements, on any number of ranks.
#include "dialects/sbp/algebra/Sizes.h"
#include "tests/dialects/sbp/algebra/Reference.h"

#include "gtest/gtest.h"

#include <functional>
#include <optional>

namespace splitcast::sbp {
namespace {

/// What a plan costs, smaller is better: volume and calls, then steps, of which an exchange counts as three.
using Cost = std::pair<int64_t, int64_t>;
constexpr Cost kNever = {INT64_MAX / 4, 0};

Cost plus(const Cost &a, const Cost &b) { return {a.first + b.first, a.second + b.second}; }

Cost costOf(const std::vector<BoxingStep> &steps, int64_t perCall,
            const std::function<int64_t(const BoxingStep &)> &volume) {
  Cost cost;
  for (const BoxingStep &step : steps)
    cost = plus(cost, {volume(step) + (step.collective == Collective::Slice ? 0 : perCall),
                       step.collective == Collective::Exchange ? 3 : 1});
  return cost;
}

/// The cheapest chains of steps, found by relaxing until nothing changes, with volumes counted element by element.
class CheapestChains {
public:
  CheapestChains(const Shape &shape, const Placement &placement, const std::vector<NdSbp> &signatures, int64_t perCall)
      : signatures(signatures), axes(placement.axes.size()), perCall(perCall), simulator(shape, placement) {
    for (const NdSbp &from : signatures)
      for (const NdSbp &to : signatures)
        edges.push_back(edge(from, to));
  }

  /// From every signature to that one. An exchange goes to what the axes that it changes have in the end.
  std::vector<Cost> to(size_t goal) const {
    std::vector<Cost> cost(signatures.size(), kNever);
    cost[goal] = {0, 0};
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < cost.size(); ++i)
        for (size_t j = 0; j < cost.size(); ++j) {
          const Edge &edge = edges[i * cost.size() + j];
          const Cost through = plus(edge.cost, cost[j]);
          if (edge.cost == kNever || !(through < cost[i]) || (edge.isExchange && !isAtGoal(i, j, goal)) ||
              (edge.sumsAlong >= 0 && !signatures[goal][edge.sumsAlong].isBroadcast()))
            continue;
          cost[i] = through;
          changed = true;
        }
    }
    return cost;
  }

private:
  struct Edge {
    Cost cost = kNever;
    bool isExchange = false;
    int64_t sumsAlong = -1; ///< the axis of an all-reduce, which what becomes pieces has none of
  };

  bool isAtGoal(size_t i, size_t j, size_t goal) const {
    for (size_t axis = 0; axis < axes; ++axis)
      if (signatures[i][axis] != signatures[j][axis] && signatures[j][axis] != signatures[goal][axis])
        return false;
    return true;
  }

  Edge edge(const NdSbp &from, const NdSbp &to) {
    std::vector<size_t> changed;
    for (size_t axis = 0; axis < axes; ++axis)
      if (from[axis] != to[axis])
        changed.push_back(axis);
    if (changed.empty())
      return {};
    const auto costs = [&](const std::vector<BoxingStep> &steps) {
      return costOf(steps, perCall, [&](const BoxingStep &step) { return simulator.mostSent(step); });
    };
    const auto axis = static_cast<int64_t>(changed.front());
    const std::optional<Collective> collective = singleStep(from[axis], to[axis]);
    if (changed.size() == 1 && collective && ruleAllows(from, axis, to[axis]))
      return {costs({{axis, *collective, from, to}}), false, *collective == Collective::AllReduce ? axis : -1};
    if (changed.size() == 1 && collective == Collective::ReduceScatter) {
      BoxingStep scatter{axis, *collective, from, to}, exchange = exchangeOf(to, to);
      scatter.toLast = exchange.fromLast = axis;
      return {costs({scatter, exchange}), false};
    }
    for (size_t other : changed)
      for (const Sbp *entry : {&from[other], &to[other]})
        if (entry->isPartial() || entry->isAt())
          return {};
    if (isByGathersAndSlices(from, to))
      return {};
    return {costs({exchangeOf(from, to)}), true};
  }

  /// Among all ranks that have other pieces.
  BoxingStep exchangeOf(const NdSbp &from, const NdSbp &to) const {
    BoxingStep step{-1, Collective::Exchange, from, to};
    for (size_t axis = 0; axis < axes; ++axis)
      if (from[axis].isSplit() && step.axis < 0)
        step.axis = static_cast<int64_t>(axis);
      else if (from[axis].isSplit())
        step.further.push_back(static_cast<int64_t>(axis));
    return step;
  }

  /// In any order of the axes.
  static bool isByGathersAndSlices(const NdSbp &state, const NdSbp &to) {
    if (state == to)
      return true;
    for (size_t axis = 0; axis < to.size(); ++axis) {
      const std::optional<Collective> step = singleStep(state[axis], to[axis]);
      if (!step || *step == Collective::AllToAll || !ruleAllows(state, axis, to[axis]))
        continue;
      NdSbp next = state;
      next[axis] = to[axis];
      if (isByGathersAndSlices(next, to))
        return true;
    }
    return false;
  }

  const std::vector<NdSbp> &signatures;
  size_t axes;
  int64_t perCall;
  Simulator simulator;
  std::vector<Edge> edges; ///< from each to each
};

/// Compares plans for every pair of signatures, and says for how many.
size_t checkPlans(const Shape &shape, const Placement &placement, int64_t perCall, bool withCoordinates = false) {
  const std::vector<NdSbp> signatures =
      withCoordinates ? signaturesWithCoordinates(shape.size(), placement)
                      : allSignatures(placement.axes.size(), entriesOf(shape.size(), /*withPartial=*/true));
  const CheapestChains chains(shape, placement, signatures, perCall);
  size_t checked = 0;
  for (size_t j = 0; j < signatures.size(); ++j) {
    const std::vector<Cost> cheapest = chains.to(j);
    for (size_t i = 0; i < signatures.size(); ++i) {
      if (!isLegalBoxing(signatures[i], signatures[j]))
        continue;
      // Of sums over several axes the order is fixed, whatever it costs.
      size_t sums = 0;
      for (size_t axis = 0; axis < placement.axes.size(); ++axis)
        sums += signatures[i][axis].isPartial() && !signatures[j][axis].isPartial();
      if (sums > 1)
        continue;
      const Cost cost = costOf(planBoxing(shape, signatures[i], signatures[j], placement, perCall), perCall,
                               [&](const BoxingStep &step) { return stepVolume(step, shape, 1, placement); });
      EXPECT_EQ(cost, cheapest[i]) << describe(shape, placement, signatures[i], signatures[j]);
      ++checked;
    }
  }
  return checked;
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
    for (const Shape &shape : shapes)
      for (int64_t perCall : {kElementsPerCall, int64_t{0}})
        if (!HasFailure())
          checked += checkPlans(shape, meshOf(mesh), perCall);
  EXPECT_GT(checked, 0u);
}

TEST(CostTest, PlansFromAndToOneRankAreTheCheapest) {
  size_t checked = 0;
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{3}, {2, 2}, {2, 3}})
    for (const Shape &shape : std::vector<Shape>{{}, {7}, {100'000}, {5, 3}})
      for (int64_t perCall : {kElementsPerCall, int64_t{0}})
        if (!HasFailure())
          checked += checkPlans(shape, meshOf(mesh), perCall, /*withCoordinates=*/true);
  EXPECT_GT(checked, 1000u);
}

/// On long axes some ranks are not looked at: what is found may be less than the most, by what a piece is longer.
TEST(CostTest, ExchangesOnLongAxes) {
  size_t exchanges = 0, exact = 0;
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{5, 7}, {6, 2}, {2, 6}, {8, 8}})
    for (const Shape &shape : std::vector<Shape>{{37, 5}, {64, 8}, {200}}) {
      const Placement placement = meshOf(mesh);
      Simulator simulator(shape, placement);
      const std::vector<NdSbp> signatures = allSignatures(2, entriesOf(shape.size(), /*withPartial=*/true));
      for (const NdSbp &from : signatures)
        for (const NdSbp &to : signatures) {
          if (!isLegalBoxing(from, to))
            continue;
          for (const BoxingStep &step : planBoxing(shape, from, to, placement, /*elementsPerCall=*/0)) {
            if (step.collective != Collective::Exchange)
              continue;
            const int64_t volume = stepVolume(step, shape, 1, placement), most = simulator.mostSent(step);
            ASSERT_LE(volume, most) << describe(shape, placement, step.from, step.to);
            ASSERT_GE(2 * volume, most) << describe(shape, placement, step.from, step.to);
            ++exchanges;
            exact += volume == most;
          }
        }
    }
  EXPECT_GT(exchanges, 100u);
  EXPECT_GT(exact, exchanges * 9 / 10);
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

TEST(GrowthTest, RanksOfTwoAxesCostNothing) {
  constexpr int64_t kRanks = int64_t{1} << 20;
  const Sbp b = Sbp::broadcast(), p = Sbp::partial(), s0 = Sbp::split(0), s1 = Sbp::split(1);
  const Placement mesh = meshOf({kRanks, kRanks});
  const Shape shape = {8 * kRanks, 2 * kRanks};
  for (const auto &[from, to] : std::vector<std::pair<NdSbp, NdSbp>>{
           {{s1, s1}, {s0, s0}}, {{s1, b}, {s0, s0}}, {{s0, s0}, {b, s0}}, {{p, s0}, {s0, s0}}, {{s1, s0}, {s0, s1}}})
    EXPECT_GT(boxingVolume(shape, 1, from, to, mesh), 0) << toString(from) << " to " << toString(to);
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

/// Of conversions axis by axis, as a table of single steps has them: whole along one axis after the other, the last
/// first, and then cut, which is free.
int64_t volumeByWhole(const Shape &shape, const NdSbp &from, const Placement &placement) {
  int64_t bytes = 0;
  NdSbp state = from;
  for (int64_t axis = static_cast<int64_t>(state.size()) - 1; axis >= 0; --axis)
    if (!state[axis].isBroadcast()) {
      BoxingStep step{axis, state[axis].isPartial() ? Collective::AllReduce : Collective::AllGather, state, state};
      step.to[axis] = Sbp::broadcast();
      bytes += stepVolume(step, shape, 4, placement);
      state = step.to;
    }
  return bytes;
}

// (Never above: plans are the cheapest chains of single steps and exchanges, CostTest.)
TEST(BoxingVolumeTest, BelowConversionsAxisByAxis) {
  const Sbp b = Sbp::broadcast(), p = Sbp::partial(), s0 = Sbp::split(0), s1 = Sbp::split(1);
  struct Row {
    NdSbp from, to;
    double most; ///< of the volume of the conversions
  };
  const Row rows[] = {{{s0, s1}, {s1, s0}, 0.5}, {{s0, s0}, {s1, s1}, 0.3},  {{p, s0}, {s0, s0}, 0.5},
                      {{s0, s0}, {b, s0}, 0.7},  {{s1, s0}, {s0, s0}, 0.34}, {{p, p}, {s0, s0}, 0.5},
                      {{p, s1}, {s1, s0}, 0.6}};
  for (const std::vector<int64_t> &mesh : {std::vector<int64_t>{2, 2}, {2, 4}, {3, 2}})
    for (const Row &row : rows) {
      const Shape shape = {1024, 1536};
      const auto ours = static_cast<double>(boxingVolume(shape, 4, row.from, row.to, meshOf(mesh))),
                 theirs = static_cast<double>(volumeByWhole(shape, row.from, meshOf(mesh)));
      EXPECT_LE(ours, row.most * theirs) << describe(shape, meshOf(mesh), row.from, row.to) << ": " << ours / theirs;
    }
}

} // namespace
} // namespace splitcast::sbp
