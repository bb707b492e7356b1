#include "runtime/cuda/CudnnConvolution.h"

namespace splitcast::runtime {

std::array<int64_t, 3> buildConvolution(CudnnGraph &graph, const CudnnConvolutionSizes &sizes) {
  const auto dense = [&](const CudnnGraph::Extents &extents) {
    return graph.tensor(extents, CudnnGraph::rowMajor(extents), sizes.type, CudnnGraph::Storage::Memory);
  };
  const CudnnGraph::Tensor input = dense(sizes.input), weight = dense(sizes.weight), output = dense(sizes.output);
  graph.convolution(sizes.makes, input, weight, output, sizes.windows);
  if (sizes.makes == CudnnGraph::ConvolutionMakes::Output)
    return {input.uid, weight.uid, output.uid};
  if (sizes.makes == CudnnGraph::ConvolutionMakes::Input)
    return {output.uid, weight.uid, input.uid};
  return {output.uid, input.uid, weight.uid};
}

} // namespace splitcast::runtime
