// The kernels of library calls that are made of kernels become PTX. What they compute is compared with NumPy elsewhere
// (tests/runtime/host/KernelVectorsTest.cc).
#include "runtime/cuda/DeviceCalls.h"
#include "runtime/cuda/PtxCompiler.h"

#include "absl/strings/str_cat.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace splitcast::gpu_tests {
namespace {

using runtime::StridedProduct;

class NoProduct final : public runtime::ProductCall {
  absl::Status launch(const std::byte *, const std::byte *, std::byte *, runtime::Stream &) override {
    return absl::UnimplementedError("nothing runs here");
  }
};

class NoKernels final : public runtime::KernelLibrary {
  absl::StatusOr<std::unique_ptr<runtime::Launchable>> kernel(const std::string &) override {
    return std::unique_ptr<runtime::Launchable>();
  }
};

/// Compiles what it is given, and keeps it and the products.
class Recorder final : public runtime::CallServices {
public:
  absl::StatusOr<std::unique_ptr<runtime::ProductCall>> product(const StridedProduct &product) override {
    products.push_back(product);
    return std::make_unique<NoProduct>();
  }
  absl::StatusOr<std::shared_ptr<runtime::KernelLibrary>> kernels(const std::string &text) override {
    mlir::DialectRegistry registry;
    runtime::registerGpuKernelDialects(registry);
    mlir::MLIRContext context(registry);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return absl::InvalidArgumentError(text);
    auto program = runtime::cutIntoLaunches(*module);
    if (!program.ok())
      return program.status();
    runtime::PtxTarget target;
    target.libdevice = runtime::findLibdevice().value_or("");
    auto compiled = runtime::compileToPtx(*program, target);
    if (!compiled.ok())
      return compiled.status();
    ptx = *compiled;
    return std::make_shared<NoKernels>();
  }

  std::vector<StridedProduct> products;
  std::string ptx;
};

mlir::DictionaryAttr configOf(const std::string &text, mlir::MLIRContext &context) {
  return mlir::cast<mlir::DictionaryAttr>(mlir::parseAttribute(text, &context));
}

std::string attention(const std::string &rest) {
  return "{samples = 2 : i64, positions = 100 : i64, keys = 70 : i64, heads = 3 : i64, width = 8 : i64, scale = 0.5 : "
         "f64, " +
         rest + "}";
}

TEST(DeviceCallsTest, AttentionBecomesPtx) {
  mlir::MLIRContext context;
  for (const char *rest : {"causal = true, type = f32", "causal = false, type = f32, mask_type = i32",
                           "causal = true, type = f32, mask_type = i64"})
    for (const char *name : {"attention", "attention_grad"}) {
      Recorder services;
      auto call = runtime::createDeviceAttention(
          name, configOf(attention(absl::StrCat(rest, ", workspace = 200000 : i64")), context), services);
      ASSERT_TRUE(call.ok()) << call.status();
      EXPECT_NE(services.ptx.find("shfl"), std::string::npos);
      EXPECT_EQ(services.ptx.find(".approx"), std::string::npos);
      EXPECT_EQ(services.products.size(), std::string(name) == "attention" ? 2U : 3U);
      for (const StridedProduct &product : services.products)
        EXPECT_EQ(product.count, 3);
    }
}

TEST(DeviceCallsTest, AttentionOfF64NeedsLibdevice) {
  mlir::MLIRContext context;
  Recorder services;
  auto call = runtime::createDeviceAttention(
      "attention", configOf(attention("type = f64, workspace = 200000 : i64"), context), services);
  EXPECT_EQ(call.status().code(),
            runtime::findLibdevice().ok() ? absl::StatusCode::kOk : absl::StatusCode::kFailedPrecondition)
      << call.status();
}

TEST(DeviceCallsTest, EmbeddingGradBecomesPtx) {
  mlir::MLIRContext context;
  for (const char *index : {"i32", "i64"}) {
    Recorder services;
    auto call = runtime::createDeviceEmbeddingGrad(
        configOf(
            absl::StrCat("{rows = 1024 : i64, vocabulary = 50257 : i64, width = 768 : i64, type = f32, workspace = 0 "
                         ": i64, index_type = ",
                         index, "}"),
            context),
        services);
    ASSERT_TRUE(call.ok()) << call.status();
    EXPECT_NE(services.ptx.find("add.rn.f32"), std::string::npos);
  }
}

TEST(DeviceCallsTest, AWorkspaceIsLargeEnough) {
  mlir::MLIRContext context;
  constexpr int64_t kScores = 3 * 100 * 70 * 4, kAligned = (kScores + 63) / 64 * 64;
  for (auto [name, wanted] : {std::pair("attention", kAligned), std::pair("attention_grad", 2 * kAligned)})
    for (int64_t bytes : {wanted - 1, wanted}) {
      Recorder services;
      auto call = runtime::createDeviceAttention(
          name, configOf(attention(absl::StrCat("type = f32, workspace = ", bytes, " : i64")), context), services);
      EXPECT_EQ(call.status().code(), bytes == wanted ? absl::StatusCode::kOk : absl::StatusCode::kInvalidArgument)
          << call.status();
    }
}

} // namespace
} // namespace splitcast::gpu_tests
