//===- AttentionWorkspace.h - Scratch memory of attention, per implementation --===//
//
// The compiler gives a call this much memory, and the code that runs the call lays it out: both use this file. Each
// size is at most 2^63 - 1 bytes in a call that isAddressable; a function returns nothing where the size is more.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_EXEC_ATTENTIONWORKSPACE_H
#define SPLITCAST_DIALECTS_EXEC_ATTENTIONWORKSPACE_H

#include <cstdint>
#include <optional>

namespace splitcast::exec {

/// The parameters of an #exec.attention on which the memory depends.
struct AttentionExtents {
  bool isGradient = false, hasMask = false;
  int64_t samples = 0, positions = 0, keys = 0, heads = 0, width = 0, elementBytes = 0;
  bool hasStatistics = false; ///< attention writes the statistics of its rows, and the gradient reads these
};

/// Whether the bytes that each device needs for the call can be counted.
bool isAddressable(const AttentionExtents &call);

//===----------------------------------------------------------------------===//
// runtime/host/calls
//===----------------------------------------------------------------------===//

/// The number of positions whose scores are in the cache at a time.
inline constexpr int64_t kAttentionBlock = 64;

/// Returns the bytes of two rows of scores for each position of a block. For 16-bit floats, all operands of one head
/// come before these, in f32.
std::optional<int64_t> hostAttentionWorkspace(const AttentionExtents &call);

/// The call for one sample, of all heads or one, in f32, for a call of 16-bit floats, and where its operands begin in
/// the workspace: gradient (only if the call is a gradient), query, key, value, then its results and its own workspace.
struct SampleInFloats {
  AttentionExtents one;
  int64_t gradient = 0, query = 0, key = 0, value = 0, result = 0, keyGrad = 0, valueGrad = 0, workspace = 0;
  int64_t total = 0; ///< bytes
};
/// For one head, with the workspace of the host.
std::optional<SampleInFloats> headInFloats(const AttentionExtents &call);

//===----------------------------------------------------------------------===//
// runtime/gpu
//===----------------------------------------------------------------------===//

/// Whether kernels compute the call without scores in memory (runtime/gpu/TileAttentionKernels.h): it is not of f64,
/// and at most 64 wide, so that a block's tiles and sums fit into a multiprocessor's memory and registers.
bool isTileAttention(const AttentionExtents &call);

/// Returns the bytes of the scores of one sample, aligned.
std::optional<int64_t> sampleScoresBytes(const AttentionExtents &call);

/// For all heads, with the workspace of the device.
std::optional<SampleInFloats> sampleInFloats(const AttentionExtents &call);

/// Returns the bytes of three numbers per row of the scores for the gradient of a call that isTileAttention, else those
/// of the scores of one sample, and for the gradient also those of the scores' gradients; for 16-bit floats, those of a
/// sample in f32.
std::optional<int64_t> deviceAttentionWorkspace(const AttentionExtents &call);

//===----------------------------------------------------------------------===//
// runtime/cuda, by cuDNN
//===----------------------------------------------------------------------===//

/// Whether cuDNN's flash attention accepts the call on all GPUs that have it.
bool isFlashAttention(const AttentionExtents &call);

/// Offsets in the workspace. For the gradient, values per row come before cuDNN's own workspace (`library`): a float
/// that the backward graph computes (`delta`), and before it what the forward graph, which runs again, leaves: the
/// output, from 0 on, and the statistics. If output and statistics are operands, there is no room for them.
struct FlashAttentionLayout {
  int64_t statistics = 0, delta = 0, library = 0;
  int64_t total = 0; ///< bytes, including the size that cuDNN was measured to need
};
std::optional<FlashAttentionLayout> flashAttentionLayout(const AttentionExtents &call);

} // namespace splitcast::exec

#endif // SPLITCAST_DIALECTS_EXEC_ATTENTIONWORKSPACE_H
