//===- CudaProduct.h - Matrix products by cuBLASLt ---------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_CUDA_CUDAPRODUCT_H
#define SPLITCAST_RUNTIME_CUDA_CUDAPRODUCT_H

#include "runtime/gpu/DeviceCalls.h"

namespace splitcast::runtime {

/// Of f32, f64, bf16 and f16; the latter two, and f32, are added in f32. The algorithm is chosen when the call is made,
/// for operands that lie at multiples of 16 bytes; another, where they do not. So the same sizes give the same sums.
/// With `allowsTf32`, products of f32 have tf32's 10 bits of mantissa.
///   Errors  Unimplemented: cuBLASLt has no algorithm. Unavailable: its own.
absl::StatusOr<std::unique_ptr<ProductCall>> createCudaProduct(const StridedProduct &product, bool allowsTf32);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CUDA_CUDAPRODUCT_H
