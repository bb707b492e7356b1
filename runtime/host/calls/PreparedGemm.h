//===- PreparedGemm.h - One matrix product, chosen and made ready ---------------===//
#ifndef SPLITCAST_RUNTIME_HOST_CALLS_PREPAREDGEMM_H
#define SPLITCAST_RUNTIME_HOST_CALLS_PREPAREDGEMM_H

#include "runtime/api/ElementType.h"
#include "runtime/host/calls/Gemm.h"

#include "absl/status/statusor.h"

#include <memory>

namespace splitcast::runtime {

/// C = op(A) op(B) of one type, row-major, on the thread that calls. Sums are in an order fixed by sizes, flags and
/// CPU; of bf16 and f16 in f32, rounded once. The buffers' addresses do not matter.
class PreparedGemm {
public:
  /// What does `gemm` best, whose alpha is 1 and whose beta is 0, on elements of a float type:
  ///   bf16  oneDNN's matmul primitive where the CPU multiplies it; else as f16
  ///   f16   tiles of the operands are widened, and multiplied in f32 (TiledGemm.h)
  ///   f32   the primitive for few rows, else oneDNN's sgemm (PreparedGemm.cc)
  ///   f64   plain loops
  ///   Errors  ResourceExhausted, Internal: oneDNN's, naming `what`.
  static absl::StatusOr<std::unique_ptr<PreparedGemm>> create(const char *what, const Gemm &gemm, ElementType type);
  virtual ~PreparedGemm() = default;

  /// One call at a time, of any thread. Errors as create()'s.
  virtual absl::Status multiply(const void *a, const void *b, void *c) = 0;

  /// As Launchable's.
  virtual int64_t scratchBytes() const { return 0; }
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_CALLS_PREPAREDGEMM_H
