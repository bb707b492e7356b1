// Which signatures an op may have: derived rows against the numbers that ranks compute on their pieces.
#include "dialects/sbp/algebra/Sizes.h"
#include "tests/dialects/sbp/algebra/NumericOps.h"
#include "tests/dialects/sbp/algebra/Reference.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace splitcast::sbp {
namespace {

using Tensors = NumericOp::Tensors;
/// Entries of all operands, then of all results.
using Row = std::vector<Sbp>;

std::string describe(const NumericOp &op, int64_t ranks, const Row &row) {
  std::string text = op.name + " of";
  for (const Factor &factor : op.spec.factors)
    text += " " + std::to_string(factor.extent);
  return text + " on " + std::to_string(ranks) + " ranks: " + toString(NdSbp(row));
}

/// Integers, so that sums are exact in any order; the operands' values and, for P, each rank's addends.
class Data {
public:
  Data(const NumericOp &op, int64_t ranks) : op(op), ranks(ranks), whole(operandsOf(op)), results(resultsOf(op)) {
    for (Tensor &tensor : whole)
      for (double &value : tensor.values)
        value = draw();
    if (op.indexOperand >= 0) {
      std::vector<double> &ids = whole[op.indexOperand].values;
      int64_t rows = whole[op.indexOperand + 1].shape[0];
      for (size_t i = 0; i < ids.size(); ++i) // the last row first: it is on the last rank
        ids[i] = static_cast<double>((rows - 1 + static_cast<int64_t>(i) * 2) % std::max<int64_t>(rows, 1));
    }
    for (const Tensor &tensor : whole) {
      std::vector<Tensor> parts(ranks, tensor);
      for (size_t i = 0; i < tensor.values.size(); ++i)
        for (int64_t rank = 1; rank < ranks; ++rank) {
          parts[rank].values[i] = draw();
          parts[0].values[i] -= parts[rank].values[i];
        }
      addends.push_back(std::move(parts));
    }
    isDefined = op.evaluate(whole, results);
  }

  /// Whether the op makes sense with these extents (no row to look up in an empty table, say).
  bool isDefined = false;

  /// Whether ranks that compute on the operands' pieces get the results' pieces.
  bool isRight(const Row &row) const {
    std::vector<Tensors> computed;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      Tensors in, out;
      for (size_t i = 0; i < whole.size(); ++i)
        in.push_back(row[i].isPartial() ? addends[i][rank] : pieceOfTensor(whole[i], row[i], rank));
      for (size_t i = 0; i < results.size(); ++i)
        out.emplace_back(localShape(results[i].shape, {row[whole.size() + i]}, meshOf({ranks}), {rank}));
      if (!op.evaluate(in, out))
        return false;
      computed.push_back(std::move(out));
    }
    for (size_t i = 0; i < results.size(); ++i)
      if (!isResult(i, row[whole.size() + i], computed))
        return false;
    return true;
  }

private:
  static Tensors operandsOf(const NumericOp &op) {
    Tensors tensors;
    for (size_t i = 0; i < op.spec.operands.size(); ++i)
      tensors.emplace_back(op.operandShape(i));
    return tensors;
  }
  static Tensors resultsOf(const NumericOp &op) {
    Tensors tensors;
    for (size_t i = 0; i < op.spec.results.size(); ++i)
      tensors.emplace_back(op.resultShape(i));
    return tensors;
  }

  double draw() { return static_cast<double>(engine() % 9) - 4 + (engine() % 2 ? 0.5 : 0); }

  Tensor pieceOfTensor(const Tensor &tensor, const Sbp &entry, int64_t rank) const {
    Placement placement = meshOf({ranks});
    Tensor piece(localShape(tensor.shape, {entry}, placement, {rank}));
    piece.values.clear();
    for (int64_t element : heldBy(tensor.shape, {entry}, placement, rank))
      piece.values.push_back(tensor.values[element]);
    return piece;
  }

  bool isResult(size_t result, const Sbp &entry, const std::vector<Tensors> &computed) const {
    auto same = [](const std::vector<double> &a, const std::vector<double> &b) {
      return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                        [](double x, double y) { return std::abs(x - y) <= 1e-9 * (1 + std::abs(y)); });
    };
    std::vector<double> sum(results[result].values.size());
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const std::vector<double> &mine = computed[rank][result].values;
      if (!entry.isPartial() && !same(mine, pieceOfTensor(results[result], entry, rank).values))
        return false;
      for (size_t i = 0; entry.isPartial() && i < sum.size(); ++i)
        sum[i] += mine[i];
    }
    return !entry.isPartial() || same(sum, results[result].values);
  }

  const NumericOp &op;
  int64_t ranks;
  std::mt19937_64 engine{2024};
  Tensors whole, results;
  std::vector<std::vector<Tensor>> addends; ///< per operand and rank
};

/// B, P and S of every dimension, also by the units that divide it and make a difference. A unit as large as the
/// dimension, which leaves all to the first rank, is right in places by accident: it is left out when asked for.
std::vector<Sbp> entriesFor(const Shape &shape, int64_t ranks, bool withWhole) {
  std::vector<Sbp> entries;
  for (const NdSbp &sbp : signaturesWithUnits(shape, meshOf({ranks}), /*withPartial=*/true))
    if (withWhole || sbp[0].unit == 1 || sbp[0].unit < shape[sbp[0].dim])
      entries.push_back(sbp[0]);
  return entries;
}

/// All rows of such entries.
std::vector<Row> candidates(const NumericOp &op, int64_t ranks, bool withWhole) {
  std::vector<Row> rows = {{}};
  auto extend = [&](const Shape &shape) {
    std::vector<Row> longer;
    for (const Row &row : rows)
      for (const Sbp &entry : entriesFor(shape, ranks, withWhole)) {
        longer.push_back(row);
        longer.back().push_back(entry);
      }
    rows = std::move(longer);
  };
  for (size_t i = 0; i < op.spec.operands.size(); ++i)
    extend(op.operandShape(i));
  for (size_t i = 0; i < op.spec.results.size(); ++i)
    extend(op.resultShape(i));
  return rows;
}

Row rowOf(const OpSignature &signature) {
  Row row = signature.operands;
  row.insert(row.end(), signature.results.begin(), signature.results.end());
  return row;
}

/// Every derived row is right. Returns how many there were.
size_t expectSound(const NumericOp &op, int64_t ranks) {
  Data data(op, ranks);
  if (!data.isDefined)
    return 0;
  std::vector<OpSignature> derived = deriveSignatures(op.spec, ranks);
  for (const OpSignature &signature : derived)
    EXPECT_TRUE(data.isRight(rowOf(signature))) << "unsound: " << describe(op, ranks, rowOf(signature));
  return derived.size();
}

/// Whether the row is derived when one of its tensors, as the walk over a graph finds it, or all of them are known.
bool isDerivedFrom(const NumericOp &op, int64_t ranks, const Row &row, size_t first, size_t last) {
  Row known(row.size(), Sbp::broadcast());
  std::copy(row.begin() + static_cast<int64_t>(first), row.begin() + static_cast<int64_t>(last),
            known.begin() + static_cast<int64_t>(first));
  auto results = known.begin() + static_cast<int64_t>(op.spec.operands.size());
  std::vector<OpSignature> derived = deriveSignatures(op.spec, ranks, {known.begin(), results}, {results, known.end()});
  return std::any_of(derived.begin(), derived.end(), [&](const OpSignature &each) { return rowOf(each) == row; });
}

bool isLegalRow(const NumericOp &op, int64_t ranks, const Row &row) {
  auto results = row.begin() + static_cast<int64_t>(op.spec.operands.size());
  return isLegal(op.spec, ranks, {row.begin(), results}, {results, row.end()});
}

/// Every right row is derived, from any of its tensors that is split, too; isLegal agrees.
void expectComplete(const NumericOp &op, int64_t ranks) {
  Data data(op, ranks);
  ASSERT_TRUE(data.isDefined) << op.name;
  for (const Row &row : candidates(op, ranks, /*withWhole=*/false)) {
    bool isDerived = isDerivedFrom(op, ranks, row, 0, row.size());
    EXPECT_EQ(isDerived, data.isRight(row)) << (isDerived ? "unsound: " : "missed: ") << describe(op, ranks, row);
    EXPECT_EQ(isLegalRow(op, ranks, row), isDerived);
    for (size_t i = 0; i < row.size(); ++i)
      if (row[i].isSplit()) {
        EXPECT_EQ(isDerivedFrom(op, ranks, row, i, i + 1), isDerived) << describe(op, ranks, row) << " from " << i;
      }
  }
}

TEST(DeriveSignaturesTest, RightRowsAndNoOthers) {
  for (int64_t ranks : {2, 3})
    for (const NumericOp &op : numericOps({5, 7, 4, 6}))
      expectComplete(op, ranks);
}

/// In a dimension that merges factors pieces do not cut the inner ones.
TEST(DeriveSignaturesTest, MergedDimensions) {
  for (int64_t ranks : {2, 3, 4})
    for (int64_t a : {1, 4, 5, 6, 9}) {
      expectComplete(splitDimOp(a, 5), ranks);
      expectComplete(mergeDimsOp(a, 5), ranks);
      if (a > 1)
        expectComplete(regroupOp(a, 5, 7), ranks);
    }
}

/// Rows of reshapes with every unit, those of a whole dimension included: where they are legal, they are right.
TEST(DeriveSignaturesTest, UnitsAreSoundForSmallExtents) {
  size_t legal = 0;
  for (int64_t ranks : {1, 2, 3, 4})
    for (int64_t a = 0; a <= 6; ++a)
      for (int64_t b = 0; b <= 4; ++b)
        for (const NumericOp &op : {splitDimOp(a, b), mergeDimsOp(a, b), regroupOp(a, b, 2)}) {
          Data data(op, ranks);
          for (const Row &row : candidates(op, ranks, /*withWhole=*/true))
            if (isLegalRow(op, ranks, row)) {
              ASSERT_TRUE(data.isRight(row)) << describe(op, ranks, row);
              ++legal;
            }
        }
  EXPECT_GT(legal, 1000u);
}

/// Rows that one operand's ends bring along are right, and an elementwise op of two operands has one.
TEST(DeriveSignaturesTest, EndsAreSound) {
  size_t withEnds = 0;
  for (int64_t ranks : {2, 3})
    for (const std::vector<int64_t> &extents :
         std::vector<std::vector<int64_t>>{{4, 3, 2, 5}, {1, 0, 3, 4}, {3, 3, 3, 3}})
      for (const NumericOp &op : numericOps(extents)) {
        Data data(op, ranks);
        if (!data.isDefined)
          continue;
        for (size_t i = 0; i < op.spec.operands.size(); ++i)
          for (size_t dim = 0; dim < op.operandShape(i).size(); ++dim)
            for (const Ends &ends : allEnds(op.operandShape(i)[dim], ranks)) {
              std::vector<Sbp> known(op.spec.operands.size(), Sbp::broadcast());
              known[i] = Sbp::splitTo(static_cast<int64_t>(dim), ends);
              for (const OpSignature &signature : deriveSignatures(op.spec, ranks, known)) {
                ASSERT_TRUE(data.isRight(rowOf(signature))) << "unsound: " << describe(op, ranks, rowOf(signature));
                withEnds += !signature.ends.empty();
              }
            }
      }
  EXPECT_GT(withEnds, 500u);
  LoopSpec add;
  const int row = add.addFactor(5), column = add.addFactor(2);
  add.operands = {{{row}, {column}}, {{row}, {column}}};
  add.results = {{{row}, {column}}};
  const Sbp to = Sbp::splitTo(0, {0, 5, 5});
  EXPECT_TRUE(isLegal(add, 3, {to, to}, {to}));
  EXPECT_FALSE(isLegal(add, 3, {to, Sbp::split(0)}, {to}));
  EXPECT_FALSE(isLegal(add, 3, {to, Sbp::splitTo(0, {5, 5, 5})}, {to}));
}

/// At a coordinate that is brought along an op has one row: all of it is there.
TEST(DeriveSignaturesTest, AtACoordinateAllIs) {
  const Sbp b = Sbp::broadcast(), at = Sbp::at(1);
  for (const NumericOp &op : numericOps({4, 3, 2, 5})) {
    const std::vector<Sbp> operands(op.spec.operands.size(), at), results(op.spec.results.size(), at);
    EXPECT_TRUE(isLegal(op.spec, 3, operands, results));
    for (size_t i = 0; i < operands.size(); ++i) {
      std::vector<Sbp> others = operands;
      others[i] = b;
      EXPECT_FALSE(isLegal(op.spec, 3, others, results));
      others[i] = Sbp::at(0);
      EXPECT_FALSE(isLegal(op.spec, 3, others, results));
    }
    EXPECT_FALSE(isLegal(op.spec, 3, operands, std::vector<Sbp>(results.size(), b)));
    for (const OpSignature &row : deriveSignatures(op.spec, 3))
      EXPECT_NE(row.reason, OpSignature::Reason::At);
  }
}

/// The entries of y when axis after axis splits the loops of x[a * b] -> y[a, b] so that x has the entries `merged`;
/// fewer when an axis has no such row. Expects the units of every row on the way to fit.
NdSbp splitInTurn(int64_t a, int64_t b, const Placement &placement, const NdSbp &merged) {
  LoopSpec spec = splitDimOp(a, b).spec;
  NdSbp before(merged.size(), Sbp::broadcast()), result;
  for (size_t axis = 0; axis < merged.size(); ++axis) {
    int64_t ranks = placement.axes[axis].size;
    std::vector<OpSignature> rows = deriveSignatures(spec, ranks, {merged[axis]});
    for (const OpSignature &row : rows) {
      before[axis] = row.operands[0];
      EXPECT_TRUE(unitsFit({a * b}, before, placement)) << describe({a * b}, placement, before);
      EXPECT_EQ(withoutIdleUnits({a * b}, before, placement), before);
    }
    auto isIt = [&](const OpSignature &row) { return row.operands[0] == merged[axis]; };
    auto row = std::find_if(rows.begin(), rows.end(), isIt);
    if (row == rows.end())
      return result;
    before[axis] = merged[axis];
    result.push_back(row->results[0]);
    splitLoops(spec, *row, ranks);
  }
  return result;
}

/// All positions hold the same elements of a reshape's operand and result, however two axes split its loops.
TEST(DeriveSignaturesTest, UnitsNestOnTwoAxes) {
  size_t nested = 0;
  for (const std::vector<int64_t> &mesh : std::vector<std::vector<int64_t>>{{2, 2}, {3, 2}, {2, 3}, {1, 3}})
    for (int64_t a : {1, 4, 5, 6, 7, 12})
      for (int64_t b : {1, 2, 3, 4}) {
        Placement placement = meshOf(mesh);
        for (const NdSbp &merged : signaturesWithUnits({a * b}, placement, /*withPartial=*/false)) {
          NdSbp result = splitInTurn(a, b, placement, merged);
          if (result.size() < mesh.size())
            continue;
          ASSERT_TRUE(unitsFit({a, b}, result, placement)) << describe({a, b}, placement, result);
          ASSERT_EQ(withoutIdleUnits({a, b}, result, placement), result);
          for (int64_t position = 0; position < placement.numPositions(); ++position)
            ASSERT_EQ(heldBy({a, b}, result, placement, position), heldBy({a * b}, merged, placement, position))
                << describe({a, b}, placement, result) << " and " << toString(merged);
          nested += merged[0].isSplit() && merged[1].isSplit();
        }
      }
  EXPECT_GT(nested, 100u);
}

/// Extents of 0 and 1 and below the number of ranks: some rows are right there by accident, but none derived is wrong.
TEST(DeriveSignaturesTest, SoundForSmallExtents) {
  size_t rows = 0;
  for (int64_t ranks : {1, 2, 3, 4})
    for (const std::vector<int64_t> &extents : allTuples(4, 4)) {
      for (const NumericOp &op : numericOps(extents))
        rows += expectSound(op, ranks);
      rows += expectSound(splitDimOp(extents[0], extents[1]), ranks);
      rows += expectSound(mergeDimsOp(extents[0], extents[1]), ranks);
      rows += expectSound(regroupOp(extents[0], extents[1], extents[2]), ranks);
      if (HasFailure())
        return;
    }
  EXPECT_GT(rows, 10000u);
}

/// The table of Factors.h.
TEST(DeriveSignaturesTest, MatmulTable) {
  LoopSpec spec;
  int m = spec.addFactor(5), n = spec.addFactor(7), k = spec.addFactor(4, FactorKind::Sum);
  spec.operands = {{{m}, {k}}, {{k}, {n}}};
  spec.results = {{{m}, {n}}};
  spec.linear = {{{0}, {}}, {{1}, {}}};
  const Sbp b = Sbp::broadcast(), p = Sbp::partial(), s0 = Sbp::split(0), s1 = Sbp::split(1);
  struct Expected {
    Row row;
    OpSignature::Reason reason;
    int factor;
  };
  using Reason = OpSignature::Reason;
  const Expected table[] = {{{b, b, b}, Reason::Replicated, -1},   {{s0, b, s0}, Reason::FactorSplit, m},
                            {{b, s1, s1}, Reason::FactorSplit, n}, {{s1, s0, p}, Reason::FactorSplit, k},
                            {{p, b, p}, Reason::Linear, -1},       {{b, p, p}, Reason::Linear, -1}};
  for (int64_t ranks : {1, 2, 3, 8}) {
    std::vector<OpSignature> derived = deriveSignatures(spec, ranks);
    ASSERT_EQ(derived.size(), std::size(table));
    for (size_t i = 0; i < derived.size(); ++i) {
      EXPECT_EQ(rowOf(derived[i]), table[i].row);
      EXPECT_EQ(derived[i].reason, table[i].reason);
      EXPECT_EQ(derived[i].factor, table[i].factor);
    }
  }
}

TEST(DeriveSignaturesTest, MergedDimensionTable) {
  struct Expected {
    int64_t a, ranks, unit; ///< of the merged dimension
  };
  for (const Expected &row : {Expected{4, 2, 1}, Expected{4, 3, 3}, Expected{6, 3, 1}, Expected{5, 2, 3},
                              Expected{2, 4, 3}, Expected{5, 1, 1}}) {
    std::vector<OpSignature> derived = deriveSignatures(splitDimOp(row.a, 3).spec, row.ranks);
    auto split = std::find_if(derived.begin(), derived.end(), [](const OpSignature &signature) {
      return signature.reason == OpSignature::Reason::FactorSplit;
    });
    ASSERT_NE(split, derived.end());
    EXPECT_EQ(rowOf(*split), (Row{Sbp::split(0, row.unit), Sbp::split(0)})) << row.a << " on " << row.ranks;
  }
}

/// A factor said to be parallel, though a result does not carry it, is neither a sum nor can it be split.
TEST(DeriveSignaturesTest, ParallelFactorsMustBeInAllResults) {
  LoopSpec spec;
  int m = spec.addFactor(6), n = spec.addFactor(4);
  spec.operands = {{{m}, {n}}};
  spec.results = {{{m}, {n}}, {{m}}};
  const Sbp b = Sbp::broadcast(), s0 = Sbp::split(0);
  std::vector<OpSignature> derived = deriveSignatures(spec, 2);
  ASSERT_EQ(derived.size(), 2u);
  EXPECT_EQ(rowOf(derived[0]), (Row{b, b, b}));
  EXPECT_EQ(rowOf(derived[1]), (Row{s0, s0, s0}));
}

/// Ops by name: whether all their operands and results may be slots of a bucket (scalars stay B).
TEST(FlatSignatureTest, OnlyElementwise) {
  const Slot slot{"g", 3, 48};
  const Sbp f = Sbp::flat(slot), b = Sbp::broadcast();
  const std::map<std::string, Row> expected = {{"add", {f, f, f}},       {"mul", {f, f, f}},
                                               {"negate", {f, f}},       {"tanh", {f, f}},
                                               {"select", {f, f, f, f}}, {"scalar scale", {b, f, f}}};
  size_t found = 0;
  for (const NumericOp &op : numericOps({5, 7, 4, 6})) {
    auto row = expected.find(op.name);
    found += row != expected.end();
    EXPECT_EQ(rowOf(flatSignature(op.spec, slot)), row == expected.end() ? Row{} : row->second) << op.name;
  }
  EXPECT_EQ(found, expected.size());
  EXPECT_EQ(rowOf(flatSignature(LoopSpec(), slot)), Row{});
}

TEST(FlatSignatureTest, LegalOnlyWithOneSlot) {
  LoopSpec add = numericOps({5, 7, 4, 6})[0].spec;
  const Sbp f = Sbp::flat({"g", 3, 48}), other = Sbp::flat({"g", 4, 48}), b = Sbp::broadcast(), s = Sbp::split(0);
  struct Expected {
    std::vector<Sbp> operands, results;
    bool legal;
  };
  for (const Expected &row :
       {Expected{{f, f}, {f}, true}, Expected{{f, other}, {f}, false}, Expected{{f, f}, {other}, false},
        Expected{{f, b}, {f}, false}, Expected{{f, f}, {b}, false}, Expected{{s, f}, {s}, false},
        Expected{{f}, {f}, false}, Expected{{s, s}, {s}, true}, Expected{{s, s}, {s, s}, false}})
    EXPECT_EQ(isLegal(add, 3, row.operands, row.results), row.legal)
        << toString(NdSbp(row.operands)) << " " << toString(NdSbp(row.results));
}

/// Evaluated as one-dimensional pieces of a bucket, elementwise ops give the pieces of their results.
TEST(FlatSignatureTest, RightOnAnySlot) {
  size_t checked = 0;
  for (int64_t ranks : {2, 3})
    for (const NumericOp &op : numericOps({5, 7, 4, 6}))
      for (int64_t offset : {0, 1, 17}) {
        OpSignature signature = flatSignature(op.spec, {"g", offset, alignUp(offset + 35 + offset, ranks)});
        if (signature.results.empty())
          continue;
        EXPECT_TRUE(Data(op, ranks).isRight(rowOf(signature))) << describe(op, ranks, rowOf(signature));
        ++checked;
      }
  EXPECT_EQ(checked, 2u * 6 * 3);
}

} // namespace
} // namespace splitcast::sbp
