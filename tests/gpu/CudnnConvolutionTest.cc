// cuDNN takes convolutions' graphs: its heuristics propose kernels for GPUs that are only described. Nothing runs.
#include "runtime/cuda/CudnnConvolution.h"
#include "dialects/exec/ConvolutionWorkspace.h"
#include "dialects/exec/Window.h"
#include "tests/gpu/DescribedGpus.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include <set>

namespace splitcast::gpu_tests {
namespace {

using runtime::CudnnConvolutionSizes;
using runtime::CudnnDescriptor;
using runtime::CudnnGraph;
using Makes = CudnnGraph::ConvolutionMakes;

struct Case {
  CudnnGraph::Extents input, weight;
  int64_t stride, padding, dilation;
};

/// Convolutions of ResNet, one by groups and one with a plane each, ragged and small ones.
const Case kCases[] = {{{32, 3, 224, 224}, {64, 3, 7, 7}, 2, 3, 1},    {{32, 64, 56, 56}, {64, 64, 3, 3}, 1, 1, 1},
                       {{32, 256, 56, 56}, {128, 256, 1, 1}, 2, 0, 1}, {{4, 6, 9, 7}, {9, 2, 3, 2}, 2, 1, 2},
                       {{8, 32, 14, 14}, {32, 1, 3, 3}, 1, 1, 1},      {{1, 1, 1, 1}, {1, 1, 1, 1}, 1, 0, 1},
                       {{2, 5, 17, 13}, {7, 5, 5, 4}, 3, 6, 1},        {{3, 7, 8, 8}, {14, 7, 2, 2}, 5, 0, 1},
                       {{2, 4, 3, 3}, {4, 4, 2, 2}, 1, 5, 3},          {{1, 3, 512, 512}, {96, 3, 4, 4}, 4, 0, 1}};

CudnnConvolutionSizes sizesOf(const Case &of, Makes makes, cudnnDataType_t type) {
  CudnnConvolutionSizes sizes{makes, of.input, of.weight, {of.input[0], of.weight[0], 0, 0}, {}, type};
  for (const size_t d : {0, 1}) {
    sizes.windows.strides[d] = of.stride;
    sizes.windows.padding[d] = of.padding;
    sizes.windows.dilation[d] = of.dilation;
    sizes.output[2 + d] = exec::Window{of.weight[2 + d], of.stride, of.padding, of.dilation}.windows(of.input[2 + d]);
  }
  return sizes;
}

std::string textOf(const CudnnConvolutionSizes &sizes) {
  return absl::StrCat("what it makes ", static_cast<int>(sizes.makes), ", type ", sizes.type, ", input ",
                      sizes.input[0], "x", sizes.input[1], "x", sizes.input[2], "x", sizes.input[3], ", weight ",
                      sizes.weight[0], "x", sizes.weight[1], "x", sizes.weight[2], "x", sizes.weight[3]);
}

/// The workspace in bytes of the first proposal that compiles on the described GPU; or why there is none.
absl::StatusOr<int64_t> workspaceOf(const CudnnConvolutionSizes &sizes, const std::string &device,
                                    bool allowsTensorCores) {
  CudnnGraph graph;
  buildConvolution(graph, sizes);
  auto configurations = graph.configurations({nullptr, device, allowsTensorCores});
  if (!configurations.ok())
    return configurations.status();
  absl::Status status;
  for (const CudnnDescriptor &configuration : *configurations) {
    status = absl::OkStatus();
    CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, status),
        properties(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, status);
    properties.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, static_cast<int64_t>(device.size()),
                   device.data());
    properties.finish("a device");
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, properties);
    plan.finish("a plan");
    const int64_t bytes = plan.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
    if (status.ok())
      return bytes;
  }
  return status;
}

TEST(CudnnConvolutionTest, HasKernelsThatFitTheWorkspace) {
  for (const std::string &device : {kHopper, kAmpere, kTuring})
    for (const Case &of : kCases)
      for (Makes makes : {Makes::Output, Makes::Input, Makes::Weight})
        for (cudnnDataType_t type : {CUDNN_DATA_FLOAT, CUDNN_DATA_BFLOAT16, CUDNN_DATA_HALF})
          for (bool allowsTensorCores : {false, true}) {
            if (type != CUDNN_DATA_FLOAT && !allowsTensorCores)
              continue;
            const CudnnConvolutionSizes sizes = sizesOf(of, makes, type);
            auto needed = workspaceOf(sizes, device, allowsTensorCores);
            if (type == CUDNN_DATA_BFLOAT16 && device == kTuring && !needed.ok())
              continue; // the chip has no bf16
            ASSERT_TRUE(needed.ok()) << textOf(sizes) << ": " << needed.status();
            EXPECT_LE(*needed, *exec::deviceConvolutionWorkspace({sizes.input, sizes.weight, sizes.output},
                                                                 type == CUDNN_DATA_FLOAT ? 4 : 2))
                << textOf(sizes);
          }
}

TEST(CudnnConvolutionTest, WithoutTensorCoresThereAreFewerWays) {
  CudnnGraph any, plain;
  const CudnnConvolutionSizes sizes = sizesOf(kCases[1], Makes::Output, CUDNN_DATA_FLOAT);
  buildConvolution(any, sizes);
  buildConvolution(plain, sizes);
  const size_t all = any.configurations({nullptr, kHopper, true})->size(),
               some = plain.configurations({nullptr, kHopper, false})->size();
  EXPECT_LT(some, all);
  EXPECT_GT(some, 0u);
}

TEST(CudnnConvolutionTest, TensorsHaveTheirOwnUids) {
  CudnnGraph graph;
  auto uids = buildConvolution(graph, sizesOf(kCases[1], Makes::Input, CUDNN_DATA_HALF));
  EXPECT_EQ(std::set<int64_t>(uids.begin(), uids.end()).size(), 3);
}

TEST(CudnnConvolutionTest, AnOutputOfAnotherSizeIsAnError) {
  CudnnConvolutionSizes sizes = sizesOf(kCases[1], Makes::Output, CUDNN_DATA_FLOAT);
  ++sizes.output[2];
  CudnnGraph graph;
  buildConvolution(graph, sizes);
  EXPECT_EQ(graph.configurations({nullptr, kHopper}).status().code(), absl::StatusCode::kUnavailable);
}

} // namespace
} // namespace splitcast::gpu_tests
