// The kernels of library calls that are made of kernels become PTX. What they compute is compared with NumPy elsewhere
// (tests/runtime/host/KernelVectorsTest.cc).
#include "runtime/gpu/CallKernels.h"
#include "runtime/gpu/PtxCompiler.h"

#include "absl/strings/str_cat.h"
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

Compiled compile(const std::string &name, mlir::DictionaryAttr config) {
  mlir::DialectRegistry registry;
  runtime::registerGpuKernelDialects(registry);
  mlir::MLIRContext context(registry);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  runtime::CallKernelCollector collector(*module);
  Compiled result;
  result.status = runtime::createDeviceCall(name, config, collector).status();
  result.products = collector.products();
  if (!result.status.ok())
    return result;
  auto program = runtime::cutIntoLaunches(*module);
  result.status = program.status();
  if (!program.ok())
    return result;
  runtime::PtxTarget target;
  target.libdevice = runtime::findLibdevice().value_or("");
  auto ptx = runtime::compileToPtx(*program, target);
  result.status = ptx.status();
  result.ptx = ptx.value_or("");
  return result;
}

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
      Compiled call = compile(name, configOf(attention(absl::StrCat(rest, ", workspace = 200000 : i64")), context));
      ASSERT_TRUE(call.status.ok()) << call.status;
      EXPECT_NE(call.ptx.find("shfl"), std::string::npos);
      EXPECT_EQ(call.ptx.find(".approx"), std::string::npos);
      EXPECT_EQ(call.products.size(), std::string(name) == "attention" ? 2U : 3U);
      for (const StridedProduct &product : call.products)
        EXPECT_EQ(product.count, 3);
    }
}

TEST(DeviceCallsTest, AttentionOfF64NeedsLibdevice) {
  mlir::MLIRContext context;
  Compiled call = compile("attention", configOf(attention("type = f64, workspace = 200000 : i64"), context));
  EXPECT_EQ(call.status.code(),
            runtime::findLibdevice().ok() ? absl::StatusCode::kOk : absl::StatusCode::kFailedPrecondition)
      << call.status;
}

TEST(DeviceCallsTest, EmbeddingGradBecomesPtx) {
  mlir::MLIRContext context;
  for (const char *index : {"i32", "i64"}) {
    Compiled call = compile(
        "embedding_grad",
        configOf(
            absl::StrCat("{rows = 1024 : i64, vocabulary = 50257 : i64, width = 768 : i64, type = f32, workspace = 0 "
                         ": i64, index_type = ",
                         index, "}"),
            context));
    ASSERT_TRUE(call.status.ok()) << call.status;
    EXPECT_NE(call.ptx.find("add.rn.f32"), std::string::npos);
  }
}

TEST(DeviceCallsTest, LibrariesHaveTheOthers) {
  mlir::MLIRContext context;
  for (auto [name, type] : {std::pair("matmul", "f32"), std::pair("attention", "bf16")})
    EXPECT_EQ(compile(name, configOf(attention(absl::StrCat("workspace = 200000 : i64, type = ", type)), context))
                  .status.code(),
              absl::StatusCode::kNotFound);
}

TEST(DeviceCallsTest, AWorkspaceIsLargeEnough) {
  mlir::MLIRContext context;
  constexpr int64_t kScores = 3 * 100 * 70 * 4, kAligned = (kScores + 63) / 64 * 64;
  for (auto [name, wanted] : {std::pair("attention", kAligned), std::pair("attention_grad", 2 * kAligned)})
    for (int64_t bytes : {wanted - 1, wanted}) {
      Compiled call =
          compile(name, configOf(attention(absl::StrCat("type = f32, workspace = ", bytes, " : i64")), context));
      EXPECT_EQ(call.status.code(), bytes == wanted ? absl::StatusCode::kOk : absl::StatusCode::kInvalidArgument)
          << call.status;
    }
}

} // namespace
} // namespace splitcast::gpu_tests
