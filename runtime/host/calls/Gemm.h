//===- Gemm.h - One matrix product ------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_CALLS_GEMM_H
#define SPLITCAST_RUNTIME_HOST_CALLS_GEMM_H

#include "absl/status/status.h"

#include <cstdint>

namespace splitcast::runtime {

/// C = alpha op(A) op(B) + beta C, row-major. op(A) is [m, k] and op(B) is [k, n]. `lda`, `ldb` and `ldc` count the
/// elements from one stored row to the next.
struct Gemm {
  bool transposeA = false, transposeB = false;
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;
  double alpha = 1.0, beta = 0.0; ///< rounded to the elements' type

  bool isEmpty() const { return m == 0 || n == 0 || k == 0; }

  /// Multiplies with oneDNN, on the calling thread. The order of additions depends on sizes, flags and CPU, but not on
  /// the addresses of the buffers. If k is 0, C is only multiplied by `beta`.
  ///   Errors  ResourceExhausted, Internal: oneDNN's errors; the message names `what`.
  absl::Status multiply(const char *what, const float *a, const float *b, float *c) const;
  /// Multiplies in plain loops, for comparison and not for speed: every sum runs over ascending k.
  absl::Status multiply(const char *what, const double *a, const double *b, double *c) const;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_CALLS_GEMM_H
