//===- CudnnAttention.h - Attention as graphs of cuDNN ------------------------------------------------------===//
//
// cuDNN recognizes these graphs as flash attention (its support surface, version 9), so scores and probabilities are
// never in memory. Tensors have the layout of nn.attention, [samples, positions, heads, width]; to cuDNN they are
// described as [samples, heads, positions, width] with the strides of that layout. If attention is causal, position i
// sees the keys 0 to i.
//
// The gradient is the one without atomic additions. Its sums have one order, and cuDNN's workspace has one bf16 or f16
// per score (on Hopper with positions rounded up to 64 and keys to 128).
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

/// The uids of the tensors and values that a graph takes; 0 means that it takes none. `scale`, `lowest` (-infinity) and
/// `one` (1.0f) are floats of the host.
struct AttentionForwardUids {
  int64_t query, key, value, output, scale, lowest;
  int64_t statistics; ///< f32 [samples, heads, positions]: the log of the sum of exp of the scaled scores
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
