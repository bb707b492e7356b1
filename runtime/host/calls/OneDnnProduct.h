//===- OneDnnProduct.h - One matrix product, prepared by oneDNN -----------------===//
#ifndef SPLITCAST_RUNTIME_HOST_CALLS_ONEDNNPRODUCT_H
#define SPLITCAST_RUNTIME_HOST_CALLS_ONEDNNPRODUCT_H

#include "runtime/api/ElementType.h"
#include "runtime/host/calls/Gemm.h"

#include "absl/status/statusor.h"

#include <memory>

namespace splitcast::runtime {

/// C = op(A) op(B), row-major, by oneDNN's matmul primitive: code is generated for the sizes once. Sums are in f32, in
/// an order fixed by sizes, flags, CPU and threads.
class OneDnnProduct {
public:
  /// Of `gemm`, none of whose sizes is 0, whose alpha is 1 and whose beta is 0, of bf16 or f32, on `threads` threads.
  ///   Errors  Unimplemented: not on this CPU, or not with what ONEDNN_MAX_CPU_ISA leaves of it. ResourceExhausted,
  ///   Internal: oneDNN's, naming `what`.
  static absl::StatusOr<std::unique_ptr<OneDnnProduct>> create(const char *what, const Gemm &gemm, ElementType type,
                                                               int threads);
  virtual ~OneDnnProduct() = default;

  /// Whether the generated code multiplies by blocks in vectors ("brgemm"), and not in plain loops or by sgemm.
  virtual bool isBlocked() const = 0;
  /// Errors as create()'s, but for the first.
  virtual absl::Status multiply(const void *a, const void *b, void *c) = 0;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_CALLS_ONEDNNPRODUCT_H
