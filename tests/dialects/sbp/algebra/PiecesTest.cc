// Where elements lie, for all shapes up to rank 3 with extents 0..5 on small meshes and all signatures there.
#include "dialects/sbp/algebra/Sizes.h"
#include "tests/dialects/sbp/algebra/Reference.h"

#include "gtest/gtest.h"

#include <algorithm>

namespace splitcast::sbp {
namespace {

const std::vector<std::vector<int64_t>> kMeshes = {{1}, {2}, {3}, {4}, {6}, {2, 3}, {3, 2}, {2, 2, 2}};

std::vector<Shape> shapesOfRank(size_t rank) { return allTuples(rank, 6); }

/// The elements that runs list, in local order; fails unless runs are ascending at both ends, joined and not empty.
std::vector<int64_t> expand(const std::vector<Run> &runs) {
  std::vector<int64_t> elements;
  for (size_t i = 0; i < runs.size(); ++i) {
    EXPECT_GT(runs[i].count, 0);
    EXPECT_EQ(runs[i].local, static_cast<int64_t>(elements.size())) << "places are used in order, with no gap";
    if (i > 0) {
      EXPECT_GT(runs[i].logical, runs[i - 1].logical + runs[i - 1].count) << "ascending, and neighbours joined";
    }
    for (int64_t j = 0; j < runs[i].count; ++j)
      elements.push_back(runs[i].logical + j);
  }
  return elements;
}

/// All laws of one tensor's layout.
void checkLayout(const Shape &shape, const NdSbp &sbp, const Placement &placement) {
  std::vector<int64_t> holders(numElements(shape)), writers(holders.size());
  int64_t copies = 1, addends = 1, most = 0;
  bool isFlat = false;
  for (size_t axis = 0; axis < sbp.size(); ++axis) {
    copies *= sbp[axis].isBroadcast() || sbp[axis].isPartial() ? placement.axes[axis].size : 1;
    addends *= sbp[axis].isPartial() ? placement.axes[axis].size : 1;
    isFlat |= sbp[axis].isFlat();
  }
  for (int64_t position = 0; position < placement.numPositions(); ++position) {
    std::vector<int64_t> at = placement.coordinates(position);
    std::vector<int64_t> elements = expand(pieces(shape, sbp, placement, at));
    ASSERT_EQ(elements, heldBy(shape, sbp, placement, position)) << describe(shape, placement, sbp) << " " << position;
    Shape local = localShape(shape, sbp, placement, at);
    ASSERT_EQ(numElements(local), static_cast<int64_t>(elements.size())) << describe(shape, placement, sbp);
    ASSERT_EQ(local.size(), isFlat ? 1 : shape.size());
    for (int64_t element : elements) {
      ++holders[element];
      writers[element] += ownsPiece(sbp, at);
    }
    int64_t boxElements = 1;
    std::vector<Interval> box = localBox(shape, sbp, placement, at);
    ASSERT_EQ(box.size(), shape.size());
    for (size_t dim = 0; dim < box.size(); ++dim) {
      boxElements *= box[dim].count;
      ASSERT_TRUE(isFlat || box[dim].count == local[dim]);
    }
    most = std::max(most, boxElements);
  }
  EXPECT_EQ(maxBoxElements(shape, sbp, placement), most) << describe(shape, placement, sbp);
  for (size_t element = 0; element < holders.size(); ++element) {
    ASSERT_EQ(holders[element], copies) << describe(shape, placement, sbp) << " element " << element;
    ASSERT_EQ(writers[element], addends) << describe(shape, placement, sbp) << " element " << element;
  }
}

class PiecesTest : public testing::TestWithParam<size_t> {};

/// Pieces are disjoint and cover everything; every element is written exactly once (every addend, where it is P).
TEST_P(PiecesTest, SplitsAndBroadcasts) {
  size_t rank = GetParam(), checked = 0;
  for (const std::vector<int64_t> &mesh : kMeshes) {
    Placement placement = meshOf(mesh);
    for (const NdSbp &sbp : allSignatures(mesh.size(), entriesOf(rank, /*withPartial=*/mesh.size() < 3)))
      for (const Shape &shape : shapesOfRank(rank)) {
        checkLayout(shape, sbp, placement);
        ++checked;
        if (HasFailure())
          return;
      }
  }
  EXPECT_GT(checked, kMeshes.size());
}

/// Blocks that stay together, of dimensions that they divide.
TEST(PiecesOfUnitsTest, CoverEverything) {
  size_t checked = 0;
  for (const std::vector<int64_t> &mesh : kMeshes)
    for (const Shape &shape : std::vector<Shape>{{0}, {2}, {4}, {12}, {18}, {0, 4}, {6, 4}, {2, 6}})
      if (shape.size() * mesh.size() < 6)
        for (const NdSbp &sbp : signaturesWithUnits(shape, meshOf(mesh), /*withPartial=*/mesh.size() < 2)) {
          checkLayout(shape, sbp, meshOf(mesh));
          ++checked;
          if (HasFailure())
            return;
        }
  EXPECT_GT(checked, 500u);
}

/// Pieces that end anywhere, empty ones included, and slots in chunks that do.
TEST(PiecesOfEndsTest, CoverEverything) {
  size_t checked = 0;
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{1}, {2}, {3}, {4}, {2, 3}, {3, 2}})
    for (const Shape &shape : std::vector<Shape>{{0}, {1}, {5}, {4, 3}, {2, 0}})
      for (size_t axis = 0; axis < mesh.size(); ++axis) {
        const Placement placement = meshOf(mesh);
        for (NdSbp sbp : signaturesWithEnds(shape, placement, axis, /*withPartial=*/true)) {
          checkLayout(shape, sbp, placement);
          EXPECT_TRUE(faultOfEnds(sbp[axis].ends, shape[0], mesh[axis]).empty());
          NdSbp whole = sbp;
          whole[axis] = Sbp::broadcast();
          const int64_t begin = 2, total = alignUp(begin + maxBoxElements(shape, whole, placement) + 1, mesh[axis]);
          // Ends within the slot, before and behind it.
          Ends ends;
          for (int64_t end : sbp[axis].ends)
            ends.push_back(std::min(2 * end + 1, total));
          ends.back() = total;
          sbp[axis] = Sbp::flat({"g", begin, total, ends});
          checkLayout(shape, sbp, placement);
          ++checked;
          if (HasFailure())
            return;
        }
      }
  EXPECT_GT(checked, 200u);
}

/// A flat split on one axis, with everything on the others.
TEST_P(PiecesTest, FlatSplits) {
  size_t rank = GetParam(), checked = 0;
  for (const std::vector<int64_t> &mesh : kMeshes) {
    Placement placement = meshOf(mesh);
    for (NdSbp sbp : allSignatures(mesh.size(), entriesOf(rank, /*withPartial=*/false)))
      for (size_t flatAxis = 0; flatAxis < mesh.size(); ++flatAxis) {
        if (!sbp[flatAxis].isBroadcast())
          continue; // the entry that the flat one replaces, so that each signature comes once
        for (const Shape &shape : shapesOfRank(rank))
          for (int64_t offset : {0, 3}) {
            sbp[flatAxis] = Sbp::broadcast();
            int64_t needed = offset + maxBoxElements(shape, sbp, placement), size = mesh[flatAxis];
            // The bucket ends with this variable, or goes on for a while; a bucket is never empty.
            int64_t total = alignUp(std::max<int64_t>(needed, 1), size) + (offset ? 2 * size : 0);
            sbp[flatAxis] = Sbp::flat({"g", offset, total});
            checkLayout(shape, sbp, placement);
            ++checked;
            if (HasFailure())
              return;
          }
        sbp[flatAxis] = Sbp::broadcast();
      }
  }
  EXPECT_GT(checked, kMeshes.size());
}

INSTANTIATE_TEST_SUITE_P(Ranks, PiecesTest, testing::Values(0, 1, 2, 3));

} // namespace
} // namespace splitcast::sbp
