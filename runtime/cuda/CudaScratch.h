//===- CudaScratch.h - Device memory that is not part of a plan --------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDASCRATCH_H
#define SPLITCAST_RUNTIME_CUDA_CUDASCRATCH_H

#include "cuda_runtime_api.h"

#include <cstddef>
#include <cstdint>

namespace splitcast::runtime {

/// Owns memory of the current device. data() is null if the device does not have that much.
class CudaScratch {
public:
  explicit CudaScratch(int64_t bytes) : bytes(bytes) {
    if (cudaMalloc(&memory, bytes) == cudaSuccess)
      return;
    memory = nullptr;
    cudaGetLastError(); // clears the error, which the next caller would otherwise take for its own
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
