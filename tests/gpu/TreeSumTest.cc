// The kernel that adds ranks' addends on a GPU gives the bits of the one on the CPU, and becomes PTX.
#include "runtime/host/communicator/TreeSum.h"
#include "runtime/gpu/DeviceTreeSum.h"
#include "runtime/gpu/PtxCompiler.h"
#include "tests/gpu/ThreadFunctions.h"

#include <gtest/gtest.h>
#include <random>

namespace splitcast::gpu_tests {
namespace {

using runtime::Buffer;
using runtime::ElementType;

Buffer bufferOf(std::vector<float> &values) {
  return {reinterpret_cast<std::byte *>(values.data()), static_cast<int64_t>(values.size() * sizeof(float))};
}

/// Of addends[0][i] and so on; into the first, when inPlace. The kernel is "tree_sum" or "tree_sum_wide", which gets a
/// number of elements that it can add.
absl::StatusOr<std::vector<float>> sumOnDevice(std::vector<std::vector<float>> addends, bool inPlace,
                                               const std::string &kernel) {
  auto elements = static_cast<int64_t>(addends.front().size());
  mlir::MLIRContext context;
  auto program = runtime::deviceTreeSum(static_cast<int64_t>(addends.size()), ElementType::F32, context, elements);
  if (!program.ok())
    return program.status();
  std::vector<float> sum(elements);
  std::vector<Buffer> buffers;
  for (std::vector<float> &addend : addends)
    buffers.push_back(bufferOf(addend));
  buffers.push_back(bufferOf(inPlace ? addends.front() : sum));
  buffers.push_back({reinterpret_cast<std::byte *>(&elements), sizeof(elements)});
  // The last block's threads look beyond the end.
  absl::Status status = runThreads(*program, kernel, elements + 300, runtime::kTreeSumThreads, buffers);
  if (!status.ok())
    return status;
  return inPlace ? addends.front() : sum;
}

TEST(DeviceTreeSumTest, GivesTheBitsOfTheCpu) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int64_t count = 1; count <= 9; ++count) {
    std::vector<std::vector<float>> addends(count, std::vector<float>(700));
    std::vector<const void *> pointers;
    for (std::vector<float> &addend : addends) {
      for (float &value : addend)
        value = uniform(random);
      pointers.push_back(addend.data());
    }
    std::vector<float> expected(700);
    runtime::treeSum(ElementType::F32, expected.data(), pointers.data(), count, 700);
    for (bool inPlace : {false, true})
      for (const char *kernel : {"tree_sum", "tree_sum_wide"}) {
        auto sum = sumOnDevice(addends, inPlace, kernel);
        ASSERT_TRUE(sum.ok()) << sum.status();
        EXPECT_EQ(*sum, expected) << count << " addends, " << kernel;
      }
  }
}

int64_t countOf(const std::string &text, const std::string &part) {
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(DeviceTreeSumTest, BecomesPtx) {
  for (ElementType type : {ElementType::F32, ElementType::F64, ElementType::BF16, ElementType::F16}) {
    mlir::MLIRContext context;
    auto program = runtime::deviceTreeSum(5, type, context);
    ASSERT_TRUE(program.ok()) << program.status();
    auto ptx = runtime::compileToPtx(*program, {"sm_70", "+ptx60", ""});
    ASSERT_TRUE(ptx.ok()) << ptx.status();
    EXPECT_NE(ptx->find(".entry tree_sum("), std::string::npos);
    EXPECT_NE(ptx->find(".entry tree_sum_wide("), std::string::npos);
    const std::string wide = ptx->substr(ptx->find(".entry tree_sum_wide("));
    EXPECT_EQ(countOf(wide, "ld.global.v"), 5) << wide; // 16 bytes of each addend
    EXPECT_EQ(countOf(wide, "ld.global"), 5);
    EXPECT_EQ(countOf(wide, "st.global.v"), 1);
    EXPECT_EQ(ptx->find("fma"), std::string::npos);
    EXPECT_EQ(ptx->find("cvt.rn.bf16"), std::string::npos); // of later chips
  }
}

TEST(DeviceTreeSumTest, RoundsByTheChipsConversionWhereItHasOne) {
  for (const char *features : {"+ptx80", "+ptx60"}) {
    mlir::MLIRContext context;
    auto program = runtime::deviceTreeSum(5, ElementType::BF16, context);
    ASSERT_TRUE(program.ok()) << program.status();
    auto ptx = runtime::compileToPtx(*program, {"sm_90", features, ""});
    ASSERT_TRUE(ptx.ok()) << ptx.status();
    EXPECT_EQ(ptx->find("cvt.rn.bf16x2.f32") != std::string::npos, features == std::string("+ptx80"));
  }
}

TEST(DeviceTreeSumTest, RefusesWhatItCannotAdd) {
  mlir::MLIRContext context;
  EXPECT_FALSE(runtime::deviceTreeSum(0, ElementType::F32, context).ok());
  EXPECT_FALSE(runtime::deviceTreeSum(65, ElementType::F32, context).ok());
  EXPECT_FALSE(runtime::deviceTreeSum(2, ElementType::I32, context).ok());
}

} // namespace
} // namespace splitcast::gpu_tests
