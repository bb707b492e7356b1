// A reproducible step on devices of several threads: oneDNN cuts the sums of this product for two threads and for
// three, each in its own way, so the bits are one thread's only if they are asked for.
#include "tests/differential/Ranks.h"
#include "tests/differential/SessionRun.h"

#include "dialects/exec/Exec.h"
#include "runtime/api/Device.h"
#include "runtime/host/HostDevice.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <random>

namespace splitcast::differential {
namespace {

constexpr const char *kModule = R"(
#p = #sbp.placement<"cpu", [dp = 1]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @w : tensor<512x1024xf32, #sbp.nd<#p, [B]>> init #sbp.normal<mean = 0.0, stddev = 1.0>
func.func @train(%x: tensor<31x1024xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @w : tensor<512x1024xf32>
  %0 = nn.matmul %x, %w {transpose_b} : (tensor<31x1024xf32, #S0>, tensor<512x1024xf32>) -> tensor<31x512xf32>
  %1 = nn.mul %0, %0 : (tensor<31x512xf32>, tensor<31x512xf32>) -> tensor<31x512xf32>
  %2 = nn.reduce_sum %1 {dims = array<i64: 0, 1>} : (tensor<31x512xf32>) -> tensor<f32>
  nn.minimize %2 : tensor<f32> with #nn.sgd<lr = 0.001>
  return %2 : tensor<f32>
})";

/// No number of few digits, so that each order of their sum has bits of its own.
Tensor batch(mlir::MLIRContext &context) {
  Tensor tensor = Tensor::zeros({31, 1024}, mlir::Float32Type::get(&context));
  std::mt19937 random(1);
  for (double &value : tensor.floats)
    value = static_cast<float>(random()) * 0x1p-31f - 1.0f;
  return tensor;
}

template <int threads> absl::StatusOr<std::unique_ptr<runtime::Device>> deviceOfThreads() {
  return runtime::createHostDevice({threads, "", false});
}

/// A host device that notes what is asked of its library calls.
class NotingDevice : public runtime::Device {
public:
  static absl::StatusOr<std::unique_ptr<runtime::Device>> make() { return std::make_unique<NotingDevice>(); }
  static inline std::vector<bool> fixedSums; ///< of each call so far

  std::string kind() const override { return host->kind(); }
  absl::StatusOr<runtime::Buffer> allocate(int64_t bytes) override { return host->allocate(bytes); }
  void release(runtime::Buffer buffer) override { host->release(buffer); }
  absl::StatusOr<std::unique_ptr<runtime::Stream>> createStream(const std::string &name) override {
    return host->createStream(name);
  }
  absl::StatusOr<std::unique_ptr<runtime::KernelLibrary>> loadKernels(mlir::ModuleOp kernels) override {
    return host->loadKernels(kernels);
  }
  absl::StatusOr<std::unique_ptr<runtime::Launchable>> libraryCall(exec::LibraryCallAttrInterface call,
                                                                   const runtime::LibraryCallNeeds &needs) override {
    fixedSums.push_back(needs.fixedSums);
    return host->libraryCall(call, needs);
  }
  absl::Status copy(runtime::Buffer to, runtime::Buffer from, runtime::Stream &stream) override {
    return host->copy(to, from, stream);
  }
  absl::Status clear(runtime::Buffer buffer, runtime::Stream &stream) override { return host->clear(buffer, stream); }
  absl::Status upload(runtime::Buffer to, const void *from) override { return host->upload(to, from); }
  absl::Status download(void *to, runtime::Buffer from) override { return host->download(to, from); }

private:
  std::unique_ptr<runtime::Device> host = runtime::createHostDevice({2, "", false});
};

class FixedSumsTest : public testing::Test {
protected:
  ~FixedSumsTest() override { setDeviceMaker(nullptr); }

  Outcome train(DeviceMaker maker, bool reproducible = true) {
    setDeviceMaker(maker);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(kModule, context.get());
    EXPECT_TRUE(module);
    Configuration configuration;
    configuration.reproducible = reproducible;
    absl::StatusOr<SessionOutcome> run =
        runSessions(*module, {{"train", {batch(*context)}}}, configuration, testing::TempDir() + "/objects");
    EXPECT_TRUE(run.ok()) << run.status();
    return run.ok() ? run->outcome : Outcome();
  }

  std::unique_ptr<mlir::MLIRContext> context = createContext();
};

TEST_F(FixedSumsTest, ReproducibleStepsHaveTheBitsOfOneThread) {
  const Outcome one = train(deviceOfThreads<1>);
  for (DeviceMaker maker : {deviceOfThreads<2>, deviceOfThreads<3>}) {
    const absl::Status same = compare(one, train(maker), Agreement::Bits);
    EXPECT_TRUE(same.ok()) << same;
  }
}

// Whether bits would differ is up to oneDNN and the CPU. That they may not is asked of every product, and only then.
TEST_F(FixedSumsTest, OnlyReproducibleStepsAskForFixedSums) {
  for (bool reproducible : {true, false}) {
    NotingDevice::fixedSums.clear();
    train(NotingDevice::make, reproducible);
    ASSERT_FALSE(NotingDevice::fixedSums.empty());
    for (bool fixed : NotingDevice::fixedSums)
      EXPECT_EQ(fixed, reproducible);
  }
}

} // namespace
} // namespace splitcast::differential
