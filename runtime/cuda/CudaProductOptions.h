//===- CudaProductOptions.h - How matrix products are computed --------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDAPRODUCTOPTIONS_H
#define SPLITCAST_RUNTIME_CUDA_CUDAPRODUCTOPTIONS_H

#include <optional>

namespace splitcast::runtime {

struct CudaProductOptions {
  /// Products of f32 with tf32's 10 bits of mantissa: faster, and not the numbers of other devices.
  bool allowsTf32 = false;
  /// For products of so many operations or more: of the algorithms that cuBLASLt proposes, the one that is fastest just
  /// then, of those that give the first's bits on numbers that are drawn. Nothing: the first. That they give them on
  /// all numbers is a guess, and each rank chooses by itself: stages, runs, and what ranks have in common may then
  /// differ by rounding.
  std::optional<double> leastTimedFlops;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDAPRODUCTOPTIONS_H
