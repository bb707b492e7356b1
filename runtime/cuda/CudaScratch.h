//===- CudaScratch.h - Memory of the device that is no part of a plan --------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDASCRATCH_H
#define SPLITCAST_RUNTIME_CUDA_CUDASCRATCH_H

#include "cuda_runtime_api.h"

#include <cstddef>
#include <cstdint>

namespace splitcast::runtime {

/// Owned. Null when there is not as much.
class CudaScratch {
public:
  explicit CudaScratch(int64_t bytes) : bytes(bytes) {
    if (cudaMalloc(&memory, bytes) == cudaSuccess)
      return;
    memory = nullptr;
    cudaGetLastError(); // or who looks at it next takes it for his own
  }
  CudaScratch(const CudaScratch &) = delete;
  CudaScratch &operator=(const CudaScratch &) = delete;
  ~CudaScratch() { cudaFree(memory); }

  std::byte *data() const { return static_cast<std::byte *>(memory); }
  const int64_t bytes;

private:
  void *memory = nullptr;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDASCRATCH_H
