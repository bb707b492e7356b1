//===- RulesTest.cc - Whatever an op says of its loops is true ----------------------===//
//
// Each case of tests/vectors, on one and on two axes, in every row that the op's LoopSpec gives: operands are cut to
// the ranks, where a row wants P into random addends; each rank computes what 'sbp-localize' makes of the op; and the
// results, put together, are NumPy's. And with any factor of another kind, or with addends in any other operand, the op
// has rows that are wrong, and seen to be. (That no right row is missing, docs/ops.md shows, which a test compares.)
//
//===----------------------------------------------------------------------===//
#include "passes/local/Passes.h"
#include "tests/reference/Layout.h"
#include "tests/reference/Simulator.h"
#include "tests/reference/tests/Fixture.h"
#include "tests/reference/tests/Vectors.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <cmath>
#include <iostream>
#include <map>
#include <random>
#include <set>

namespace splitcast::differential {
namespace {

using reference::Tensor;
using reference::VectorCase;

/// A row on all axes.
struct Row {
  std::vector<sbp::NdSbp> operands, results;
  bool operator<(const Row &other) const { return text() < other.text(); }
  std::string text() const {
    const auto list = [](const std::vector<sbp::NdSbp> &all) {
      return absl::StrJoin(all, ", ", [](std::string *to, const sbp::NdSbp &each) { *to += sbp::toString(each); });
    };
    return list(operands) + " -> " + list(results);
  }
};

/// Axis by axis, each on the loops that the one before leaves.
std::set<Row> rowsOf(const sbp::LoopSpec &spec, const sbp::Placement &placement, size_t axis = 0, const Row &so = {}) {
  if (axis == placement.axes.size())
    return {so};
  std::set<Row> rows;
  for (const sbp::OpSignature &found : sbp::deriveSignatures(spec, placement.axes[axis].size)) {
    Row row = so;
    row.operands.resize(found.operands.size());
    row.results.resize(found.results.size());
    for (size_t i = 0; i < found.operands.size(); ++i)
      row.operands[i].push_back(found.operands[i]);
    for (size_t i = 0; i < found.results.size(); ++i)
      row.results[i].push_back(found.results[i]);
    sbp::LoopSpec left = spec;
    sbp::splitLoops(left, found, placement.axes[axis].size);
    rows.merge(rowsOf(left, placement, axis + 1, row));
  }
  return rows;
}

bool hasPartial(const std::vector<sbp::NdSbp> &all) {
  return llvm::any_of(all, [](const sbp::NdSbp &each) {
    return llvm::any_of(each, [](const sbp::Sbp &entry) { return entry.isPartial(); });
  });
}

/// One op of a case, to be run in any row.
class Sharded {
public:
  Sharded(const VectorCase &testCase, mlir::MLIRContext &context) : testCase(testCase), context(context) {
    module = testCase.module(context);
    function = *module->getOps<mlir::func::FuncOp>().begin();
    op = &function.getBody().front().front();
  }

  sbp::LoopSpec spec() const { return mlir::cast<sbp::ShardingOpInterface>(op).getLoopSpec(); }

  /// What is wrong, or nothing. What a rank's own op refuses, as pieces that do not fit together, is wrong, too.
  std::string run(const Row &row, const sbp::Placement &placement) {
    absl::StatusOr<std::vector<Tensor>> found = resultsOf(row, placement);
    EXPECT_NE(found.status().code(), absl::StatusCode::kInternal) << testCase.op << " in " << row.text();
    if (!found.ok())
      return std::string(found.status().message());
    for (size_t i = 0; i < found->size(); ++i)
      if (std::string wrong = difference(testCase.results[i], (*found)[i], hasPartial(row.operands)); !wrong.empty())
        return absl::StrCat("result ", i, ": ", wrong);
    return "";
  }

private:
  absl::StatusOr<std::vector<Tensor>> resultsOf(const Row &row, const sbp::Placement &placement) {
    giveTypes(row, placement);
    const int64_t ranks = placement.numPositions();
    mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) { return mlir::success(); });
    std::vector<mlir::OwningOpRef<mlir::ModuleOp>> locals;
    std::vector<mlir::ModuleOp> modules;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      auto local = localizeVerified(*module, rank);
      if (failed(local))
        return absl::InternalError("it has no program for a rank");
      auto made = *(*local)->getOps<mlir::func::FuncOp>().begin(); // of its own pieces, which may be addends
      for (unsigned i = 0; i < made.getNumArguments(); ++i)
        made.removeArgAttr(i, "ccl.global");
      for (unsigned i = 0; i < made.getNumResults(); ++i)
        made.removeResultAttr(i, mlir::StringAttr::get(&context, "ccl.global"));
      modules.push_back(local->get());
      locals.push_back(*std::move(local));
    }
    absl::StatusOr<reference::Simulator> simulator = reference::Simulator::create(modules);
    if (!simulator.ok())
      return simulator.status();
    std::vector<std::vector<Tensor>> inputs(ranks);
    for (size_t i = 0; i < testCase.operands.size(); ++i) {
      absl::StatusOr<std::vector<Tensor>> pieces = cutToAddends(testCase.operands[i], row.operands[i], placement);
      if (!pieces.ok())
        return pieces.status();
      for (int64_t rank = 0; rank < ranks; ++rank)
        inputs[rank].push_back((*pieces)[rank]);
    }
    absl::StatusOr<std::vector<std::vector<Tensor>>> byRank = simulator->run("f", std::move(inputs));
    if (!byRank.ok())
      return byRank.status();
    std::vector<Tensor> results;
    for (size_t i = 0; i < testCase.results.size(); ++i) {
      std::vector<Tensor> pieces;
      for (const std::vector<Tensor> &ofRank : *byRank)
        pieces.push_back(ofRank[i]);
      absl::StatusOr<Tensor> whole = reference::assemble(std::move(pieces), testCase.results[i].shape, row.results[i],
                                                         placement, reference::Precision::F32);
      if (!whole.ok())
        return whole.status();
      results.push_back(*std::move(whole));
    }
    return results;
  }

  void giveTypes(const Row &row, const sbp::Placement &placement) {
    auto attr = sbp::PlacementAttr::fromAlgebra(&context, placement);
    const auto typed = [&](mlir::Value value, const sbp::NdSbp &signature) {
      value.setType(sbp::withSignature(value.getType(), sbp::NdAttr::get(attr, signature)));
    };
    for (auto [argument, signature] : llvm::zip_equal(function.getArguments(), row.operands))
      typed(argument, signature);
    for (auto [result, signature] : llvm::zip_equal(op->getResults(), row.results))
      typed(result, signature);
    function.setFunctionType(
        mlir::FunctionType::get(&context, function.getBody().getArgumentTypes(), op->getResultTypes()));
    (*module)->setAttr("sbp.placement", attr);
  }

  /// As reference::cut, but where it is P along an axis every rank there has a number, and only their sum is the value.
  absl::StatusOr<std::vector<Tensor>> cutToAddends(const Tensor &whole, const sbp::NdSbp &signature,
                                                   const sbp::Placement &placement) {
    sbp::NdSbp copies = signature;
    for (sbp::Sbp &entry : copies)
      entry = entry.isPartial() ? sbp::Sbp::broadcast() : entry;
    if (copies == signature)
      return reference::cut(whole, signature, placement);
    std::map<std::vector<int64_t>, std::vector<Tensor>> cuts; // of an addend, by coordinates along axes of P
    std::vector<Tensor> pieces;
    Tensor left = whole;
    const std::vector<int64_t> last = ofPartial(placement.numPositions() - 1, signature, placement);
    for (int64_t position = 0; position < placement.numPositions(); ++position) {
      const std::vector<int64_t> coordinates = ofPartial(position, signature, placement);
      if (coordinates == last || cuts.count(coordinates) != 0)
        continue;
      absl::StatusOr<std::vector<Tensor>> cut = reference::cut(takeFrom(left), copies, placement);
      if (!cut.ok())
        return cut.status();
      cuts[coordinates] = *std::move(cut);
    }
    absl::StatusOr<std::vector<Tensor>> rest = reference::cut(left, copies, placement);
    if (!rest.ok())
      return rest.status();
    cuts[last] = *std::move(rest);
    for (int64_t position = 0; position < placement.numPositions(); ++position)
      pieces.push_back(cuts[ofPartial(position, signature, placement)][position]);
    return pieces;
  }

  static std::vector<int64_t> ofPartial(int64_t position, const sbp::NdSbp &signature,
                                        const sbp::Placement &placement) {
    const std::vector<int64_t> all = placement.coordinates(position);
    std::vector<int64_t> coordinates;
    for (size_t axis = 0; axis < signature.size(); ++axis)
      if (signature[axis].isPartial())
        coordinates.push_back(all[axis]);
    return coordinates;
  }

  /// An addend of few bits, which is taken from what is left.
  Tensor takeFrom(Tensor &left) {
    Tensor addend = left;
    for (double &number : addend.floats)
      number = static_cast<double>(static_cast<int64_t>(random() % 17) - 8) / 4;
    for (int64_t &number : addend.integers)
      number = static_cast<int64_t>(random() % 5) - 2;
    for (size_t i = 0; i < left.floats.size(); ++i)
      left.floats[i] -= addend.floats[i];
    for (size_t i = 0; i < left.integers.size(); ++i)
      left.integers[i] -= addend.integers[i];
    return addend;
  }

  static bool isOfSmallFloats(const Tensor &tensor) {
    return tensor.isFloat() && mlir::cast<mlir::FloatType>(tensor.elementType).getWidth() < 32;
  }

  /// More than what other orders of sums, and addends that are rounded, may make. Addends may be infinite where their
  /// sum is no number, or the other way round, but what is not finite stays so.
  std::string difference(const Tensor &expected, const Tensor &found, bool isOfAddends) const {
    if (!expected.isFloat())
      return expected.integers == found.integers ? "" : "other integers";
    const bool isSmall = isOfSmallFloats(expected) || (isOfAddends && llvm::any_of(testCase.operands, isOfSmallFloats));
    const double relative = std::max(testCase.tolerance, isSmall ? 0.05 : 2e-4),
                 absolute = std::max(testCase.absolute, isSmall ? 0.1 : 1e-4);
    for (int64_t i = 0; i < expected.numElements(); ++i) {
      const double want = expected.floats[i], have = found.floats[i];
      if ((std::isnan(want) && std::isnan(have)) || want == have ||
          (isOfAddends && !std::isfinite(want) && !std::isfinite(have)))
        continue;
      if (!std::isfinite(want) || !(std::abs(want - have) <= absolute + relative * std::abs(want)))
        return absl::StrCat("element ", i, " is ", have, ", not ", want);
    }
    return "";
  }

  const VectorCase &testCase;
  mlir::MLIRContext &context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  mlir::Operation *op = nullptr;
  std::mt19937 random{7};
};

/// Whose loops more ranks than they have iterations are to run, too.
std::vector<sbp::Placement> placements() {
  return {{"cpu", {{"a", 2}}, {}}, {"cpu", {{"a", 3}}, {}}, {"cpu", {{"a", 2}, {"b", 3}}, {}}};
}

class RulesTest : public reference::ReferenceTest {
protected:
  void SetUp() override {
    for (VectorCase &testCase : reference::readVectors(context))
      if (isSmall(testCase))
        cases.push_back(std::move(testCase));
    ASSERT_GT(cases.size(), 100u);
  }

  static bool isSmall(const VectorCase &testCase) {
    constexpr int64_t kMostElements = 1 << 12;
    return llvm::all_of(testCase.operands, [](const Tensor &each) { return each.numElements() <= kMostElements; });
  }

  std::vector<VectorCase> cases;
};

/// What is no addend of the result, but of what nn.exact_sum makes of it: tests of exact sums add these up.
bool isOfExactParts(const VectorCase &testCase, const Row &row) {
  return (testCase.op == "nn.exact_part" || testCase.op == "nn.exact_rest") && hasPartial(row.operands);
}

/// Nobody adds up integers of ranks.
bool hasPartialIntegers(const std::vector<Tensor> &tensors, const std::vector<sbp::NdSbp> &signatures) {
  bool found = false;
  for (const auto &[tensor, signature] : llvm::zip_equal(tensors, signatures))
    found |= !tensor.isFloat() && hasPartial({signature});
  return found;
}

/// Numbers beside which an addend of few bits is nothing: what is left is rounded, and so is what cancels.
bool hasHugeNumbers(const std::vector<Tensor> &operands) {
  constexpr double kHuge = 1 << 10;
  return llvm::any_of(operands, [](const Tensor &each) {
    return llvm::any_of(each.floats, [](double number) { return std::isfinite(number) && std::abs(number) > kHuge; });
  });
}

TEST_F(RulesTest, EveryRowGivesWhatNumPyGives) {
  std::map<std::string, int64_t> rows; // by op
  for (const VectorCase &testCase : cases) {
    Sharded sharded(testCase, context);
    for (const sbp::Placement &placement : placements())
      for (const Row &row : rowsOf(sharded.spec(), placement)) {
        if (isOfExactParts(testCase, row) || (hasPartial(row.operands) && hasHugeNumbers(testCase.operands)) ||
            hasPartialIntegers(testCase.operands, row.operands) || hasPartialIntegers(testCase.results, row.results))
          continue;
        ++rows[testCase.op];
        const std::string wrong = sharded.run(row, placement);
        ASSERT_EQ(wrong, "") << testCase.text.substr(0, 300) << "\n" << row.text();
      }
  }
  int64_t all = 0;
  for (const auto &[op, count] : rows)
    all += count;
  EXPECT_GT(all, 40000);
  std::cout << all << " rows of " << rows.size() << " ops\n";
}

/// The spec with one thing changed, and what that is.
std::map<std::string, sbp::LoopSpec> changed(const sbp::LoopSpec &spec) {
  using sbp::FactorKind;
  std::map<std::string, sbp::LoopSpec> specs;
  for (size_t i = 0; i < spec.factors.size(); ++i)
    for (const auto &[name, kind] : {std::pair("parallel", FactorKind::Parallel), std::pair("sum", FactorKind::Sum)})
      if (spec.factors[i].kind != kind && spec.factors[i].extent > 1) {
        sbp::LoopSpec &other = specs[absl::StrCat("factor ", i, " as ", name)] = spec;
        other.factors[i].kind = kind;
      }
  for (size_t i = 0; i < spec.operands.size(); ++i)
    (specs[absl::StrCat("linear in operand ", i)] = spec).linear.push_back({{static_cast<int>(i)}, {}});
  return specs;
}

// What is changed, by op, must be seen in one case at least; but for two that are true of these numbers, and are no
// rules because of others: finite addends may have an infinite sum, and a sum of rounded sums is another than the
// rounded sum.
TEST_F(RulesTest, AWrongRuleIsSeen) {
  const std::set<std::string> kTrue = {"nn.nonfinite: linear in operand 0", "nn.total_of_parts: linear in operand 0"};
  std::map<std::string, bool> isSeen; // "nn.exp: linear in operand 0"
  for (const VectorCase &testCase : cases) {
    Sharded sharded(testCase, context);
    const sbp::LoopSpec spec = sharded.spec();
    for (const auto &[what, other] : changed(spec)) {
      const std::string key = testCase.op + ": " + what;
      for (const sbp::Placement &placement : placements()) {
        const std::set<Row> right = rowsOf(spec, placement);
        for (const Row &row : rowsOf(other, placement))
          if (right.count(row) == 0 && !hasPartialIntegers(testCase.results, row.results) && !isSeen[key])
            isSeen[key] = !sharded.run(row, placement).empty();
      }
    }
  }
  EXPECT_GT(isSeen.size(), 100u);
  std::set<std::string> unseen;
  for (const auto &[what, seen] : isSeen)
    if (!seen)
      unseen.insert(what);
  EXPECT_EQ(unseen, kTrue);
}

} // namespace
} // namespace splitcast::differential
