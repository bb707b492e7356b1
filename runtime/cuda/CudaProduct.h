//===- CudaProduct.h - Matrix products by cuBLASLt ---------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDAPRODUCT_H
#define SPLITCAST_RUNTIME_CUDA_CUDAPRODUCT_H

#include "runtime/cuda/CudaProductOptions.h"
#include "runtime/gpu/DeviceCalls.h"

namespace splitcast::runtime {

/// Of f32, f64, bf16 and f16; the latter two, and f32, are added in f32. The algorithm is chosen when the call is made,
/// for operands that lie at multiples of 16 bytes; another, where they do not. So the same sizes give the same sums.
///   Errors  Unimplemented: cuBLASLt has no algorithm. Unavailable: its own.
absl::StatusOr<std::unique_ptr<ProductCall>> createCudaProduct(const StridedProduct &product,
                                                               const CudaProductOptions &options);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDAPRODUCT_H
