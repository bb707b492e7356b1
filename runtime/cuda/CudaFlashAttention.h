//===- CudaFlashAttention.h - Attention by cuDNN ---------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDAFLASHATTENTION_H
#define SPLITCAST_RUNTIME_CUDA_CUDAFLASHATTENTION_H

#include "dialects/exec/Exec.h"
#include "runtime/api/Device.h"

#include <memory>
#include <string>

namespace splitcast::runtime {

/// Attention of bf16 and f16.
///   Errors  Unimplemented: cuDNN has no kernel for it on this GPU.
absl::StatusOr<std::unique_ptr<Launchable>> createCudaFlashAttention(exec::AttentionAttr call);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDAFLASHATTENTION_H
