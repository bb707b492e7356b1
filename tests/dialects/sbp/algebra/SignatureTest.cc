// Placements, the text of signatures, and the tables of Signature.h row by row.
#include "tests/dialects/sbp/algebra/Reference.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>

namespace splitcast::sbp {
namespace {

TEST(PlacementTest, PositionsAndCoordinatesAreInverse) {
  for (const std::vector<int64_t> &sizes : std::vector<std::vector<int64_t>>{{}, {1}, {5}, {2, 3}, {3, 1, 2}}) {
    Placement placement = meshOf(sizes);
    std::vector<std::vector<int64_t>> seen;
    for (int64_t position = 0; position < placement.numPositions(); ++position) {
      std::vector<int64_t> at = placement.coordinates(position);
      EXPECT_EQ(placement.positionOf(at), position);
      for (size_t axis = 0; axis < sizes.size(); ++axis)
        EXPECT_TRUE(at[axis] >= 0 && at[axis] < sizes[axis]);
      seen.push_back(at);
    }
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end())) << "row-major: the last axis varies fastest";
    EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
  }
  EXPECT_EQ(meshOf({}).numPositions(), 1);
  EXPECT_EQ(meshOf({2, 3}).coordinates(4), (std::vector<int64_t>{1, 1}));
}

TEST(PlacementTest, GroupsDifferOnlyAlongTheirAxis) {
  Placement placement = meshOf({3, 2, 2});
  for (int64_t axis = 0; axis < 3; ++axis)
    for (int64_t position = 0; position < placement.numPositions(); ++position) {
      std::vector<int64_t> group = placement.groupAlong(axis, position);
      ASSERT_EQ(static_cast<int64_t>(group.size()), placement.axes[axis].size);
      for (int64_t i = 0; i < placement.axes[axis].size; ++i) {
        std::vector<int64_t> expected = placement.coordinates(position);
        expected[axis] = i;
        EXPECT_EQ(placement.coordinates(group[i]), expected);
      }
    }
}

TEST(PlacementTest, AxesByName) {
  Placement placement{"cpu", {{"dp", 4}, {"tp", 2}}, {}};
  EXPECT_EQ(placement.axisIndex("dp"), 0);
  EXPECT_EQ(placement.axisIndex("tp"), 1);
  EXPECT_EQ(placement.axisIndex("pp"), -1);
}

TEST(PlacementTest, EqualWhenAllPartsAre) {
  Placement placement{"cpu", {{"dp", 2}}, {0, 1}};
  EXPECT_TRUE(placement == placement);
  for (const Placement &other : {Placement{"cuda", {{"dp", 2}}, {0, 1}}, Placement{"cpu", {{"tp", 2}}, {0, 1}},
                                 Placement{"cpu", {{"dp", 3}}, {0, 1}}, Placement{"cpu", {{"dp", 2}}, {1, 0}},
                                 Placement{"cpu", {{"dp", 2}}, {}}})
    EXPECT_FALSE(placement == other);
}

TEST(SbpTest, EqualWhenAllPartsAre) {
  const std::vector<Sbp> different = {Sbp::broadcast(),
                                      Sbp::partial(),
                                      Sbp::split(0),
                                      Sbp::split(1),
                                      Sbp::flat({"g", 0, 8}),
                                      Sbp::flat({"h", 0, 8}),
                                      Sbp::flat({"g", 2, 8}),
                                      Sbp::flat({"g", 0, 16}),
                                      Sbp::split(0, 2),
                                      Sbp::at(0),
                                      Sbp::at(1)};
  for (size_t i = 0; i < different.size(); ++i)
    for (size_t j = 0; j < different.size(); ++j) {
      EXPECT_EQ(different[i] == different[j], i == j);
      EXPECT_EQ(different[i] != different[j], i != j);
    }
}

TEST(SbpTest, Text) {
  EXPECT_EQ(toString(Sbp::broadcast()), "B");
  EXPECT_EQ(toString(Sbp::partial()), "P");
  EXPECT_EQ(toString(Sbp::split(3)), "S(3)");
  EXPECT_EQ(toString(Sbp::split(3, 256)), "S(3 by 256)");
  EXPECT_EQ(toString(Sbp::flat({"g", 8, 64})), "S(@g, 8 of 64)");
  EXPECT_EQ(toString(Sbp::at(2)), "At(2)");
  EXPECT_EQ(toString(NdSbp{}), "[]");
  EXPECT_EQ(toString(NdSbp{Sbp::split(0), Sbp::broadcast()}), "[S(0), B]");
}

TEST(SbpTest, EveryEntryIsOfOneKind) {
  struct Row {
    Sbp sbp;
    bool split, flat, broadcast, partial, at;
  };
  for (const Row &row :
       {Row{Sbp::split(0), true, false, false, false, false},
        Row{Sbp::flat({"g", 0, 8}), false, true, false, false, false},
        Row{Sbp::broadcast(), false, false, true, false, false}, Row{Sbp::partial(), false, false, false, true, false},
        Row{Sbp::at(0), false, false, false, false, true}}) {
    EXPECT_EQ(row.sbp.isSplit(), row.split);
    EXPECT_EQ(row.sbp.isFlat(), row.flat);
    EXPECT_EQ(row.sbp.isBroadcast(), row.broadcast);
    EXPECT_EQ(row.sbp.isPartial(), row.partial);
    EXPECT_EQ(row.sbp.isAt(), row.at);
  }
}

/// The table at pieceOf.
TEST(PieceOfTest, Table) {
  struct Row {
    int64_t extent, parts;
    std::vector<Interval> pieces;
  };
  for (const Row &row :
       {Row{10, 4, {{0, 3}, {3, 3}, {6, 2}, {8, 2}}}, Row{2, 3, {{0, 1}, {1, 1}, {2, 0}}}, Row{0, 2, {{0, 0}, {0, 0}}}})
    for (int64_t index = 0; index < row.parts; ++index)
      EXPECT_EQ(pieceOf(row.extent, row.parts, index), row.pieces[index]) << row.extent << " " << row.parts;
}

TEST(PieceOfTest, PiecesFollowEachOtherAndDifferByOne) {
  for (int64_t extent = 0; extent <= 40; ++extent)
    for (int64_t parts = 1; parts <= 12; ++parts) {
      int64_t end = 0;
      for (int64_t index = 0; index < parts; ++index) {
        Interval piece = pieceOf(extent, parts, index);
        EXPECT_EQ(piece.begin, end);
        EXPECT_EQ(piece.count, extent / parts + (index < extent % parts ? 1 : 0));
        end += piece.count;
      }
      EXPECT_EQ(end, extent);
    }
}

/// The worked example of Signature.h: 10 rows of 4 on [dp = 4].
TEST(WorkedExampleTest, Table) {
  Placement placement = meshOf({4});
  const Shape shape = {10, 4};
  struct Row {
    Sbp sbp;
    std::vector<Shape> shapes;
    std::vector<std::vector<sbp::Run>> runs;
  };
  const std::vector<sbp::Run> whole = {{0, 0, 40}};
  const Row rows[] = {
      {Sbp::broadcast(), {{10, 4}, {10, 4}, {10, 4}, {10, 4}}, {whole, whole, whole, whole}},
      {Sbp::split(0), {{3, 4}, {3, 4}, {2, 4}, {2, 4}}, {{{0, 0, 12}}, {{12, 0, 12}}, {{24, 0, 8}}, {{32, 0, 8}}}},
      {Sbp::partial(), {{10, 4}, {10, 4}, {10, 4}, {10, 4}}, {whole, whole, whole, whole}},
      {Sbp::flat({"g", 8, 64}), {{8}, {16}, {16}, {0}}, {{{0, 0, 8}}, {{8, 0, 16}}, {{24, 0, 16}}, {}}},
      {Sbp::at(2), {{0}, {0}, {10, 4}, {0}}, {{}, {}, whole, {}}},
  };
  for (const Row &row : rows)
    for (int64_t rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(localShape(shape, {row.sbp}, placement, {rank}), row.shapes[rank]) << toString(row.sbp) << rank;
      EXPECT_EQ(pieces(shape, {row.sbp}, placement, {rank}), row.runs[rank]) << toString(row.sbp) << rank;
    }
}

/// The other: 60 rows, 6 of each sample.
TEST(WorkedExampleTest, PiecesEndWhereTheEntrySays) {
  const Placement line{"cpu", {{"dp", 4}}, {}};
  const NdSbp rows = {Sbp::splitTo(0, {2, 2, 9, 10})}, slot = {Sbp::flat({"g", 8, 64, {8, 48, 64, 64}})};
  const std::vector<Shape> shapes = {{2, 4}, {0, 4}, {7, 4}, {1, 4}};
  for (int64_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(localShape({10, 4}, rows, line, {rank}), shapes[rank]);
    EXPECT_EQ(localShape({10, 4}, slot, line, {rank}), Shape{rank == 1 ? 40 : 0});
  }
  EXPECT_EQ(slotPiece(slot[0].slot, 40, 4, 1).chunkBegin, 0);
  EXPECT_EQ(toString(rows), "[S(0 to [2, 2, 9, 10])]");
  EXPECT_EQ(toString(slot), "[S(@g, 8 of 64 to [8, 48, 64, 64])]");
}

TEST(EndsTest, Faults) {
  EXPECT_EQ(faultOfEnds({2, 2, 9, 10}, 10, 4), "");
  EXPECT_EQ(faultOfEnds({0, 10}, 10, 2), "");
  EXPECT_EQ(faultOfEnds({4, 10}, 10, 3), "has 2 ends on 3 ranks; give one per rank");
  EXPECT_EQ(faultOfEnds({5, 4, 10}, 10, 3), "has ends [5, 4, 10], which descend; give them in ascending order");
  EXPECT_EQ(faultOfEnds({-1, 4, 10}, 10, 3), "has ends [-1, 4, 10], which begin below 0; the first is at least 0");
  EXPECT_EQ(faultOfEnds({1, 2, 9}, 10, 3),
            "ends at 9 on the last rank, but its length is 10; give that as the last end");
  EXPECT_EQ(faultOfEnds({4, 7, 10}, 10, 3), "has the ends of even pieces; leave them out");
}

TEST(WorkedExampleTest, UnitsStayTogether) {
  const int64_t rows[] = {18, 18, 12, 12};
  for (int64_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(localShape({60}, {Sbp::split(0, 6)}, meshOf({4}), {rank}), Shape{rows[rank]});
    EXPECT_EQ(localShape({60}, {Sbp::split(0)}, meshOf({4}), {rank}), Shape{15});
    EXPECT_EQ(6 * localShape({10}, {Sbp::split(0)}, meshOf({4}), {rank})[0], rows[rank]);
  }
}

/// The lengths that a dimension has on all positions.
std::vector<int64_t> lengths(int64_t extent, const NdSbp &sbp, const Placement &placement) {
  std::vector<int64_t> result;
  for (int64_t position = 0; position < placement.numPositions(); ++position)
    result.push_back(static_cast<int64_t>(heldBy({extent}, sbp, placement, position).size()));
  return result;
}

/// Entries axis by axis: each is allowed when its unit divides all lengths, whose greatest common divisor is the grain.
TEST(GrainTest, IsTheGreatestCommonDivisorOfAllLengths) {
  size_t fitting = 0, others = 0;
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{2, 2}, {3, 2}, {2, 3}, {3, 1, 2}, {4, 3}})
    for (int64_t extent : {0, 1, 2, 6, 8, 12, 18, 24}) {
      Placement placement = meshOf(mesh);
      for (const NdSbp &sbp : allSignatures(mesh.size(), entriesWithUnits({extent}, /*withPartial=*/false))) {
        NdSbp cut(mesh.size(), Sbp::broadcast());
        bool fits = true;
        for (size_t axis = 0; axis < mesh.size() && fits; ++axis) {
          int64_t divisor = 0;
          for (int64_t length : lengths(extent, cut, placement))
            divisor = std::gcd(divisor, length);
          EXPECT_EQ(grainBefore(axis, 0, {extent}, sbp, placement).elements, divisor) << toString(sbp) << extent;
          cut[axis] = sbp[axis];
          fits = divisor % sbp[axis].unit == 0;
        }
        EXPECT_EQ(unitsFit({extent}, sbp, placement), fits) << describe({extent}, placement, sbp);
        ++(fits ? fitting : others);
      }
    }
  EXPECT_GT(fitting, 1000u);
  EXPECT_GT(others, 1000u);
}

/// Leaving idle units out changes no layout, and then no two units of an axis of several ranks have the same layout.
TEST(GrainTest, UnitsThatStayMakeADifference) {
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{1}, {2}, {3}, {4}, {2, 2}, {3, 2}, {2, 3}})
    for (int64_t extent : {0, 1, 2, 6, 8, 12, 18}) {
      Placement placement = meshOf(mesh);
      std::map<std::vector<int64_t>, NdSbp> byLengths;
      for (const NdSbp &sbp : allSignatures(mesh.size(), entriesWithUnits({extent}, /*withPartial=*/false))) {
        if (!unitsFit({extent}, sbp, placement))
          continue;
        NdSbp plain = withoutIdleUnits({extent}, sbp, placement);
        EXPECT_EQ(lengths(extent, plain, placement), lengths(extent, sbp, placement)) << toString(sbp);
        EXPECT_EQ(withoutIdleUnits({extent}, plain, placement), plain);
        bool isSplit = std::all_of(sbp.begin(), sbp.end(), [](const Sbp &entry) { return entry.isSplit(); });
        if (!isSplit || extent == 0)
          continue;
        auto [known, isNew] = byLengths.insert({lengths(extent, plain, placement), plain});
        EXPECT_EQ(known->second, plain) << describe({extent}, placement, plain);
      }
    }
}

TEST(UnitsTest, ThatAreFittedAreTheLargestThatFit) {
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{2}, {3}, {2, 2}, {3, 2}}) {
    const Placement placement = meshOf(mesh);
    for (int64_t extent : {0, 1, 2, 3, 4, 6, 12})
      for (const NdSbp &sbp : allSignatures(mesh.size(), entriesWithUnits({12}, /*withPartial=*/true))) {
        const NdSbp fitted = withUnitsFitted({extent}, sbp, placement);
        EXPECT_TRUE(unitsFit({extent}, fitted, placement)) << describe({extent}, placement, sbp);
        EXPECT_EQ(withoutIdleUnits({extent}, fitted, placement), fitted) << describe({extent}, placement, sbp);
        if (unitsFit({extent}, sbp, placement))
          EXPECT_EQ(fitted, withoutIdleUnits({extent}, sbp, placement)) << describe({extent}, placement, sbp);
        if (const int64_t most = std::gcd(sbp.front().unit, extent); sbp.front().isSplit() && extent > 0)
          EXPECT_EQ(fitted.front().unit, extent / most % mesh.front() == 0 ? 1 : most);
      }
  }
}

TEST(SlotPieceTest, ChunksOfABucketCoverTheSlot) {
  for (int64_t parts = 1; parts <= 4; ++parts)
    for (int64_t total = parts; total <= 5 * parts; total += parts)
      for (int64_t offset = 0; offset <= total; ++offset)
        for (int64_t elements = 0; offset + elements <= total; ++elements) {
          int64_t next = 0;
          for (int64_t index = 0; index < parts; ++index) {
            SlotPiece piece = slotPiece({"g", offset, total}, elements, parts, index);
            if (piece.count == 0)
              continue;
            EXPECT_EQ(piece.elementBegin, next);
            EXPECT_EQ(index * (total / parts) + piece.chunkBegin, offset + piece.elementBegin);
            EXPECT_LE(piece.chunkBegin + piece.count, total / parts);
            next += piece.count;
          }
          EXPECT_EQ(next, elements);
        }
}

/// What is at a coordinate is held there alone, and split there as the other axes say; scalars, too.
TEST(IsHeldTest, OtherAxesSplitWhatIsThere) {
  const Placement placement = meshOf({2, 3});
  for (const Shape &shape : std::vector<Shape>{{}, {5}, {5, 2}})
    for (const NdSbp &sbp : signaturesWithCoordinates(shape.size(), placement))
      for (int64_t position = 0; position < placement.numPositions(); ++position) {
        const std::vector<int64_t> at = placement.coordinates(position);
        const std::vector<int64_t> &held = heldBy(shape, sbp, placement, position);
        std::vector<int64_t> listed;
        for (const sbp::Run &run : pieces(shape, sbp, placement, at))
          for (int64_t i = 0; i < run.count; ++i)
            listed.push_back(run.logical + i);
        EXPECT_EQ(listed, held) << toString(sbp);
        EXPECT_EQ(numElements(localShape(shape, sbp, placement, at)), static_cast<int64_t>(held.size()));
        EXPECT_TRUE(isHeld(sbp, firstHolder(sbp)));
        EXPECT_TRUE(isHeld(sbp, at) || held.empty());
      }
  EXPECT_FALSE(unitsFit({5}, {Sbp::broadcast(), Sbp::at(3)}, placement));
  EXPECT_TRUE(unitsFit({5}, {Sbp::at(1), Sbp::at(2)}, placement));
}

TEST(OwnsPieceTest, Table) {
  const Sbp b = Sbp::broadcast(), p = Sbp::partial(), s = Sbp::split(0), f = Sbp::flat({"g", 0, 8});
  struct Row {
    NdSbp sbp;
    std::vector<int64_t> at;
    bool owns;
  };
  for (const Row &row :
       {Row{{}, {}, true}, Row{{b}, {0}, true}, Row{{b}, {1}, false}, Row{{s}, {1}, true}, Row{{f}, {1}, true},
        Row{{p}, {1}, true}, Row{{b, s}, {0, 1}, true}, Row{{b, s}, {1, 0}, false}, Row{{f, b}, {1, 0}, true},
        Row{{f, b}, {1, 1}, false}, Row{{Sbp::at(1), s}, {1, 1}, true}, Row{{Sbp::at(1), b}, {1, 1}, false},
        Row{{Sbp::at(1)}, {0}, false}})
    EXPECT_EQ(ownsPiece(row.sbp, row.at), row.owns) << toString(row.sbp);
}

} // namespace
} // namespace splitcast::sbp
