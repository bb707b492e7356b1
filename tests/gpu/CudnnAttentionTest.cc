// cuDNN takes attention's graphs: its heuristics propose kernels for a GPU that is only described. Nothing runs.
#include "runtime/cuda/CudnnAttention.h"
#include "tests/gpu/DescribedGpus.h"

#include <gtest/gtest.h>

#include <set>

namespace splitcast::gpu_tests {
namespace {

using runtime::AttentionSizes;
using runtime::CudnnDescriptor;
using runtime::CudnnGraph;

AttentionSizes sizesOf(int64_t positions, int64_t keys, int64_t width, bool isCausal,
                       cudnnDataType_t type = CUDNN_DATA_BFLOAT16) {
  return {/*samples=*/2, positions, keys, /*heads=*/3, width, isCausal, type};
}

/// The number of what can run it, forward or backward, or why it cannot be asked.
absl::StatusOr<size_t> proposals(const AttentionSizes &sizes, bool isGradient, const std::string &device) {
  CudnnGraph graph;
  if (isGradient)
    buildAttentionGradient(graph, sizes);
  else
    buildAttention(graph, sizes, /*keepsStatistics=*/true);
  auto configurations = graph.configurations({nullptr, device});
  if (!configurations.ok())
    return configurations.status();
  return configurations->size();
}

TEST(CudnnAttentionTest, HasKernels) {
  for (const std::string &device : {kHopper, kAmpere})
    for (cudnnDataType_t type : {CUDNN_DATA_BFLOAT16, CUDNN_DATA_HALF})
      for (bool isCausal : {true, false})
        for (auto [positions, keys, width] :
             {std::array<int64_t, 3>{1024, 1024, 64}, {256, 256, 128}, {77, 131, 8}, {1, 9, 64}, {200, 3, 40}})
          for (bool isGradient : {false, true}) {
            auto found = proposals(sizesOf(positions, keys, width, isCausal, type), isGradient, device);
            EXPECT_TRUE(found.ok() && *found > 0)
                << positions << " x " << keys << " x " << width << (isCausal ? ", causal" : "")
                << (isGradient ? ", gradient: " : ": ") << found.status();
          }
}

TEST(CudnnAttentionTest, NeedsNoStatistics) {
  CudnnGraph graph;
  auto uids = buildAttention(graph, sizesOf(1024, 1024, 64, true), /*keepsStatistics=*/false);
  EXPECT_EQ(uids.statistics, 0);
  EXPECT_TRUE(graph.configurations({nullptr, kHopper}).ok());
}

TEST(CudnnAttentionTest, SaysWhatItHasNoKernelsFor) {
  for (bool isGradient : {false, true}) {
    EXPECT_EQ(proposals(sizesOf(64, 64, 20, true), isGradient, kHopper).status().code(),
              absl::StatusCode::kUnimplemented); // rows are no multiple of 16 bytes
    EXPECT_EQ(proposals(sizesOf(64, 64, 64, true), isGradient, kTuring).status().code(),
              absl::StatusCode::kUnimplemented);
  }
}

TEST(CudnnAttentionTest, EveryTensorHasItsOwnUid) {
  CudnnGraph forward, backward;
  const AttentionSizes sizes = sizesOf(16, 16, 8, true);
  auto f = buildAttention(forward, sizes, true);
  EXPECT_EQ(std::set<int64_t>({f.query, f.key, f.value, f.output, f.statistics, f.scale, f.lowest}).size(), 7);
  auto b = buildAttentionGradient(backward, sizes);
  EXPECT_EQ(std::set<int64_t>({b.gradient, b.query, b.key, b.value, b.output, b.statistics, b.delta, b.queryGradient,
                               b.keyGradient, b.valueGradient, b.scale, b.lowest, b.one})
                .size(),
            13);
  EXPECT_EQ(buildAttention(forward, sizesOf(16, 16, 8, false), true).lowest, 0);
}

TEST(CudnnAttentionTest, KeepsTheFirstError) {
  CudnnGraph graph;
  auto x = graph.between({1, 1, 4, 4}), y = graph.between({1, 1, 5, 4});
  graph.matmul(x, y, graph.between({1, 1, 4, 4}));
  auto configurations = graph.configurations({nullptr, kHopper});
  EXPECT_EQ(configurations.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_NE(configurations.status().message().find("product"), std::string::npos) << configurations.status();
}

} // namespace
} // namespace splitcast::gpu_tests
