// Sums over rows, in parts and whole (GpuColumnSums.h): after every pass, and as a plan whose kernels threads run, what
// the interpreter gives. The numbers are small integers, so that no order of additions changes a bit.
#include "tests/differential/EveryPass.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>
#include <random>
#include <utility>
#include <vector>

namespace splitcast::differential {
namespace {

/// Two sums of one kernel, of which one is rounded, with an operand per row and one per column; elements beside a sum;
/// a sum over two dimensions; and one in f64.
constexpr const char *kModule = R"(
#p = #sbp.placement<"cuda", [dp = 2]>
#B = #sbp.nd<#p, [B]>
func.func @sums(%x: tensor<RxCxf32, #B>, %r: tensor<Rxf32, #B>, %c: tensor<Cxf32, #B>, %z: tensor<Rx3xCxf32, #B>)
    -> (tensor<Cxf32, #B>, tensor<Cxbf16, #B>, tensor<RxCxf32, #B>, tensor<Cxf32, #B>, tensor<Cxf32, #B>, tensor<Cxf64, #B>) {
  %e = nn.broadcast %r {dims = array<i64: 1>} : (tensor<Rxf32, #B>) -> tensor<RxCxf32, #B>
  %a = nn.mul %x, %e : (tensor<RxCxf32, #B>, tensor<RxCxf32, #B>) -> tensor<RxCxf32, #B>
  %1 = nn.reduce_sum %a {dims = array<i64: 0>} : (tensor<RxCxf32, #B>) -> tensor<Cxf32, #B>
  %2 = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<RxCxf32, #B>) -> tensor<Cxf32, #B>
  %3 = nn.cast %2 : (tensor<Cxf32, #B>) -> tensor<Cxbf16, #B>
  %n = nn.neg %x : (tensor<RxCxf32, #B>) -> tensor<RxCxf32, #B>
  %4 = nn.reduce_sum %n {dims = array<i64: 0>} : (tensor<RxCxf32, #B>) -> tensor<Cxf32, #B>
  %5 = nn.reduce_sum %z {dims = array<i64: 0, 1>} : (tensor<Rx3xCxf32, #B>) -> tensor<Cxf32, #B>
  %w = nn.cast %x : (tensor<RxCxf32, #B>) -> tensor<RxCxf64, #B>
  %6 = nn.reduce_sum %w {dims = array<i64: 0>} : (tensor<RxCxf64, #B>) -> tensor<Cxf64, #B>
  return %1, %3, %n, %4, %5, %6 : tensor<Cxf32, #B>, tensor<Cxbf16, #B>, tensor<RxCxf32, #B>, tensor<Cxf32, #B>, tensor<Cxf32, #B>, tensor<Cxf64, #B>
})";

/// One sum alone.
constexpr const char *kOneSum = R"(
#p = #sbp.placement<"cuda", [dp = 2]>
#B = #sbp.nd<#p, [B]>
func.func @sums(%x: tensor<RxCxf32, #B>) -> tensor<Cxf32, #B> {
  %1 = nn.reduce_sum %x {dims = array<i64: 0>} : (tensor<RxCxf32, #B>) -> tensor<Cxf32, #B>
  return %1 : tensor<Cxf32, #B>
})";

/// Sums over several dimensions to the last (GpuTailSums.h), of one element and of R: one is rounded, one is scaled,
/// one has a row's addends as well.
constexpr const char *kTailSums = R"(
#p = #sbp.placement<"cuda", [dp = 2]>
#B = #sbp.nd<#p, [B]>
func.func @sums(%x: tensor<4xRxCx7xf32, #B>, %c: tensor<Cx7xf32, #B>)
    -> (tensor<Rxf32, #B>, tensor<Rxbf16, #B>, tensor<f32, #B>, tensor<4xf32, #B>) {
  %1 = nn.reduce_sum %x {dims = array<i64: 0, 2, 3>} : (tensor<4xRxCx7xf32, #B>) -> tensor<Rxf32, #B>
  %e = nn.broadcast %c {dims = array<i64: 0, 1>} : (tensor<Cx7xf32, #B>) -> tensor<4xRxCx7xf32, #B>
  %a = nn.mul %x, %e : (tensor<4xRxCx7xf32, #B>, tensor<4xRxCx7xf32, #B>) -> tensor<4xRxCx7xf32, #B>
  %2 = nn.reduce_sum %a {dims = array<i64: 0, 2, 3>} : (tensor<4xRxCx7xf32, #B>) -> tensor<Rxf32, #B>
  %3 = nn.cast %2 : (tensor<Rxf32, #B>) -> tensor<Rxbf16, #B>
  %4 = nn.reduce_sum %x {dims = array<i64: 0, 1, 2, 3>} : (tensor<4xRxCx7xf32, #B>) -> tensor<f32, #B>
  %5 = nn.scale %4 {value = 0.5 : f64} : (tensor<f32, #B>) -> tensor<f32, #B>
  %6 = nn.reduce_sum %a {dims = array<i64: 1, 2, 3>} : (tensor<4xRxCx7xf32, #B>) -> tensor<4xf32, #B>
  return %1, %3, %5, %6 : tensor<Rxf32, #B>, tensor<Rxbf16, #B>, tensor<f32, #B>, tensor<4xf32, #B>
})";

struct Extents {
  int64_t rows, columns;
};

class ColumnSums : public testing::Test {
protected:
  const std::unique_ptr<mlir::MLIRContext> context = createContext();
  std::mt19937 random{5};

  Tensor integers(const sbp::Shape &shape) {
    Tensor tensor = Tensor::zeros(shape, mlir::Float32Type::get(context.get()));
    for (double &value : tensor.floats)
      value = static_cast<double>(random() % 5) - 2;
    return tensor;
  }

  void check(const char *text, Extents extents, std::vector<Tensor> arguments) {
    const auto module =
        mlir::parseSourceString<mlir::ModuleOp>(absl::StrReplaceAll(text, {{"Rx", absl::StrCat(extents.rows, "x")},
                                                                           {"Cx", absl::StrCat(extents.columns, "x")}}),
                                                context.get());
    ASSERT_TRUE(module);
    Experiment experiment;
    experiment.calls.push_back({"sums", std::move(arguments)});
    absl::StatusOr<LevelOutcomes> outcomes = checkEveryPass(*module, experiment, {}, {});
    EXPECT_TRUE(outcomes.ok()) << outcomes.status();
    EXPECT_TRUE(outcomes.ok() && outcomes->plan);
  }
};

class ColumnSumsTest : public ColumnSums, public testing::WithParamInterface<Extents> {};

TEST_P(ColumnSumsTest, AreWhatTheInterpreterGives) {
  const auto [rows, columns] = GetParam();
  check(kModule, GetParam(),
        {integers({rows, columns}), integers({rows}), integers({columns}), integers({rows, 3, columns})});
}

/// More parts than a column has threads in the second launch.
TEST_F(ColumnSums, OfManyParts) { check(kOneSum, {4'200, 136}, {integers({4'200, 136})}); }

class TailSumsTest : public ColumnSums, public testing::WithParamInterface<Extents> {};

TEST_P(TailSumsTest, AreWhatTheInterpreterGives) {
  const auto [rows, columns] = GetParam();
  check(kTailSums, GetParam(), {integers({4, rows, columns, 7}), integers({columns, 7})});
}

// Of one block each, or shared among blocks; addends that threads do not share evenly; and too few for a block.
INSTANTIATE_TEST_SUITE_P(Extents, TailSumsTest,
                         testing::Values(Extents{3, 20}, Extents{3, 700}, Extents{37, 64}, Extents{1, 2048},
                                         Extents{5, 2}));

// In parts: of which the last is short; with more columns than a tile, and fewer than one; as many rows as columns.
// Whole: few elements, and columns that fill no vectors.
INSTANTIATE_TEST_SUITE_P(Extents, ColumnSumsTest,
                         testing::Values(Extents{501, 256}, Extents{265, 264}, Extents{3'000, 24}, Extents{256, 256},
                                         Extents{32, 40}, Extents{70, 100}));

} // namespace
} // namespace splitcast::differential
