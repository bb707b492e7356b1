//===- RawProduct.h - A matrix product as oneDNN does it, with nothing around ----------===//
#ifndef SPLITCAST_BENCHMARKS_CPU_RAWPRODUCT_H
#define SPLITCAST_BENCHMARKS_CPU_RAWPRODUCT_H

#include "dialects/exec/Exec.h"

#include "absl/status/statusor.h"

#include <functional>

namespace splitcast {

/// C = op(A) op(B), on whole matrices, product by product.
using RawProduct = std::function<absl::Status(const void *a, const void *b, void *c)>;

/// On `threads` threads of oneDNN's own: by its matmul primitive, or by sgemm.
///   Errors  Unimplemented: oneDNN has no such product here (or sgemm is not of this type).
absl::StatusOr<RawProduct> rawPrimitive(exec::MatmulAttr call, int threads);
absl::StatusOr<RawProduct> rawSgemm(exec::MatmulAttr call, int threads);

} // namespace splitcast

#endif // SPLITCAST_BENCHMARKS_CPU_RAWPRODUCT_H
