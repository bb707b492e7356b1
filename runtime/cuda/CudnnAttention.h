//===- CudnnAttention.h - Attention as graphs of cuDNN ------------------------------------------------------===//
//
// The graphs that cuDNN knows as flash attention (its support surface, version 9): scores and probabilities are nowhere
// in memory. Tensors lie as nn.attention has them, [samples, positions, heads, width]; cuDNN is told samples, heads,
// positions, width with those strides. When causal, position i sees the keys 0 to i.
//
// The gradient is the one without atomic additions: cuDNN's workspace is then a bf16 or f16 per score (on Hopper
// with positions rounded up to 64 and keys to 128), and sums have one order.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDNNATTENTION_H
#define SPLITCAST_RUNTIME_CUDA_CUDNNATTENTION_H

#include "runtime/cuda/CudnnGraph.h"

namespace splitcast::runtime {

struct AttentionSizes {
  int64_t samples = 0, positions = 0, keys = 0, heads = 0, width = 0;
  bool isCausal = false;
  cudnnDataType_t type = CUDNN_DATA_BFLOAT16; ///< or CUDNN_DATA_HALF
};

/// Uids of what a graph is given; 0: it has none. Floats: `scale`, `lowest` (-infinity) and `one` (1.0f).
struct AttentionForwardUids {
  int64_t query, key, value, output, scale, lowest;
  int64_t statistics; ///< f32 [samples, heads, positions]: log of the sum of exp of the scaled scores
};
AttentionForwardUids buildAttention(CudnnGraph &graph, const AttentionSizes &sizes, bool keepsStatistics);

struct AttentionBackwardUids {
  int64_t gradient, query, key, value, output, statistics;
  int64_t delta; ///< scratch, f32 [samples, heads, positions]
  int64_t queryGradient, keyGradient, valueGradient, scale, lowest, one;
};
AttentionBackwardUids buildAttentionGradient(CudnnGraph &graph, const AttentionSizes &sizes);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDNNATTENTION_H
