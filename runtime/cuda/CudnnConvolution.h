//===- CudnnConvolution.h - Convolutions as graphs of cuDNN -------------------------------------------------===//
//
// A graph has one operation: the convolution, or the gradient of its input or weight. Tensors are dense, with the
// dimensions of nn.convolution, so that cuDNN sees images whose channels are planes. Most of its kernels for tensor
// cores want channels side by side: it then copies operands and result, which is what the workspace is for.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDNNCONVOLUTION_H
#define SPLITCAST_RUNTIME_CUDA_CUDNNCONVOLUTION_H

#include "runtime/cuda/CudnnGraph.h"

namespace splitcast::runtime {

struct CudnnConvolutionSizes {
  CudnnGraph::ConvolutionMakes makes = CudnnGraph::ConvolutionMakes::Output;
  CudnnGraph::Extents input = {}, weight = {}, output = {};
  CudnnGraph::Windows windows = {};
  cudnnDataType_t type = CUDNN_DATA_FLOAT; ///< of all tensors; or CUDNN_DATA_BFLOAT16, or CUDNN_DATA_HALF
};

/// Returns the uids of the tensors in the order of #exec.convolution's operands.
std::array<int64_t, 3> buildConvolution(CudnnGraph &graph, const CudnnConvolutionSizes &sizes);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDNNCONVOLUTION_H
