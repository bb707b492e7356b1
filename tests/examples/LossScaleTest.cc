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
#include <limits>
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
  for (const char *zero :
       {"stage=0", "stage=1", "stage=2,strategy=tensor", "stage=3,one-copy=no", "stage=3,strategy=tensor"}) {
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

/// Two losses of one step, of small whole numbers; FIRST and SECOND are put before them in a function's text.
std::string twoLosses(const std::string &function, const std::string &first, const std::string &second) {
  return absl::StrCat("func.func @", function, R"((%x: tensor<6x5xf32, #S0> {sbp.name = "x"}) {
  %w = sbp.read @w : tensor<5xf32>
  %v = sbp.read @v : tensor<5xf32>
  %small = nn.clamp %x {least = -1.0, most = 1.0} : (tensor<6x5xf32, #S0>) -> tensor<6x5xf32>
  %0 = nn.mul %small, %w : (tensor<6x5xf32>, tensor<5xf32>) -> tensor<6x5xf32>
  %first = nn.reduce_sum %0 {dims = array<i64: 0, 1>} : (tensor<6x5xf32>) -> tensor<f32>
  %1 = nn.mul %x, %v : (tensor<6x5xf32, #S0>, tensor<5xf32>) -> tensor<6x5xf32>
  %second = nn.reduce_sum %1 {dims = array<i64: 0, 1>} : (tensor<6x5xf32>) -> tensor<f32>
)",
                      first, second, "  return\n}\n");
}

constexpr char kVariables[] = R"(
#p = #sbp.placement<"cpu", [dp = 3]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<5xf32> init #sbp.constant<0.0>
sbp.variable @v : tensor<5xf32> init #sbp.constant<0.0>
)";

/// A loss that is trained, with a schedule that halves its rate after every step of it.
std::string minimized(const std::string &loss, const std::string &options) {
  return absl::StrCat("  nn.minimize %", loss, options,
                      " : tensor<f32> with #nn.sgd<lr = 1.0> schedule #nn.step<every = 1, gamma = 0.5>\n");
}

/// Runs a function over `steps` steps, the given ones of which have an infinite gradient of @v on rank 1.
void runFunction(const std::string &directory, const std::string &function, int64_t steps,
                 const std::set<int64_t> &overflowing, const std::vector<std::string> &arguments) {
  auto writer = runtime::NpyWriter::create(directory + "/x.npy", runtime::ElementType::F32, {6, 5});
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<float> rows(30, 1);
    rows[17] = overflowing.count(step) > 0 ? std::numeric_limits<float>::infinity() : 2;
    ASSERT_TRUE(writer->append(1, rows.data()).ok());
  }
  ASSERT_TRUE(writer->commit().ok());
  Command command = {programPath("compiler/tools/splitcast-run"), "module.mlir", "--function=" + function,
                     "--input=x=x.npy", "--save-variables=variables"};
  const JobResult result = runIn(directory, 3, with(command, arguments));
  ASSERT_TRUE(result.succeeded()) << result.describe();
}

std::vector<float> elementsOf(const std::string &directory, const std::string &name) {
  const auto file = runtime::SafetensorsFile::open(directory + "/variables");
  std::vector<float> values(5);
  EXPECT_TRUE(file.ok() && file->read(name, 0, 5, values.data()).ok()) << name;
  return values;
}

/// In whichever order functions name them, updates that were left out are not counted, and others are.
TEST(LossScale, EachLossCountsItsOwnSteps) {
  const std::string scale = " {loss_scale = #nn.loss_scale<initial = 8.0>}";
  const std::string plain = minimized("first", ""), scaled = minimized("second", scale);
  for (const bool isSwapped : {false, true}) {
    const std::string directory = makeDirectory();
    writeFile(directory + "/module.mlir",
              absl::StrCat(kVariables, twoLosses("a", plain, scaled),
                           isSwapped ? twoLosses("b", scaled, plain) : twoLosses("b", plain, scaled)));
    runFunction(directory, "a", 2, {1}, {});
    runFunction(directory, "b", 1, {}, {"--load-variables=variables"});
    // Gradients are 6 and 6 or 7; rates 1, 1/2 and 1/4 of @w, and 1 and 1/2 of @v.
    EXPECT_EQ(elementsOf(directory, "w"), std::vector<float>(5, -6 * 1.75F)) << isSwapped;
    EXPECT_EQ(elementsOf(directory, "v"), (std::vector<float>{-9, -9, -10.5F, -9, -9})) << isSwapped;
  }
}

/// The scale changes once in a step of several losses, in micro-batches, too.
TEST(LossScale, SeveralLossesOfAStep) {
  const std::string scale = " {loss_scale = #nn.loss_scale<initial = 8.0, interval = 2>}";
  const std::string directory = makeDirectory();
  writeFile(directory + "/module.mlir",
            kVariables + twoLosses("train", minimized("first", scale), minimized("second", scale)));
  for (const char *zero : {"stage=0", "stage=2,accumulate=2", "stage=3,strategy=tensor,accumulate=2"}) {
    runFunction(directory, "train", 4, {2}, {std::string("--enable-zero=") + zero});
    EXPECT_EQ(elementsOf(directory, "w"), std::vector<float>(5, -6 * 1.875F)) << zero; // four steps
    EXPECT_EQ(elementsOf(directory, "v"), (std::vector<float>{-10.5F, -10.5F, -12.25F, -10.5F, -10.5F})) << zero;
    const auto file = runtime::SafetensorsFile::open(directory + "/variables");
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(scalarOf<float>(*file, "optimizer.loss_scale"), 8) << zero; // 8, 16, 8, 8
    EXPECT_EQ(scalarOf<double>(*file, "optimizer.finite_steps"), 1) << zero;
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
