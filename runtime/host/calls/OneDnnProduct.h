//===- OneDnnProduct.h - One matrix product, prepared by oneDNN -----------------===//
#ifndef SPLITCAST_RUNTIME_HOST_CALLS_ONEDNNPRODUCT_H
#define SPLITCAST_RUNTIME_HOST_CALLS_ONEDNNPRODUCT_H

#include "runtime/host/calls/PreparedGemm.h"

namespace splitcast::runtime {

/// Prepares a product with oneDNN's matmul primitive, which generates code for the sizes once. No size is 0, and the
/// type is bf16 or f32.
///   Errors  Unimplemented: oneDNN has no code for this CPU (as far as ONEDNN_MAX_CPU_ISA lets it use the CPU), or only
///           plain loops. ResourceExhausted, Internal: oneDNN's errors; the message names `what`.
absl::StatusOr<std::unique_ptr<PreparedGemm>> createOneDnnProduct(const char *what, const Gemm &gemm, ElementType type);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_CALLS_ONEDNNPRODUCT_H
