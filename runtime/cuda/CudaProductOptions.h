//===- CudaProductOptions.h - How matrix products are computed --------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDAPRODUCTOPTIONS_H
#define SPLITCAST_RUNTIME_CUDA_CUDAPRODUCTOPTIONS_H

namespace splitcast::runtime {

struct CudaProductOptions {
  /// Products of f32 with tf32's 10 bits of mantissa: faster, and not the numbers of other devices.
  bool allowsTf32 = false;
  /// Of the algorithms that cuBLASLt proposes for a large product, the fastest of those that give the first's bits on
  /// numbers that are drawn; else the first. That they do so on all numbers is a guess: a stage may then differ from
  /// another by rounding.
  bool timesAlgorithms = false;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDAPRODUCTOPTIONS_H
