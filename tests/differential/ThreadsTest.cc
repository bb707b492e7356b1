// Steps on devices of one, two and three threads: kernels, products and attention are divided, and no bit depends on
// by how many.
#include "tests/differential/Ranks.h"
#include "tests/differential/SessionRun.h"

#include "runtime/api/Device.h"
#include "runtime/host/HostDevice.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <random>

namespace splitcast::differential {
namespace {

/// Large enough that products are done in blocks, and that kernels are worth dividing: by elements, by rows (the norm),
/// by columns (the bias' gradient). With ragged sizes.
constexpr const char *kModule = R"(
#p = #sbp.placement<"cpu", [dp = 1]>
#B = #sbp.nd<#p, [B]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<1536x1100xf32, #B> init #sbp.normal<mean = 0.0, stddev = 0.05>
sbp.variable @b : tensor<1536xf32, #B> init #sbp.normal<mean = 0.0, stddev = 1.0>
sbp.variable @scale : tensor<1536xf32, #B> init #sbp.constant<1.0>
sbp.variable @shift : tensor<1536xf32, #B> init #sbp.constant<0.0>
func.func @train(%x: tensor<407x1100xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @w : tensor<1536x1100xf32>
  %b = sbp.read @b : tensor<1536xf32>
  %scale = sbp.read @scale : tensor<1536xf32>
  %shift = sbp.read @shift : tensor<1536xf32>
  %0 = nn.matmul %x, %w {transpose_b} : (tensor<407x1100xf32, #S0>, tensor<1536x1100xf32>) -> tensor<407x1536xf32>
  %1 = nn.add %0, %b : (tensor<407x1536xf32>, tensor<1536xf32>) -> tensor<407x1536xf32>
  %2 = nn.gelu %1 : (tensor<407x1536xf32>) -> tensor<407x1536xf32>
  %3 = nn.layer_norm %2, %scale, %shift {epsilon = 1.0e-5 : f64} : (tensor<407x1536xf32>, tensor<1536xf32>, tensor<1536xf32>) -> tensor<407x1536xf32>
  %4 = nn.reshape %3 {shape = array<i64: 11, 37, 24, 64>} : (tensor<407x1536xf32>) -> tensor<11x37x24x64xf32>
  %5 = nn.attention %4, %4, %4 {causal, scale = 0.125 : f64} : (tensor<11x37x24x64xf32>, tensor<11x37x24x64xf32>, tensor<11x37x24x64xf32>) -> tensor<11x37x24x64xf32>
  %6 = nn.mul %5, %5 : (tensor<11x37x24x64xf32>, tensor<11x37x24x64xf32>) -> tensor<11x37x24x64xf32>
  %7 = nn.reduce_sum %6 {dims = array<i64: 0, 1, 2, 3>} : (tensor<11x37x24x64xf32>) -> tensor<f32>
  nn.minimize %7 : tensor<f32> with #nn.adam<lr = 0.001>
  return %7 : tensor<f32>
})";

/// The module with all its floats of another type.
std::string moduleOf(const std::string &type) {
  std::string text = kModule;
  for (const char *before : {"xf32", "<f32"})
    for (size_t at = text.find(before); at != std::string::npos; at = text.find(before, at + 2))
      text.replace(at + 1, 3, type);
  return text;
}

/// Their products with normal numbers have many digits, so that each order of a sum has bits of its own.
Tensor batch(mlir::Type type) {
  Tensor tensor = Tensor::zeros({407, 1100}, type);
  std::mt19937 random(1);
  for (double &value : tensor.floats) // of few enough for bf16
    value = static_cast<float>(random() % 256) * 0x1p-7f - 1.0f;
  return tensor;
}

template <int threads> absl::StatusOr<std::unique_ptr<runtime::Device>> deviceOfThreads() {
  return runtime::createHostDevice({threads, "", false});
}

class ThreadsTest : public testing::TestWithParam<const char *> {
protected:
  ~ThreadsTest() override { setDeviceMaker(nullptr); }

  Outcome train(DeviceMaker maker) {
    setDeviceMaker(maker);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(moduleOf(GetParam()), context.get());
    EXPECT_TRUE(module);
    const mlir::Type type = mlir::parseType(GetParam(), context.get());
    absl::StatusOr<SessionOutcome> run =
        runSessions(*module, {{"train", {batch(type)}}}, Configuration(), testing::TempDir() + "/objects");
    EXPECT_TRUE(run.ok()) << run.status();
    return run.ok() ? run->outcome : Outcome();
  }

  std::unique_ptr<mlir::MLIRContext> context = createContext();
};

TEST_P(ThreadsTest, NoBitDependsOnTheirNumber) {
  const Outcome one = train(deviceOfThreads<1>);
  for (DeviceMaker maker : {deviceOfThreads<2>, deviceOfThreads<3>}) {
    const absl::Status same = compare(one, train(maker), Agreement::Bits);
    EXPECT_TRUE(same.ok()) << same;
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ThreadsTest, testing::Values("f32", "bf16"));

} // namespace
} // namespace splitcast::differential
