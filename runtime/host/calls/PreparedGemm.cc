// Products of f32 with few rows use oneDNN's matmul primitive, and others its
// sgemm. sgemm copies both operands into its own layout, tile by tile, which
// takes longer than to multiply if a copy serves only few rows. Times in ms, on
// one thread of a Zen with AVX-512 (2026-11-25):
//     m x n x k                          sgemm  primitive
//     20 x 2000 x 2000                    0.98       0.79
//     20 x 2000 x 2000, B transposed      2.94       0.99
//     64 x 3072 x 768, B transposed       1.80       1.38
//     128 x 768 x 3072                    2.40       2.41
//     1024 x 768 x 3072                  17.71      20.45
// On a Xeon with AMX the primitive took twice as long as sgemm for 256 x 3072 x 768.
#include "runtime/host/calls/PreparedGemm.h"

#include "runtime/host/calls/OneDnnProduct.h"
#include "runtime/host/calls/TiledGemm.h"

namespace splitcast::runtime {
namespace {

/// Products of f32 with at most this many rows use the primitive.
constexpr int64_t kMostPreparedRows = 128;

template <typename Float> class PlainGemm final : public PreparedGemm {
public:
  PlainGemm(const char *what, const Gemm &gemm) : what(what), gemm(gemm) {}
  absl::Status multiply(const void *a, const void *b, void *c) override {
    return gemm.multiply(what, static_cast<const Float *>(a), static_cast<const Float *>(b), static_cast<Float *>(c));
  }

private:
  const char *what;
  const Gemm gemm;
};

bool isForOneDnn(const Gemm &gemm, ElementType type) {
  if (gemm.isEmpty())
    return false;
  return type == ElementType::F32 ? gemm.m <= kMostPreparedRows
                                  : type == ElementType::BF16 && __builtin_cpu_supports("avx512bf16");
}

} // namespace

absl::StatusOr<std::unique_ptr<PreparedGemm>> PreparedGemm::create(const char *what, const Gemm &gemm,
                                                                   ElementType type) {
  if (isForOneDnn(gemm, type)) {
    absl::StatusOr<std::unique_ptr<PreparedGemm>> product = createOneDnnProduct(what, gemm, type);
    if (!absl::IsUnimplemented(product.status()))
      return product;
  }
  if (type == ElementType::F32)
    return std::make_unique<PlainGemm<float>>(what, gemm);
  if (type == ElementType::F64)
    return std::make_unique<PlainGemm<double>>(what, gemm);
  return createTiledGemm(what, gemm, type);
}

} // namespace splitcast::runtime
