//===- AttentionCall.h - Attention as the device calls take it --------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_ATTENTIONCALL_H
#define SPLITCAST_RUNTIME_GPU_ATTENTIONCALL_H

#include "runtime/gpu/DeviceCalls.h"

#include <optional>
#include <string>
#include <vector>

namespace splitcast::runtime {

/// What an #exec.attention says. (A backend that is loaded at run time can read the attributes of the program's
/// context, but not make others.)
struct AttentionCall {
  std::string name, what; ///< "attention", and for errors "library call 'attention'"
  exec::AttentionExtents extents;
  double scale = 1;
  bool isCausal = false;
  ElementType type = ElementType::F32;
  std::optional<ElementType> mask;
  std::vector<int64_t> operandBytes; ///< without the workspace
  int64_t workspaceBytes = 0;
  bool roundsToTf32 = false; ///< products may round operands

  static AttentionCall of(exec::AttentionAttr call);
};

/// Prepares a call that exec::isTileAttention, or of f32 or f64.
absl::StatusOr<std::unique_ptr<Launchable>> createAttention(const AttentionCall &call, CallServices &services);
/// Prepares one of bf16 or f16 as calls of f32, sample by sample.
absl::StatusOr<std::unique_ptr<Launchable>> createSmallAttention(const AttentionCall &call, CallServices &services);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_ATTENTIONCALL_H
