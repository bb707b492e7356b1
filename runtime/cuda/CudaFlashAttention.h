//===- CudaFlashAttention.h - Attention by cuDNN ---------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDAFLASHATTENTION_H
#define SPLITCAST_RUNTIME_CUDA_CUDAFLASHATTENTION_H

#include "runtime/api/Device.h"

#include <memory>
#include <string>

namespace splitcast::runtime {

/// "attention" or "attention_grad" of bf16 and f16.
///   Errors  InvalidArgument: a configuration that is wrong. Unimplemented: cuDNN has no kernel for it on this GPU.
absl::StatusOr<std::unique_ptr<Launchable>> createCudaFlashAttention(const std::string &name,
                                                                     mlir::DictionaryAttr config);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDAFLASHATTENTION_H
