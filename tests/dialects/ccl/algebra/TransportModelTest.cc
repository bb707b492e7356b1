// What boxings cost on a transport, against what its collectives send; and that no model of one changes a bit.
#include "dialects/ccl/algebra/TransportModel.h"

#include "tests/dialects/sbp/algebra/Reference.h"
#include "tests/dialects/sbp/algebra/SolverGraphs.h"

#include "gtest/gtest.h"

#include <map>

namespace splitcast::ccl {
namespace {

using namespace sbp;

const Sbp b = Sbp::broadcast(), p = Sbp::partial(), s0 = Sbp::split(0), s1 = Sbp::split(1);

/// A rank with fewer elements sends more, where they are few enough for a small all-reduce.
TEST(TransportModelTest, BytesOfSmallAllReduces) {
  constexpr int64_t kMany = kSmallAllReduceBytes / 8;
  size_t smallSendMost = 0;
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{5, 2}, {3, 4}, {2, 3, 6}})
    for (int64_t extent = kMany - 3; extent <= kMany + 3; ++extent)
      for (const Shape &shape : std::vector<Shape>{{2 * extent}, {3 * extent}, {2 * extent, 3}, {7, extent}})
        for (NdSbp from : allSignatures(mesh.size(), entriesOf(shape.size(), /*withPartial=*/false))) {
          Placement placement = meshOf(mesh);
          NdSbp to = from;
          from.back() = p;
          to.back() = b;
          int64_t most = 0, atFirst = 0;
          for (int64_t position = 0; position < placement.numPositions(); ++position) {
            std::vector<int64_t> at = placement.coordinates(position);
            int64_t elements = numElements(localShape(shape, from, placement, at));
            int64_t bytes = allReduceTraffic(elements, 4, mesh.back(), at.back()).bytes;
            atFirst = position == 0 ? bytes : atFirst;
            most = std::max(most, bytes);
          }
          BoxingStep step{static_cast<int64_t>(mesh.size()) - 1, sbp::Collective::AllReduce, from, to};
          ASSERT_EQ(TransportModel().stepBytes(step, shape, 4, placement), most)
              << describe(shape, placement, from, to);
          smallSendMost += most > atFirst;
        }
  EXPECT_GT(smallSendMost, 0u);
}

/// Pieces of a dimension that two axes split by units have more than two extents, and neither the longest nor the
/// shortest may send the most in a small all-reduce.
TEST(TransportModelTest, BytesOfSmallAllReducesWithUnits) {
  size_t betweenSendMost = 0;
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{3, 4}, {2, 3, 6}, {3, 2, 5}})
    for (int64_t count = kSmallAllReduceBytes / 256; count <= kSmallAllReduceBytes / 128; ++count)
      for (const Shape &shape : std::vector<Shape>{{48 * count}, {7, 48 * count}, {24 * count, 2}}) {
        Placement placement = meshOf(mesh);
        std::vector<Sbp> entries = entriesOf(shape.size(), /*withPartial=*/false);
        for (size_t dim = 0; dim < shape.size(); ++dim)
          for (int64_t unit : {8, 24, 48})
            entries.push_back(Sbp::split(static_cast<int64_t>(dim), unit));
        for (NdSbp from : allSignatures(mesh.size(), entries)) {
          from.back() = p;
          if (!unitsFit(shape, from, placement))
            continue;
          NdSbp to = from;
          to.back() = b;
          std::map<int64_t, int64_t> bytes; // by elements
          for (int64_t position = 0; position < placement.numPositions(); ++position) {
            std::vector<int64_t> at = placement.coordinates(position);
            int64_t elements = numElements(localShape(shape, from, placement, at));
            bytes[elements] = std::max(bytes[elements], allReduceTraffic(elements, 4, mesh.back(), at.back()).bytes);
          }
          int64_t most = 0;
          for (const auto &[elements, sent] : bytes)
            most = std::max(most, sent);
          BoxingStep step{static_cast<int64_t>(mesh.size()) - 1, sbp::Collective::AllReduce, from, to};
          ASSERT_EQ(TransportModel().stepBytes(step, shape, 4, placement), most)
              << describe(shape, placement, from, to);
          betweenSendMost += most > bytes.begin()->second && most > bytes.rbegin()->second;
        }
      }
  EXPECT_GT(betweenSendMost, 0u);
}

/// Of all else a transport sends the volume, and of an all-reduce that is not small too.
TEST(TransportModelTest, SendsTheVolumeWhereNothingIsSmall) {
  const TransportModel model{/*smallAllReduceBytes=*/0};
  size_t steps = 0;
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{1}, {4}, {3, 2}})
    for (const Shape &shape : std::vector<Shape>{{5}, {0, 3}, {7, 5}}) {
      const Placement placement = meshOf(mesh);
      const std::vector<NdSbp> all = allSignatures(mesh.size(), entriesOf(shape.size(), /*withPartial=*/true));
      for (const NdSbp &from : all)
        for (const NdSbp &to : all) {
          if (!isLegalBoxing(from, to))
            continue;
          ASSERT_EQ(model.boxingCost()(shape, 4, from, to, placement), boxingVolume(shape, 4, from, to, placement))
              << describe(shape, placement, from, to);
          for (const BoxingStep &step : planBoxing(shape, from, to, placement)) {
            ASSERT_EQ(model.stepBytes(step, shape, 4, placement), stepVolume(step, shape, 4, placement));
            ++steps;
          }
        }
    }
  EXPECT_GT(steps, 100u);
}

TEST(TransportModelTest, NamedCases) {
  struct Row {
    TransportModel model;
    Shape shape;
    NdSbp from, to;
    int64_t cost;
  };
  const TransportModel bytesAlone, slow{/*smallAllReduceBytes=*/4096, /*roundBytes=*/1000};
  const Row rows[] = {
      {bytesAlone, {10, 4}, {s0}, {b}, 3 * 48},     // rank 0 sends 3 rows of 16 bytes to 3 others
      {bytesAlone, {10, 4}, {p}, {b}, 3 * 160},     // small: all to 3 others
      {bytesAlone, {400, 4}, {p}, {b}, 6 * 1600},   // 100 rows to each of 3 others, twice
      {slow, {10, 4}, {b}, {s0}, 0},                // a slice waits for no one
      {slow, {0, 4}, {s0}, {b}, 0},                 // nor does what is empty
      {slow, {10, 4}, {s0}, {b}, 3 * 48 + 1000},    // one round
      {slow, {10, 4}, {p}, {b}, 3 * 160 + 1000},    // small: one round
      {slow, {400, 4}, {p}, {b}, 6 * 1600 + 2000},  // two
      {slow, {256, 4}, {p}, {b}, 3 * 4096 + 1000},  // the largest that is small
      {slow, {400, 4}, {p}, {s0}, 3 * 1600 + 1000}, // one
      {slow, {8, 8}, {s0}, {s1}, 3 * 16 + 1000},    // one
  };
  for (const Row &row : rows)
    EXPECT_EQ(row.model.boxingCost()(row.shape, 4, row.from, row.to, meshOf({4})), row.cost)
        << describe(row.shape, meshOf({4}), row.from, row.to);
}

/// The rows of what is more than elementwise, and the places of addends, are the same on every transport; how the
/// others are split is chosen for it.
TEST(TransportModelTest, DecidesNoSum) {
  const TransportModel models[] = {{}, {/*smallAllReduceBytes=*/0, /*roundBytes=*/1 << 20}};
  std::mt19937_64 engine(8);
  size_t cases = 0, differ = 0;
  for (size_t i = 0; i < 600; ++i) {
    const std::vector<int64_t> mesh = i % 2 ? std::vector<int64_t>{3} : std::vector<int64_t>{2, 2};
    const Problem logical = randomProblem(engine, GraphKind::Any, 2 + i % 7, mesh);
    Problem stored = logical;
    for (TensorInfo &info : stored.tensors)
      for (Sbp &entry : info.given)
        if (!entry.isPartial() && engine() % 2)
          entry = engine() % 2 || info.shape.empty() ? b : s0;
    for (auto chooser : {walk, solve}) {
      std::vector<Assignment> chosen;
      for (const TransportModel &model : models) {
        stored.cost = model.boxingCost();
        Phases phases = solveInPhases(logical, stored, chooser);
        if (!phases.logical.failure && !phases.stored.failure)
          chosen.push_back(phases.stored.assignment);
      }
      if (chosen.size() < 2)
        continue;
      ++cases;
      ASSERT_EQ(sumsOf(stored, chosen[0]), sumsOf(stored, chosen[1])) << describe(stored, chosen[0]);
      differ += chosen[0].tensors != chosen[1].tensors;
    }
  }
  EXPECT_GT(cases, 1000u);
  EXPECT_GT(differ, 0u);
}

} // namespace
} // namespace splitcast::ccl
