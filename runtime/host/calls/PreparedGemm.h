//===- PreparedGemm.h - One matrix product, prepared for many calls -------------===//
#ifndef SPLITCAST_RUNTIME_HOST_CALLS_PREPAREDGEMM_H
#define SPLITCAST_RUNTIME_HOST_CALLS_PREPAREDGEMM_H

#include "runtime/api/ElementType.h"
#include "runtime/host/calls/Gemm.h"

#include "absl/status/statusor.h"

#include <memory>

namespace splitcast::runtime {

/// C = op(A) op(B) in one element type, row-major, on the calling thread. The order of additions depends on sizes,
/// flags and CPU, but not on the addresses of the buffers. bf16 and f16 are added in f32 and rounded once.
class PreparedGemm {
public:
  /// Prepares the best way to compute `gemm`, whose alpha is 1 and whose beta is 0, on elements of a float type:
  ///   bf16  oneDNN's matmul primitive, if the CPU has instructions for bf16; otherwise like f16
  ///   f16   tiles of the operands are widened, and multiplied in f32 (TiledGemm.h)
  ///   f32   the primitive for few rows, otherwise oneDNN's sgemm (PreparedGemm.cc)
  ///   f64   plain loops
  ///   Errors  ResourceExhausted, Internal: oneDNN's errors; the message names `what`.
  static absl::StatusOr<std::unique_ptr<PreparedGemm>> create(const char *what, const Gemm &gemm, ElementType type);
  virtual ~PreparedGemm() = default;

  /// Multiplies. Any thread may call it, but only one at a time. Errors are those of create().
  virtual absl::Status multiply(const void *a, const void *b, void *c) = 0;

  /// See Launchable::scratchBytes.
  virtual int64_t scratchBytes() const { return 0; }
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_CALLS_PREPAREDGEMM_H
