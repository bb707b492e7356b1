//===- AttentionWorkspace.h - Scratch memory of attention, by what computes it --===//
//
// The compiler gives a call as much, and what runs the call lays it out: both read it here. All of it is at most
// 2^63 - 1 bytes in a call that isAddressable; where a function returns nothing, it is more.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_EXEC_ATTENTIONWORKSPACE_H
#define SPLITCAST_DIALECTS_EXEC_ATTENTIONWORKSPACE_H

#include <cstdint>
#include <optional>

namespace splitcast::exec {

/// What of an #exec.attention the memory depends on.
struct AttentionExtents {
  bool isGradient = false, hasMask = false;
  int64_t samples = 0, positions = 0, keys = 0, heads = 0, width = 0, elementBytes = 0;
};

/// Whether all that any device needs for the call can be counted.
bool isAddressable(const AttentionExtents &call);

//===----------------------------------------------------------------------===//
// runtime/host/calls
//===----------------------------------------------------------------------===//

/// Positions whose scores are in the cache at a time.
inline constexpr int64_t kAttentionBlock = 64;

/// Two rows of scores for each position of a block. Of small floats, before these all operands of one head, in f32.
std::optional<int64_t> hostAttentionWorkspace(const AttentionExtents &call);

/// One sample and head of a call of small floats, in f32, and where its operands begin in the workspace: gradient (of a
/// gradient alone), query, key, value, then its results, and what it needs itself.
struct HeadInFloats {
  AttentionExtents one;
  int64_t gradient = 0, query = 0, key = 0, value = 0, result = 0, keyGrad = 0, valueGrad = 0, workspace = 0;
  int64_t total = 0; ///< bytes
};
std::optional<HeadInFloats> headInFloats(const AttentionExtents &call);

//===----------------------------------------------------------------------===//
// runtime/gpu
//===----------------------------------------------------------------------===//

/// The scores of a sample, up to where what lies behind them begins.
std::optional<int64_t> sampleScoresBytes(const AttentionExtents &call);

/// These, and for the gradient theirs.
std::optional<int64_t> deviceAttentionWorkspace(const AttentionExtents &call);

//===----------------------------------------------------------------------===//
// runtime/cuda, by cuDNN
//===----------------------------------------------------------------------===//

/// What cuDNN's flash attention takes on all GPUs that have it.
bool isFlashAttention(const AttentionExtents &call);

/// Where things begin in the workspace. Before cuDNN's own lies, for the gradient, what the forward graph leaves for
/// the backward one: the output, from 0 on, and two floats per row.
struct FlashAttentionLayout {
  int64_t statistics = 0, delta = 0, library = 0;
  int64_t total = 0; ///< bytes, with what cuDNN was seen to need
};
std::optional<FlashAttentionLayout> flashAttentionLayout(const AttentionExtents &call);

} // namespace splitcast::exec

#endif // SPLITCAST_DIALECTS_EXEC_ATTENTIONWORKSPACE_H
