//===- RawProduct.h - Matrix products by direct calls of oneDNN -------------------------===//
#ifndef SPLITCAST_BENCHMARKS_CPU_RAWPRODUCT_H
#define SPLITCAST_BENCHMARKS_CPU_RAWPRODUCT_H

#include "dialects/exec/Exec.h"

#include "absl/status/statusor.h"

#include <functional>

namespace splitcast {

/// Computes C = op(A) op(B) for each product of a call, one after the other.
using RawProduct = std::function<absl::Status(const void *a, const void *b, void *c)>;

/// Return a function that computes the call's products on `threads` OpenMP threads of oneDNN: with its matmul
/// primitive, or with sgemm. What they create for it is never freed.
///   Errors  Unimplemented: oneDNN has no optimized code for the product, or none for its type. Internal: oneDNN
///   failed.
absl::StatusOr<RawProduct> rawPrimitive(exec::MatmulAttr call, int threads);
absl::StatusOr<RawProduct> rawSgemm(exec::MatmulAttr call, int threads);

} // namespace splitcast

#endif // SPLITCAST_BENCHMARKS_CPU_RAWPRODUCT_H
