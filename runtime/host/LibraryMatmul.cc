//===- LibraryMatmul.cc - Matrix products -------------------------------------===//
//
// "matmul": config {m, n, k, transpose_a, transpose_b, type = f32 | f64}.
//   Operands  A [m, k] ([k, m] when transpose_a), B [k, n] ([n, k] when transpose_b); output C [m, n] = A * B.
//   Sizes     may be 0; with k = 0, C is zero.
//   Sums      in an order fixed by sizes, flags, CPU and threads; the buffers' addresses do not matter.
//
// f32 goes to oneDNN's sgemm, which copies both operands into its own layout tile by tile. On one thread of a CPU with
// AVX-512 it is up to twice as fast as oneDNN's matmul primitive on plain layouts (256 x 3072 x 768: 181 against 88
// Gflop/s), and in few shapes slower (2000 x 2000 x 64 with A transposed: 117 against 132).
//
//===----------------------------------------------------------------------===//
#include "runtime/host/LaunchCheck.h"
#include "runtime/host/LibraryCall.h"
#include "runtime/host/LibraryConfig.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstring>
#include <dnnl.h>

// libgomp's, which oneDNN uses; clang brings no <omp.h>.
extern "C" void omp_set_num_threads(int threads);

namespace splitcast::runtime {
namespace {

constexpr char kName[] = "matmul";

struct Product {
  int64_t m, n, k;
  bool transposeA, transposeB;
};

absl::Status multiply(const Product &product, const float *a, const float *b, float *c, int threads) {
  // The number is a property of the calling thread, which other libraries may have set.
  omp_set_num_threads(threads);
  dnnl_status_t status = dnnl_sgemm(product.transposeA ? 'T' : 'N', product.transposeB ? 'T' : 'N', product.m,
                                    product.n, product.k, 1.0f, a, product.transposeA ? product.m : product.k, b,
                                    product.transposeB ? product.k : product.n, 0.0f, c, product.n);
  if (status == dnnl_out_of_memory)
    return absl::ResourceExhaustedError("library call 'matmul': oneDNN found no memory for its copies of the operands");
  if (status != dnnl_success)
    return absl::InternalError(absl::StrCat("library call 'matmul': oneDNN's sgemm failed with status ", status));
  return absl::OkStatus();
}

/// oneDNN has no f64. For comparisons, not for speed: every sum runs over ascending k.
absl::Status multiply(const Product &product, const double *a, const double *b, double *c, int threads) {
  std::fill(c, c + product.m * product.n, 0.0);
  for (int64_t i = 0; i < product.m; ++i)
    for (int64_t k = 0; k < product.k; ++k) {
      double left = product.transposeA ? a[k * product.m + i] : a[i * product.k + k];
      for (int64_t j = 0; j < product.n; ++j)
        c[i * product.n + j] += left * (product.transposeB ? b[j * product.k + k] : b[k * product.n + j]);
    }
  return absl::OkStatus();
}

template <typename Float> class Matmul : public Launchable {
public:
  Matmul(Product product, std::vector<int64_t> argumentBytes, int threads)
      : product(product), argumentBytes(std::move(argumentBytes)), threads(threads) {}

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    if (absl::Status status = checkBuffers(what, argumentBytes, buffers); !status.ok())
      return status;
    if (argumentBytes[2] == 0)
      return absl::OkStatus();
    if (product.k == 0) {
      std::memset(buffers[2].data, 0, argumentBytes[2]);
      return absl::OkStatus();
    }
    return multiply(product, reinterpret_cast<const Float *>(buffers[0].data),
                    reinterpret_cast<const Float *>(buffers[1].data), reinterpret_cast<Float *>(buffers[2].data),
                    threads);
  }

private:
  const std::string what = std::string("library call '") + kName + "'";
  const Product product;
  const std::vector<int64_t> argumentBytes;
  const int threads;
};

absl::StatusOr<std::unique_ptr<Launchable>> create(mlir::DictionaryAttr attribute, const LibraryCallOptions &options) {
  LibraryConfig config(kName, attribute);
  Product product;
  product.m = config.count("m");
  product.n = config.count("n");
  product.k = config.count("k");
  product.transposeA = config.flag("transpose_a");
  product.transposeB = config.flag("transpose_b");
  ElementType type = config.type("type");
  std::vector<int64_t> argumentBytes = {config.bytes(product.m, product.k, type),
                                        config.bytes(product.k, product.n, type),
                                        config.bytes(product.m, product.n, type)};
  if (absl::Status status = config.status(); !status.ok())
    return status;
  if (type == ElementType::F32)
    return std::make_unique<Matmul<float>>(product, argumentBytes, options.threads);
  if (type == ElementType::F64)
    return std::make_unique<Matmul<double>>(product, argumentBytes, options.threads);
  return absl::UnimplementedError(absl::StrCat("library call '", kName, "' multiplies f32 and f64, not ", nameOf(type),
                                               "; extend the operands to f32 first"));
}

const LibraryCallRegistration registration(kName, create);

} // namespace
} // namespace splitcast::runtime
