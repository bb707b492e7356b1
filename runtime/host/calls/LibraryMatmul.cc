//===- LibraryMatmul.cc - Matrix products -------------------------------------===//
//
// #exec.matmul, of bf16, f16, f32 and f64.
//   Operands  A [products, m, k] ([.., k, m] when transpose_a), B [products, k, n] ([.., n, k] when transpose_b);
//   output
//             C [products, m, n] = A * B, product by product.
//   Sizes     may be 0; with k = 0, C is zero.
//   Sums      in an order fixed by sizes, flags, CPU and threads; the buffers' addresses do not matter. Of bf16 and f16
//             in f32, rounded once.
//
// f32 goes to oneDNN's matmul primitive where there are few rows, and else to its sgemm, which copies both operands
// into its own layout tile by tile: that takes longer than to multiply where a copy serves few rows. One thread, both
// times in ms, of a Zen with AVX-512 (2026-11-25):
//     m x n x k                          sgemm  primitive
//     20 x 2000 x 2000                    0.98       0.79
//     20 x 2000 x 2000, B transposed      2.94       0.99
//     64 x 3072 x 768, B transposed       1.80       1.38
//     128 x 768 x 3072                    2.40       2.41
//     1024 x 3072 x 768                  18.46      20.85
// On a Xeon with AMX the primitive took twice as long as sgemm for 256 x 3072 x 768.
//
//===----------------------------------------------------------------------===//
#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/api/LaunchCheck.h"
#include "runtime/host/calls/Gemm.h"
#include "runtime/host/calls/LibraryCall.h"
#include "runtime/host/calls/OneDnnProduct.h"
#include "runtime/host/calls/SmallGemm.h"

#include "absl/strings/str_cat.h"

namespace splitcast::runtime {
namespace {

constexpr char kName[] = "matmul";

template <typename Float> class Matmul : public Launchable {
public:
  Matmul(int64_t products, Gemm gemm, std::vector<int64_t> argumentBytes, int threads)
      : products(products), gemm(gemm), argumentBytes(std::move(argumentBytes)), threads(threads) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    absl::Status status = checkBuffers(what, argumentBytes, buffers);
    for (int64_t i = 0; i < products && status.ok(); ++i)
      status = gemm.multiply(kName, reinterpret_cast<const Float *>(buffers[0].data) + i * gemm.m * gemm.k,
                             reinterpret_cast<const Float *>(buffers[1].data) + i * gemm.k * gemm.n,
                             reinterpret_cast<Float *>(buffers[2].data) + i * gemm.m * gemm.n, threads);
    return status;
  }

private:
  const std::string what = std::string("library call '") + kName + "'";
  const int64_t products;
  const Gemm gemm;
  const std::vector<int64_t> argumentBytes;
  const int threads;
};

/// Of f32, as oneDNN prepares it.
class PreparedMatmul : public Launchable {
public:
  PreparedMatmul(int64_t products, const Gemm &gemm, std::unique_ptr<OneDnnProduct> one,
                 std::vector<int64_t> argumentBytes)
      : products(products), gemm(gemm), one(std::move(one)), argumentBytes(std::move(argumentBytes)) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    absl::Status status = checkBuffers(what, argumentBytes, buffers);
    for (int64_t i = 0; i < products && status.ok(); ++i)
      status = one->multiply(reinterpret_cast<const float *>(buffers[0].data) + i * gemm.m * gemm.k,
                             reinterpret_cast<const float *>(buffers[1].data) + i * gemm.k * gemm.n,
                             reinterpret_cast<float *>(buffers[2].data) + i * gemm.m * gemm.n);
    return status;
  }

private:
  const std::string what = std::string("library call '") + kName + "'";
  const int64_t products;
  const Gemm gemm;
  const std::unique_ptr<OneDnnProduct> one;
  const std::vector<int64_t> argumentBytes;
};

class SmallMatmul : public Launchable {
public:
  SmallMatmul(int64_t products, const Gemm &gemm, std::unique_ptr<SmallGemm> one, std::vector<int64_t> argumentBytes)
      : products(products), gemm(gemm), one(std::move(one)), argumentBytes(std::move(argumentBytes)) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    absl::Status status = checkBuffers(what, argumentBytes, buffers);
    for (int64_t i = 0; i < products && status.ok(); ++i)
      status = one->multiply(reinterpret_cast<const uint16_t *>(buffers[0].data) + i * gemm.m * gemm.k,
                             reinterpret_cast<const uint16_t *>(buffers[1].data) + i * gemm.k * gemm.n,
                             reinterpret_cast<uint16_t *>(buffers[2].data) + i * gemm.m * gemm.n);
    return status;
  }

private:
  const std::string what = std::string("library call '") + kName + "'";
  const int64_t products;
  const Gemm gemm;
  const std::unique_ptr<SmallGemm> one;
  const std::vector<int64_t> argumentBytes;
};

/// Products of at most so many rows are prepared.
constexpr int64_t kMostPreparedRows = 128;

absl::StatusOr<std::unique_ptr<Launchable>> createOfFloats(int64_t products, const Gemm &gemm,
                                                           const std::vector<int64_t> &argumentBytes, int threads) {
  if (gemm.m <= kMostPreparedRows && !gemm.isEmpty()) {
    absl::StatusOr<std::unique_ptr<OneDnnProduct>> one = OneDnnProduct::create(kName, gemm, ElementType::F32, threads);
    if (!one.ok() && !absl::IsUnimplemented(one.status()))
      return one.status();
    if (one.ok() && (*one)->isBlocked())
      return std::make_unique<PreparedMatmul>(products, gemm, *std::move(one), argumentBytes);
  }
  return std::make_unique<Matmul<float>>(products, gemm, argumentBytes, threads);
}

absl::StatusOr<std::unique_ptr<Launchable>> create(exec::LibraryCallAttrInterface any,
                                                   const LibraryCallOptions &options) {
  auto call = callAs<exec::MatmulAttr>(any);
  const int64_t products = call.getProducts();
  Gemm gemm;
  gemm.m = call.getM();
  gemm.n = call.getN();
  gemm.k = call.getK();
  gemm.transposeA = call.getTransposeA();
  gemm.transposeB = call.getTransposeB();
  gemm.lda = gemm.transposeA ? gemm.m : gemm.k;
  gemm.ldb = gemm.transposeB ? gemm.k : gemm.n;
  gemm.ldc = gemm.n;
  const ElementType type = *elementTypeOf(call.getType());
  const std::vector<int64_t> argumentBytes = call.getOperandBytes();
  if (type == ElementType::F32)
    return createOfFloats(products, gemm, argumentBytes, options.threads);
  if (type == ElementType::F64)
    return std::make_unique<Matmul<double>>(products, gemm, argumentBytes, options.threads);
  absl::StatusOr<std::unique_ptr<SmallGemm>> one = SmallGemm::create(kName, gemm, type, options.threads);
  if (!one.ok())
    return one.status();
  return std::make_unique<SmallMatmul>(products, gemm, *std::move(one), argumentBytes);
}

const LibraryCallRegistration registration(kName, create);

} // namespace
} // namespace splitcast::runtime
