// The kernels of library calls that are made of kernels become PTX. What they compute is compared with NumPy elsewhere
// (tests/runtime/host/KernelVectorsTest.cc).
#include "runtime/gpu/CallKernels.h"
#include "runtime/gpu/PtxCompiler.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "mlir/AsmParser/AsmParser.h"

#include <gtest/gtest.h>

namespace splitcast::gpu_tests {
namespace {

using runtime::StridedProduct;

/// A call's kernels as PTX, and its products.
struct Compiled {
  absl::Status status;
  std::string ptx;
  std::vector<StridedProduct> products;
};

/// Of #exec.CALL.
Compiled compile(const std::string &callText, const std::string &chip = "sm_90", bool usesTf32 = false) {
  mlir::DialectRegistry registry;
  registry.insert<exec::ExecDialect>();
  runtime::registerGpuKernelDialects(registry);
  mlir::MLIRContext context(registry);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  runtime::CallKernelCollector collector(*module, usesTf32);
  Compiled result;
  auto call = llvm::dyn_cast_or_null<exec::LibraryCallAttrInterface>(
      mlir::parseAttribute(absl::StrCat("#exec.", callText), &context));
  if (!call) {
    result.status = absl::InternalError(callText);
    return result;
  }
  result.status = runtime::createDeviceCall(call, collector).status();
  result.products = collector.products();
  if (!result.status.ok())
    return result;
  auto program = runtime::cutIntoLaunches(*module);
  result.status = program.status();
  if (!program.ok())
    return result;
  runtime::PtxTarget target;
  target.chip = chip;
  target.libdevice = runtime::findLibdevice().value_or("");
  auto ptx = runtime::compileToPtx(*program, target);
  result.status = ptx.status();
  result.ptx = ptx.value_or("");
  return result;
}

/// At the default width, scores are in memory.
std::string attention(bool isGradient, const std::string &rest, int64_t width = 72) {
  return absl::StrCat("attention<", isGradient ? "gradient = true, " : "",
                      "samples = 2, positions = 100, keys = 70, heads = 3, width = ", width, ", scale = 0.5, ", rest,
                      ">");
}

TEST(DeviceCallsTest, AttentionBecomesPtx) {
  for (const char *rest : {"causal = true, type = f32", "causal = false, type = f32, mask_type = i32",
                           "causal = true, type = f32, mask_type = i64"})
    for (bool isGradient : {false, true}) {
      Compiled call = compile(attention(isGradient, absl::StrCat(rest, ", workspace = 200000")));
      ASSERT_TRUE(call.status.ok()) << call.status;
      EXPECT_NE(call.ptx.find("shfl"), std::string::npos);
      const std::string others = absl::StrReplaceAll(call.ptx, {{"ex2.approx.ftz.f32", ""}});
      EXPECT_NE(others, call.ptx); // the exponential
      EXPECT_EQ(others.find(".approx"), std::string::npos);
      EXPECT_EQ(call.products.size(), isGradient ? 3U : 2U);
      for (const StridedProduct &product : call.products)
        EXPECT_EQ(product.count, 3);
    }
}

constexpr int64_t kTileWorkspace = 3 * 2 * 3 * 100 * 4;

TEST(DeviceCallsTest, NarrowAttentionMultipliesByTensorCores) {
  for (const char *rest :
       {"causal = true, type = f32", "type = f32, mask_type = i32", "causal = true, type = bf16, mask_type = i32",
        "type = f16, mask_type = i64, statistics = true"})
    for (bool isGradient : {false, true})
      for (const char *chip : {"sm_75", "sm_80", "sm_90"}) {
        const int64_t workspace = isGradient ? kTileWorkspace : 0;
        Compiled call = compile(attention(isGradient, absl::StrCat(rest, ", workspace = ", workspace), 8), chip);
        ASSERT_TRUE(call.status.ok()) << call.status;
        EXPECT_EQ(call.ptx.find("mma.sync") != std::string::npos, std::string(chip) != "sm_75");
        EXPECT_TRUE(call.products.empty());
      }
}

/// With tf32, a product is one of tensor cores; without it, three.
TEST(DeviceCallsTest, Tf32TakesFewerProducts) {
  auto productsOf = [](bool usesTf32) {
    const Compiled call = compile(attention(false, "type = f32, workspace = 0", 8), "sm_90", usesTf32);
    EXPECT_TRUE(call.status.ok()) << call.status;
    int64_t count = 0;
    for (size_t at = 0; (at = call.ptx.find("mma.sync", at)) != std::string::npos; ++at)
      ++count;
    return count;
  };
  EXPECT_EQ(productsOf(false), 3 * productsOf(true));
}

TEST(DeviceCallsTest, OnlyForwardComputesStatistics) {
  for (bool isGradient : {false, true}) {
    Compiled without = compile(attention(isGradient, "type = f32, workspace = 200000")),
             with = compile(attention(isGradient, "type = f32, statistics = true, workspace = 200000"));
    ASSERT_TRUE(without.status.ok() && with.status.ok()) << without.status << with.status;
    EXPECT_EQ(with.ptx == without.ptx, isGradient);
  }
}

TEST(DeviceCallsTest, AttentionOfF64NeedsLibdevice) {
  Compiled call = compile(attention(false, "type = f64, workspace = 200000"));
  EXPECT_EQ(call.status.code(),
            runtime::findLibdevice().ok() ? absl::StatusCode::kOk : absl::StatusCode::kFailedPrecondition)
      << call.status;
}

TEST(DeviceCallsTest, EmbeddingGradBecomesPtx) {
  for (const char *index : {"i32", "i64"}) {
    Compiled call = compile(absl::StrCat("embedding_grad<rows = 1024, vocabulary = 50257, width = 768, type = f32, ",
                                         "workspace = 213320, index_type = ", index, ">"));
    ASSERT_TRUE(call.status.ok()) << call.status;
    EXPECT_NE(call.ptx.find("add.rn.f32"), std::string::npos);
  }
}

TEST(DeviceCallsTest, LibrariesHaveTheOthers) {
  for (const std::string &call :
       {std::string("matmul<m = 2, n = 2, k = 2, type = f32>"), attention(false, "workspace = 200000, type = bf16"),
        attention(true, "workspace = 200000, type = bf16", 64)})
    EXPECT_EQ(compile(call).status.code(), absl::StatusCode::kNotFound);
}

TEST(DeviceCallsTest, AWorkspaceIsLargeEnough) {
  constexpr int64_t kScores = 3 * 100 * 70 * 4, kAligned = (kScores + 63) / 64 * 64;
  for (auto [isGradient, wanted] : {std::pair(false, kAligned), std::pair(true, 2 * kAligned)})
    for (int64_t bytes : {wanted - 1, wanted}) {
      Compiled call = compile(attention(isGradient, absl::StrCat("type = f32, workspace = ", bytes)));
      EXPECT_EQ(call.status.code(), bytes == wanted ? absl::StatusCode::kOk : absl::StatusCode::kInvalidArgument)
          << call.status;
    }
  for (int64_t bytes : {kTileWorkspace - 4, kTileWorkspace, kTileWorkspace + 4}) {
    Compiled call = compile(attention(true, absl::StrCat("type = f32, workspace = ", bytes), 64));
    EXPECT_EQ(call.status.code(), bytes == kTileWorkspace ? absl::StatusCode::kOk : absl::StatusCode::kInvalidArgument)
        << call.status;
  }
}

} // namespace
} // namespace splitcast::gpu_tests
