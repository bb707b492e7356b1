//===- NcclTreeSum.h - Loads and launches the kernels of DeviceTreeSum.h --------------------------------------===//
#ifndef SPLITCAST_RUNTIME_NCCL_NCCLTREESUM_H
#define SPLITCAST_RUNTIME_NCCL_NCCLTREESUM_H

#include "runtime/api/Device.h"
#include "runtime/api/ElementType.h"
#include "runtime/cuda/CudaCode.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace splitcast::runtime {

class NcclTreeSum {
public:
  /// Enqueues sum = the tree sum of the addends, each of which has sum.bytes bytes; `sum` may be one of them. The first
  /// sum of a number of addends and a type compiles the kernel.
  ///   Errors  InvalidArgument: there are more than 64 addends.
  absl::Status launch(const std::vector<Buffer> &addends, Buffer sum, ElementType type, cudaStream_t stream,
                      const std::string &what);

private:
  struct Loaded {
    std::shared_ptr<CudaCode> code;
    cudaKernel_t narrow = nullptr, wide = nullptr; ///< of an element, and of kTreeSumBytes, per thread
  };
  absl::StatusOr<Loaded> kernelsOf(int64_t count, ElementType type, const std::string &what);

  std::map<std::pair<int64_t, ElementType>, Loaded> loaded;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_NCCL_NCCLTREESUM_H
