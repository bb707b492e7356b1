//===- LossScaleTest.cc - Steps in f16 whose gradients overflow --------------------===//
//
// What overflows on one rank leaves the step out on all, and the scale backs off; the next step is as if there had been
// none. At all stages to the bit.
//
//===----------------------------------------------------------------------===//
#include "runtime/io/Npy.h"
#include "runtime/io/Safetensors.h"
#include "tests/examples/TrainingRuns.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace splitcast {
namespace {

constexpr int64_t kRows = 7, kColumns = 5; // on 3 ranks: 3, 2 and 2 rows

/// Small whole numbers, whose steps f16 computes exactly; `overflowing` steps have one row that f16 does not hold, on
/// rank 1.
void writeInputs(const std::string &path, int64_t steps, const std::set<int64_t> &overflowing) {
  auto writer = runtime::NpyWriter::create(path, runtime::ElementType::F32, {kRows, kColumns});
  ASSERT_TRUE(writer.ok()) << writer.status();
  int64_t finite = 0;
  for (int64_t step = 0; step < steps; ++step) {
    const bool overflows = overflowing.count(step) > 0;
    std::vector<float> rows(kRows * kColumns);
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i] = static_cast<float>((static_cast<int64_t>(i) * 5 + finite) % 4) - 1;
    if (overflows)
      rows[4 * kColumns + 2] = 1e5;
    else
      ++finite;
    ASSERT_TRUE(writer->append(1, rows.data()).ok());
  }
  ASSERT_TRUE(writer->commit().ok());
}

/// A square of products by f16, with momentum and a schedule: two states, and a count of steps.
constexpr char kModule[] = R"(
#p = #sbp.placement<"cpu", [dp = 3]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<5x3xf32> init #sbp.constant<0.25> group "a"
sbp.variable @b : tensor<3xf32> init #sbp.constant<0.5> group "b"
func.func @train(%x: tensor<7x5xf32, #S0> {sbp.name = "x"}) -> (tensor<f32> {sbp.name = "loss"}) {
  %w = sbp.read @w : tensor<5x3xf32>
  %b = sbp.read @b : tensor<3xf32>
  %0 = nn.matmul %x, %w : (tensor<7x5xf32, #S0>, tensor<5x3xf32>) -> tensor<7x3xf32>
  %1 = nn.add %0, %b : (tensor<7x3xf32>, tensor<3xf32>) -> tensor<7x3xf32>
  %loss = nn.reduce_sum %1 {dims = array<i64: 0, 1>} : (tensor<7x3xf32>) -> tensor<f32>
  nn.minimize %loss {loss_scale = #nn.loss_scale<initial = 8.0, interval = 3>} : tensor<f32>
      with #nn.momentum<lr = 0.015625, momentum = 0.5> schedule #nn.step<every = 2, gamma = 0.5>
  return %loss : tensor<f32>
}
)";

/// Runs the module over the steps of `x.npy`; what it saved.
runtime::SafetensorsFile trainModule(const std::string &directory, const std::string &zero) {
  const JobResult result =
      runIn(directory, 3,
            {programPath("compiler/tools/splitcast-run"), "module.mlir", "--input=x=x.npy", "--output=loss=loss.npy",
             "--save-variables=variables", "--enable-zero=compute-type=f16," + zero});
  EXPECT_TRUE(result.succeeded()) << result.describe();
  auto file = runtime::SafetensorsFile::open(directory + "/variables");
  EXPECT_TRUE(file.ok()) << file.status();
  return *std::move(file);
}

template <typename T> T scalarOf(const runtime::SafetensorsFile &file, const std::string &name) {
  T value = 0;
  EXPECT_TRUE(file.read(name, 0, 1, &value).ok()) << name;
  return value;
}

std::vector<float> valuesOf(const runtime::SafetensorsFile &file) {
  std::vector<float> all;
  for (const char *name : {"w", "w.momentum", "b", "b.momentum"}) {
    std::vector<float> values(file.find(name)->elements);
    EXPECT_TRUE(file.read(name, 0, static_cast<int64_t>(values.size()), values.data()).ok()) << name;
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST(LossScale, AnOverflowOnOneRankLeavesTheStepOut) {
  const std::string directory = makeDirectory();
  writeFile(directory + "/module.mlir", kModule);
  writeInputs(directory + "/x.npy", 4, {});
  const auto without = trainModule(directory, "stage=0");
  const std::vector<float> expected = valuesOf(without);
  EXPECT_EQ(scalarOf<float>(without, "optimizer.loss_scale"), 16); // three steps in a row
  EXPECT_EQ(scalarOf<double>(without, "optimizer.finite_steps"), 1);
  EXPECT_EQ(scalarOf<double>(without, "optimizer.step"), 4);
  writeInputs(directory + "/x.npy", 6, {1, 2});
  for (const char *zero : {"stage=0", "stage=1", "stage=2,strategy=tensor", "stage=3", "stage=3,strategy=tensor"}) {
    const auto with = trainModule(directory, zero);
    EXPECT_EQ(valuesOf(with), expected) << zero;
    EXPECT_EQ(scalarOf<float>(with, "optimizer.loss_scale"), 4) << zero; // 8, 8, 4, 2, 2, 2, and 4 then
    EXPECT_EQ(scalarOf<double>(with, "optimizer.finite_steps"), 0) << zero;
    EXPECT_EQ(scalarOf<double>(with, "optimizer.step"), 4) << zero;
    const std::vector<float> losses = npyFloats(directory + "/loss.npy");
    ASSERT_EQ(losses.size(), 6U);
    EXPECT_FALSE(std::isfinite(losses[1])) << zero;
    EXPECT_TRUE(std::isfinite(losses[3])) << zero;
  }
}

/// From a scale that no gradient fits under.
TEST(LossScale, TrainingRecovers) {
  const std::string directory = makeWorkDirectory();
  std::set<std::string> variables, losses;
  for (const char *zero : {"stage=0", "stage=1,accumulate=2", "stage=2,accumulate=2,strategy=tensor",
                           "stage=3,accumulate=2", "stage=3,accumulate=2,recompute=yes,strategy=tensor"}) {
    const bool isSplit = std::string(zero) != "stage=0";
    const Trained trained =
        train(directory, 3,
              {programPath("examples/gpt/gpt"), "--text=text", "--layers=2", "--heads=2", "--width=12", "--context=10",
               "--batch=12", "--sample=0", "--steps=30", "--lr=0.01", "--clip-norm=1",
               absl::StrCat("--enable-zero=compute-type=f16,", zero),
               "--loss-scale=initial=1267650600228229401496703205376,backoff=0.0009765625,interval=5"});
    const std::vector<float> values = exactLosses(trained.losses);
    ASSERT_EQ(values.size(), 30U) << zero;
    EXPECT_LT(values.back(), 0.9 * values.front()) << zero;
    const auto file = runtime::SafetensorsFile::open(directory + "/variables");
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_LT(scalarOf<float>(*file, "optimizer.loss_scale"), 0x1p40F) << zero;
    if (!isSplit)
      continue;
    variables.insert(trained.variables);
    losses.insert(trained.losses);
  }
  EXPECT_EQ(variables.size(), 1U);
  EXPECT_EQ(losses.size(), 1U);
}

} // namespace
} // namespace splitcast
