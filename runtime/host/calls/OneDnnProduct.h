//===- OneDnnProduct.h - One matrix product, prepared by oneDNN -----------------===//
#ifndef SPLITCAST_RUNTIME_HOST_CALLS_ONEDNNPRODUCT_H
#define SPLITCAST_RUNTIME_HOST_CALLS_ONEDNNPRODUCT_H

#include "runtime/host/calls/PreparedGemm.h"

namespace splitcast::runtime {

/// By oneDNN's matmul primitive, which generates code for the sizes once. None of these is 0; the type is bf16 or f32.
///   Errors  Unimplemented: not on this CPU, not with what ONEDNN_MAX_CPU_ISA leaves of it, or only in plain loops.
///   ResourceExhausted, Internal: oneDNN's, naming `what`.
absl::StatusOr<std::unique_ptr<PreparedGemm>> createOneDnnProduct(const char *what, const Gemm &gemm, ElementType type);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_CALLS_ONEDNNPRODUCT_H
