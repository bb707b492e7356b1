//===- SmallGemm.h - One matrix product of bf16 or f16 --------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_CALLS_SMALLGEMM_H
#define SPLITCAST_RUNTIME_HOST_CALLS_SMALLGEMM_H

#include "runtime/api/ElementType.h"
#include "runtime/host/calls/Gemm.h"

#include "absl/status/statusor.h"

#include <memory>

namespace splitcast::runtime {

/// C = op(A) op(B), row-major, with sums in f32 that are rounded once. bf16 goes to oneDNN where the CPU multiplies it;
/// else tiles of the operands are widened, and multiplied in f32.
class SmallGemm {
public:
  /// Of `gemm`, whose alpha is 1 and whose beta is 0, on `threads` threads.
  ///   Errors  ResourceExhausted, Internal: oneDNN's, naming `what`.
  static absl::StatusOr<std::unique_ptr<SmallGemm>> create(const char *what, const Gemm &gemm, ElementType type,
                                                           int threads);
  virtual ~SmallGemm() = default;

  /// Sums are in an order fixed by sizes, flags, CPU and threads. Errors as create()'s.
  virtual absl::Status multiply(const uint16_t *a, const uint16_t *b, uint16_t *c) = 0;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_CALLS_SMALLGEMM_H
