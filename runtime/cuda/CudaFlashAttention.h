//===- CudaFlashAttention.h - Attention with cuDNN -------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDAFLASHATTENTION_H
#define SPLITCAST_RUNTIME_CUDA_CUDAFLASHATTENTION_H

#include "dialects/exec/Exec.h"
#include "runtime/api/Device.h"

#include <memory>
#include <string>

namespace splitcast::runtime {

/// Prepares attention of bf16 or f16.
///   Errors  Unimplemented: cuDNN has no kernel for it on this GPU, the type is another, or there is a mask other than
///           the causal one. InvalidArgument: the workspace is too small.
absl::StatusOr<std::unique_ptr<Launchable>> createCudaFlashAttention(exec::AttentionAttr call);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDAFLASHATTENTION_H
