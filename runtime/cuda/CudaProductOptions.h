//===- CudaProductOptions.h - How matrix products are computed --------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDAPRODUCTOPTIONS_H
#define SPLITCAST_RUNTIME_CUDA_CUDAPRODUCTOPTIONS_H

#include <optional>

namespace splitcast::runtime {

struct CudaProductOptions {
  /// Whether products of f32 may use tf32, which has 10 bits of mantissa. This is faster, but the results differ from
  /// those of other devices.
  bool allowsTf32 = false;
  /// If set, products of at least this many operations time the algorithms that cuBLASLt proposes, and use the fastest
  /// of those that give the same bits as the first on random numbers. If not set, they use the first. Whether two
  /// algorithms give the same bits on all numbers is a guess, and each rank chooses by itself: ZeRO stages, runs, and
  /// values that ranks have in common may then differ by rounding.
  std::optional<double> leastTimedFlops;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDAPRODUCTOPTIONS_H
