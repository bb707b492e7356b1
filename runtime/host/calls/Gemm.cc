#include "runtime/host/calls/Gemm.h"

#include "runtime/host/calls/OneDnn.h"

#include "absl/strings/str_cat.h"

#include <dnnl.h>

namespace splitcast::runtime {
namespace {

template <typename Float> void scaleRows(const Gemm &gemm, Float *c) {
  for (int64_t i = 0; i < gemm.m; ++i)
    for (int64_t j = 0; j < gemm.n; ++j) {
      Float &element = c[i * gemm.ldc + j];
      element = gemm.beta == 0 ? 0 : element * static_cast<Float>(gemm.beta);
    }
}

} // namespace

absl::Status Gemm::multiply(const char *what, const float *a, const float *b, float *c) const {
  if (m == 0 || n == 0)
    return absl::OkStatus();
  if (k == 0) {
    scaleRows(*this, c);
    return absl::OkStatus();
  }
  const onednn::OneThread alone;
  dnnl_status_t status = dnnl_sgemm(transposeA ? 'T' : 'N', transposeB ? 'T' : 'N', m, n, k, static_cast<float>(alpha),
                                    a, lda, b, ldb, static_cast<float>(beta), c, ldc);
  if (status == dnnl_out_of_memory)
    return absl::ResourceExhaustedError(
        absl::StrCat("library call '", what, "': oneDNN had no memory to copy the operands"));
  if (status != dnnl_success)
    return absl::InternalError(absl::StrCat("library call '", what, "': oneDNN's sgemm failed with status ", status));
  return absl::OkStatus();
}

absl::Status Gemm::multiply(const char *, const double *a, const double *b, double *c) const {
  scaleRows(*this, c);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l) {
      double left = alpha * (transposeA ? a[l * lda + i] : a[i * lda + l]);
      for (int64_t j = 0; j < n; ++j)
        c[i * ldc + j] += left * (transposeB ? b[j * ldb + l] : b[l * ldb + j]);
    }
  return absl::OkStatus();
}

} // namespace splitcast::runtime
