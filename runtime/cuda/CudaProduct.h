//===- CudaProduct.h - Matrix products with cuBLASLt -------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDAPRODUCT_H
#define SPLITCAST_RUNTIME_CUDA_CUDAPRODUCT_H

#include "runtime/cuda/CudaProductOptions.h"
#include "runtime/gpu/DeviceCalls.h"

namespace splitcast::runtime {

/// Prepares a product of f32, f64, bf16 or f16. f32, bf16 and f16 are added in f32. The algorithm for operands at
/// multiples of 16 bytes is chosen here; for other operands, another one is chosen when they first occur. So the same
/// sizes and alignments give the same sums.
///   Errors  Unimplemented: cuBLASLt has no algorithm. Unavailable: cuBLASLt's own errors.
absl::StatusOr<std::unique_ptr<ProductCall>> createCudaProduct(const StridedProduct &product,
                                                               const CudaProductOptions &options);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDAPRODUCT_H
