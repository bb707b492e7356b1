//===- WideAddendsTest.cc - Reproducible steps whose addends are of all magnitudes --------===//
//
// Random steps of 12 micro-batches of one row or four, whose elements are from 1e-40 to 1e30, some of them the opposite
// of others: one rank computes all, or four compute three each, or each of twelve one, alone or with another between
// which a matrix is divided. All have the same bits, and a gradient is the sum of its addends, rounded once.
//
//===----------------------------------------------------------------------===//
#include "examples/common/ExactSum.h"
#include "tests/differential/PassList.h"
#include "tests/differential/SessionRun.h"
#include "tests/property/Random.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>

namespace splitcast::property {
namespace {

using differential::Configuration;
using differential::Tensor;

constexpr int64_t kAddends = 12;

/// The gradient of @w is the sum of the rows of x: an addend is a row. That of @v is made by other ops, some of them
/// from rows that the user laid out in units, or by way of a statistic of the batch.
constexpr const char *kModule = R"(
#p = #sbp.placement<"cpu", [MESH]>
#S0 = #sbp.nd<#p, [BATCH]>
#U0 = #sbp.nd<#p, [UNITS]>
#B = #sbp.nd<#p, [WHOLE]>
sbp.variable @w : tensor<COLUMNSxELEMENT> init #sbp.constant<0.0>
sbp.variable @v : tensor<COLUMNSx3xELEMENT, #sbp.nd<#p, [DIVIDED]>> init #sbp.constant<0.5>
sbp.variable @u : tensor<3x2xELEMENT, #sbp.nd<#p, [SUMMED]>> init #sbp.constant<0.25>
sbp.variable @g : tensor<2xELEMENT> init #sbp.constant<0.75>
func.func @train(%x: tensor<ROWSxCOLUMNSxELEMENT, #S0>) -> tensor<ELEMENT, #B> {
  %w = sbp.read @w : tensor<COLUMNSxELEMENT>
  %v = sbp.read @v : tensor<COLUMNSx3xELEMENT>
  %a = nn.mul %x, %w : (tensor<ROWSxCOLUMNSxELEMENT, #S0>, tensor<COLUMNSxELEMENT>) -> tensor<ROWSxCOLUMNSxELEMENT>
  %y = sbp.boxing %x : tensor<ROWSxCOLUMNSxELEMENT, #S0> -> tensor<ROWSxCOLUMNSxELEMENT, #U0>
  %b = nn.matmul %y, %v : (tensor<ROWSxCOLUMNSxELEMENT, #U0>, tensor<COLUMNSx3xELEMENT>) -> tensor<ROWSx3xELEMENT>
  %m = nn.reduce_sum %b {dims = array<i64: 0>} : (tensor<ROWSx3xELEMENT>) -> tensor<3xELEMENT>
  %d = nn.sub %b, %m : (tensor<ROWSx3xELEMENT>, tensor<3xELEMENT>) -> tensor<ROWSx3xELEMENT>
  %c = nn.UNARY OF : (tensor<ROWSx3xELEMENT>) -> tensor<ROWSx3xELEMENT>
  %s = nn.reduce_sum %a {dims = array<i64: 0, 1>} : (tensor<ROWSxCOLUMNSxELEMENT>) -> tensor<ELEMENT>
  %u = sbp.read @u : tensor<3x2xELEMENT>
  %g = sbp.read @g : tensor<2xELEMENT>
  %e = nn.matmul %c, %u : (tensor<ROWSx3xELEMENT>, tensor<3x2xELEMENT>) -> tensor<ROWSx2xELEMENT>
  %f = nn.mul %e, %g : (tensor<ROWSx2xELEMENT>, tensor<2xELEMENT>) -> tensor<ROWSx2xELEMENT>
  %h = nn.tanh %f : (tensor<ROWSx2xELEMENT>) -> tensor<ROWSx2xELEMENT>
  %t = nn.reduce_sum %h {dims = array<i64: 0, 1>} : (tensor<ROWSx2xELEMENT>) -> tensor<ELEMENT>
  %l = nn.add %s, %t : (tensor<ELEMENT>, tensor<ELEMENT>) -> tensor<ELEMENT>
  nn.minimize %l : tensor<ELEMENT> with #nn.OPTIMIZER
  %r = sbp.boxing %l : tensor<ELEMENT> -> tensor<ELEMENT, #B>
  return %r : tensor<ELEMENT, #B>
})";

/// The axis between whose two ranks @v and @u are divided: none, or before or after that of the batch.
enum class Divided { No, Before, After };

struct Program {
  bool isSgd, isDouble;
  int64_t columns, unit, rows;
  Divided divided;
  std::string text;
};

Program drawProgram(Random &random) {
  const bool isSgd = random.chance(60), isDouble = random.chance(25);
  const int64_t columns = random.between(1, 9);
  const std::string optimizer = isSgd ? "sgd<lr = 1.0>"
                                      : random.pick(std::vector<std::string>{"lion<lr = 0.125>", "momentum<lr = 0.5>",
                                                                             "adam<lr = 0.125>", "lamb<lr = 0.125>"});
  const std::string unary = random.pick(std::vector<std::string>{"relu", "neg", "tanh"});
  const int64_t unit = random.between(1, 4);
  const auto divided = static_cast<Divided>(random.below(3));
  // Ranks of the other axis could have some each: of four rows, a half has a rounded sum of its own.
  const int64_t rows = divided == Divided::No ? kAddends : 4 * kAddends;
  return {isSgd,
          isDouble,
          columns,
          unit,
          rows,
          divided,
          absl::StrReplaceAll(kModule, {{"OF", random.chance(40) ? "%d" : "%b"},
                                        {"COLUMNS", absl::StrCat(columns)},
                                        {"ROWS", absl::StrCat(rows)},
                                        {"ELEMENT", isDouble ? "f64" : "f32"},
                                        {"UNARY", unary},
                                        {"OPTIMIZER", optimizer}})};
}

/// Numbers of f32 from 2^-133 (1e-40) to 2^99 (1e30), or of ordinary size: their gradients by way of tanh are not 0,
/// and rounded, which is seen where rows are cut. In each row of a pair, with a chance of a third, they are the
/// opposite of the other: only what is small is left of such a column.
Tensor drawRows(Random &random, const Program &program, mlir::Type element) {
  const int64_t count = program.rows, columns = program.columns;
  Tensor rows = Tensor::zeros({count, columns}, element);
  const auto [least, most] =
      random.chance(program.divided == Divided::No ? 75 : 15) ? std::pair(-133, 99) : std::pair(-4, 1);
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t row = 0; row < count; ++row) {
      double &to = rows.floats[row * columns + column];
      const int exponent = static_cast<int>(random.between(least, most));
      const double drawn = std::ldexp(static_cast<double>(random.between(-(1 << 24), 1 << 24)), exponent - 24);
      to = random.chance(33) && row > 0 ? -rows.floats[(row - 1) * columns + column] : static_cast<float>(drawn);
    }
  return rows;
}

/// Returns the new value of @w for SGD with a rate of 1: 0 minus the sums of the columns.
Tensor minusSums(const Tensor &rows) {
  Tensor result = Tensor::zeros({rows.shape[1]}, rows.elementType);
  for (int64_t column = 0; column < rows.shape[1]; ++column) {
    ExactSum sum;
    for (int64_t row = 0; row < rows.shape[0]; ++row)
      sum.add(rows.floats[row * rows.shape[1] + column]);
    result.floats[column] = rows.elementType.isF64() ? -sum.value() : -static_cast<float>(sum.value());
  }
  return result;
}

absl::StatusOr<differential::Outcome> runOn(int64_t ranks, const Program &program, const Tensor &rows, Random &random,
                                            mlir::MLIRContext &context) {
  const bool isEven = program.rows / program.unit % ranks == 0; // then it has no unit
  const std::string unit = isEven ? "" : absl::StrCat(" by ", program.unit);
  auto onMesh = [&](const std::string &batch, const std::string &other) {
    return program.divided == Divided::No       ? batch
           : program.divided == Divided::Before ? absl::StrCat(other, ", ", batch)
                                                : absl::StrCat(batch, ", ", other);
  };
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      absl::StrReplaceAll(program.text, {{"MESH", onMesh(absl::StrCat("dp = ", ranks), "tp = 2")},
                                         {"BATCH", onMesh("S(0)", "B")},
                                         {"UNITS", onMesh(absl::StrCat("S(0", unit, ")"), "B")},
                                         {"WHOLE", onMesh("B", "B")},
                                         {"DIVIDED", onMesh("B", "S(1)")},
                                         {"SUMMED", onMesh("B", "S(0)")}}),
      &context);
  if (!module)
    return absl::InvalidArgumentError("the module does not parse");
  Configuration configuration;
  configuration.reproducible = true;
  configuration.microBatches = kAddends / ranks;
  configuration.axis = "dp";
  configuration.stage = static_cast<int>(random.between(0, 3));
  configuration.order = random.chance(50) ? sbp::AccumulateOrder::PerStep : sbp::AccumulateOrder::PerMicroBatch;
  auto outcome =
      differential::runSessions(*module, {{"train", {rows}}}, configuration, testing::TempDir() + "/objects");
  return outcome.ok() ? absl::StatusOr<differential::Outcome>(std::move(outcome->outcome)) : outcome.status();
}

TEST(WideAddends, TwelveHaveTheSameBitsOnOneFourAndTwelveRanks) {
  std::unique_ptr<mlir::MLIRContext> context = differential::createContext();
  for (uint64_t seed = FIRST; seed < FIRST + PROGRAMS; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Random random(seed);
    const Program program = drawProgram(random);
    mlir::Builder b(context.get());
    const mlir::Type element = program.isDouble ? mlir::Type(b.getF64Type()) : mlir::Type(b.getF32Type());
    const Tensor rows = drawRows(random, program, element);
    std::optional<differential::Outcome> first;
    for (int64_t ranks : {1, 4, 12}) {
      absl::StatusOr<differential::Outcome> outcome = runOn(ranks, program, rows, random, *context);
      ASSERT_TRUE(outcome.ok()) << outcome.status() << program.text;
      if (first) {
        const absl::Status same = differential::compare(*first, *outcome, differential::Agreement::Bits);
        EXPECT_TRUE(same.ok()) << ranks << " ranks: " << same << program.text;
      } else {
        first = *std::move(outcome);
      }
    }
    if (!program.isSgd || program.divided != Divided::No)
      continue;
    const Tensor expected = minusSums(rows);
    for (int64_t column = 0; column < program.columns; ++column)
      EXPECT_EQ(first->variables.at("w").floats[column], expected.floats[column])
          << "column " << column << program.text;
  }
}

} // namespace
} // namespace splitcast::property
