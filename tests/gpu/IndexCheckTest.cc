// The kernel that looks for indices outside finds what the check on the CPU finds, and becomes PTX.
#include "runtime/gpu/DeviceIndexCheck.h"
#include "runtime/gpu/PtxCompiler.h"
#include "runtime/host/calls/LibraryCall.h"
#include "tests/gpu/ThreadFunctions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace splitcast::gpu_tests {
namespace {

using runtime::Buffer;
using runtime::ElementType;
using runtime::IndexCheck;

template <typename T> Buffer bufferOf(T *data, int64_t count) {
  return {reinterpret_cast<std::byte *>(data), count * static_cast<int64_t>(sizeof(T))};
}

/// Threads run last to first: the first index that is wrong counts all the same.
template <typename Index> absl::Status onDevice(const IndexCheck &check, std::vector<Index> indices) {
  mlir::MLIRContext context;
  auto program = runtime::deviceIndexCheck(check, context);
  if (!program.ok())
    return program.status();
  uint64_t found = runtime::kNothingFound;
  const auto count = static_cast<int64_t>(indices.size());
  absl::Status status = runThreads(*program, "check_indices", count + 300, runtime::kIndexCheckThreads,
                                   {bufferOf(indices.data(), count), bufferOf(&found, 1)});
  if (!status.ok())
    return status;
  return runtime::statusOfFound(check, found);
}

template <typename Index> absl::Status onHost(const IndexCheck &check, std::vector<Index> indices) {
  for (size_t i = 0; i < indices.size(); ++i)
    if (!check.isLegal(indices[i]))
      return check.refuse(static_cast<int64_t>(i), std::to_string(indices[i]));
  return absl::OkStatus();
}

IndexCheck checkOf(int64_t count, int64_t places, ElementType type, std::optional<int64_t> ignored = std::nullopt) {
  return {count, places, type, ignored, "nn.embedding"};
}

template <typename Index> void expectSame(ElementType type) {
  const std::vector<std::vector<Index>> cases = {
      {0, 1, 2, 3, 4}, {0, 5, 9, -1, 4}, {0, 1, 2, -1, 7}, {-100, 1, 2, 3, 4}, {4, 4, -100, 5, 6},
  };
  for (const std::vector<Index> &indices : cases)
    for (std::optional<int64_t> ignored : {std::optional<int64_t>(), std::optional<int64_t>(-100)}) {
      IndexCheck check = checkOf(5, 5, type, ignored);
      EXPECT_EQ(onDevice(check, indices), onHost(check, indices));
    }
}

TEST(DeviceIndexCheckTest, FindsWhatTheCpuFinds) {
  expectSame<int64_t>(ElementType::I64);
  expectSame<int32_t>(ElementType::I32);
}

TEST(DeviceIndexCheckTest, NamesTheFirstOfManyBlocks) {
  std::vector<int64_t> indices(1000, 6);
  IndexCheck check = checkOf(1000, 7, ElementType::I64);
  EXPECT_TRUE(onDevice(check, indices).ok());
  for (int64_t wrong : {999, 700, 300})
    indices[wrong] = 7 + wrong;
  EXPECT_EQ(onDevice(check, indices), check.refuse(300, "307"));
}

TEST(DeviceIndexCheckTest, SaysThatAnIndexIsFarOutside) {
  IndexCheck check = checkOf(2, 5, ElementType::I64);
  EXPECT_EQ(onDevice<int64_t>(check, {0, std::numeric_limits<int64_t>::max()}), check.refuse(1, "2147483647 or more"));
  EXPECT_EQ(onDevice<int64_t>(check, {std::numeric_limits<int64_t>::min(), 0}), check.refuse(0, "-2147483648 or less"));
}

TEST(DeviceIndexCheckTest, BecomesPtx) {
  for (ElementType type : {ElementType::I32, ElementType::I64}) {
    mlir::MLIRContext context;
    auto program = runtime::deviceIndexCheck(checkOf(4096, 50257, type, -100), context);
    ASSERT_TRUE(program.ok()) << program.status();
    auto ptx = runtime::compileToPtx(*program, {"sm_70", "+ptx60", ""});
    ASSERT_TRUE(ptx.ok()) << ptx.status();
    EXPECT_NE(ptx->find(".entry check_indices"), std::string::npos);
    EXPECT_NE(ptx->find("atom"), std::string::npos) << *ptx;
  }
}

TEST(DeviceIndexCheckTest, RefusesMoreThanItCanCount) {
  mlir::MLIRContext context;
  EXPECT_EQ(runtime::deviceIndexCheck(checkOf(int64_t{1} << 31, 5, ElementType::I32), context).status().code(),
            absl::StatusCode::kInvalidArgument);
}

} // namespace
} // namespace splitcast::gpu_tests
