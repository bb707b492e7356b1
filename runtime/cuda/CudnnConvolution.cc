#include "runtime/cuda/CudnnConvolution.h"

namespace splitcast::runtime {

ConvolutionUids buildConvolution(CudnnGraph &graph, const CudnnConvolutionSizes &sizes) {
  const auto dense = [&](const CudnnGraph::Extents &extents) {
    return graph.tensor(extents, CudnnGraph::rowMajor(extents), sizes.type, CudnnGraph::Storage::Memory);
  };
  const CudnnGraph::Tensor input = dense(sizes.input), weight = dense(sizes.weight), output = dense(sizes.output);
  graph.convolution(sizes.makes, input, weight, output, sizes.windows);
  return {input.uid, weight.uid, output.uid};
}

} // namespace splitcast::runtime
