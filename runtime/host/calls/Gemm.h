//===- Gemm.h - One matrix product ------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_CALLS_GEMM_H
#define SPLITCAST_RUNTIME_HOST_CALLS_GEMM_H

#include "absl/status/status.h"

#include <cstdint>

namespace splitcast::runtime {

/// C = alpha op(A) op(B) + beta C, row-major: op(A) is [m, k], op(B) [k, n]; `lda`, `ldb`, `ldc` are the elements from
/// one row to the next as stored.
struct Gemm {
  bool transposeA = false, transposeB = false;
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;
  double alpha = 1.0, beta = 0.0; ///< rounded to the elements' type

  bool isEmpty() const { return m == 0 || n == 0 || k == 0; }

  /// By oneDNN, on the thread that calls. Sums are in an order fixed by sizes, flags and CPU; the buffers' addresses do
  /// not matter. With k = 0 or no element in C, nothing but `beta` happens.
  ///   Errors  ResourceExhausted, Internal: oneDNN's, naming `what`.
  absl::Status multiply(const char *what, const float *a, const float *b, float *c) const;
  /// For comparisons, not for speed: every sum runs over ascending k.
  absl::Status multiply(const char *what, const double *a, const double *b, double *c) const;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_CALLS_GEMM_H
