//===- LibraryMatmul.cc - Matrix products -------------------------------------===//
//
// #exec.matmul, of bf16, f16, f32 and f64.
//   Operands  A [products, m, k] ([.., k, m] with transpose_a) and
//             B [products, k, n] ([.., n, k] with transpose_b); output
//             C [products, m, n] = A * B, product by product.
//   Sizes     may be 0; with k = 0, C is zero.
//   Sums      in an order that depends on sizes, flags and CPU, but not on
//             addresses or the number of threads. bf16 and f16 are added in f32
//             and rounded once.
//
// A large product is done in blocks of rows or columns of C, each by one
// thread. The blocks depend on the sizes alone; threads only share them.
//
//===----------------------------------------------------------------------===//
#include "runtime/api/ElementTypeFromIr.h"
#include "runtime/api/LaunchCheck.h"
#include "runtime/api/StatusMacros.h"
#include "runtime/host/calls/LibraryCall.h"
#include "runtime/host/calls/PreparedGemm.h"

#include <algorithm>

namespace splitcast::runtime {
namespace {

constexpr char kName[] = "matmul";

/// The work of a block, or the memory that it reads, which takes some
/// milliseconds. Then no thread waits long for the last block, and a block is
/// multiplied as fast as the whole. (1024 x 768 x 768 on one thread: 270
/// Gflop/s as a whole, 272 and 273 in blocks of 512 and 256 rows.)
constexpr double kBlockFlops = 6e8;
constexpr int64_t kBlockBytes = 6 << 20;
constexpr int64_t kMostBlocks = 16;
/// A smaller product is done in 2, 4, 8 or 16 blocks, so that two threads or more have work: in 2 from this on, which
/// takes a thread some 50 us, in 4 from kMoreFlops on, and in twice as many from four times the work on. On one thread
/// they cost less than 3 %. (A step of a GPT of 4 layers x 128 on 12 x 64 tokens is 1.7 times as fast on two threads,
/// and as fast as before on one.)
constexpr double kLeastFlops = 4e6;
constexpr double kMoreFlops = 96e6;
/// The rows or columns of a block are a multiple of this.
constexpr int64_t kBlockUnit = 64;

/// Rows [begin, end) of C, or columns [begin, end).
struct Range {
  int64_t begin = 0, end = 0;
};

bool isCutByColumns(const Gemm &gemm) { return gemm.n > gemm.m; }

std::vector<Range> blocksOf(const Gemm &gemm, int64_t elementBytes) {
  const int64_t extent = isCutByColumns(gemm) ? gemm.n : gemm.m;
  const double flops = 2.0 * static_cast<double>(gemm.m) * static_cast<double>(gemm.n) * static_cast<double>(gemm.k);
  const int64_t largest = std::max({gemm.m * gemm.k, gemm.k * gemm.n, gemm.m * gemm.n}) * elementBytes;
  const auto ofLarge = static_cast<int64_t>(std::min(flops / kBlockFlops, double{kMostBlocks}));
  int64_t ofSmall = flops >= kLeastFlops ? 2 : 1;
  for (double more = kMoreFlops; ofSmall < kMostBlocks && flops >= more; more *= 4)
    ofSmall *= 2;
  const int64_t count = std::max({ofLarge, std::min(largest / kBlockBytes, kMostBlocks), ofSmall});
  const int64_t size = (extent + count * kBlockUnit - 1) / (count * kBlockUnit) * kBlockUnit;
  std::vector<Range> blocks;
  for (int64_t begin = 0; begin < extent; begin += size)
    blocks.push_back({begin, std::min(begin + size, extent)});
  if (blocks.empty())
    blocks.emplace_back();
  return blocks;
}

/// The work of one thread at a time: one block, of every sharesOfProducts-th
/// product.
struct Part {
  std::unique_ptr<PreparedGemm> gemm;
  int64_t a = 0, b = 0, c = 0; ///< where the block begins in the operands of a product, in bytes
  int64_t firstProduct = 0;
};

class Matmul : public Launchable {
public:
  Matmul(exec::MatmulAttr call, std::shared_ptr<WorkerPool> pool)
      : products(call.getProducts()), argumentBytes(call.getOperandBytes()), pool(std::move(pool)) {
    gemm.m = call.getM();
    gemm.n = call.getN();
    gemm.k = call.getK();
    gemm.transposeA = call.getTransposeA();
    gemm.transposeB = call.getTransposeB();
    gemm.lda = gemm.transposeA ? gemm.m : gemm.k;
    gemm.ldb = gemm.transposeB ? gemm.k : gemm.n;
    gemm.ldc = gemm.n;
  }

  absl::Status prepare(ElementType type) {
    elementBytes = bytesOf(type);
    sharesOfProducts = std::clamp<int64_t>(products, 1, kMostBlocks);
    for (int64_t share = 0; share < sharesOfProducts; ++share)
      for (const Range &block : blocksOf(gemm, elementBytes))
        SPLITCAST_RETURN_IF_ERROR(addPart(share, block, type));
    statuses.resize(parts.size());
    return absl::OkStatus();
  }

  absl::Status launch(absl::Span<const Buffer> buffers, Stream &stream) override {
    SPLITCAST_RETURN_IF_ERROR(checkBuffers(what, argumentBytes, buffers));
    pool->run(static_cast<int64_t>(parts.size()),
              [&](int64_t part) { statuses[part] = multiply(parts[part], buffers); });
    for (const absl::Status &status : statuses)
      SPLITCAST_RETURN_IF_ERROR(status);
    return absl::OkStatus();
  }

  int64_t scratchBytes() const override {
    int64_t most = 0;
    for (const Part &part : parts)
      most = std::max(most, part.gemm->scratchBytes());
    return most;
  }

private:
  absl::Status addPart(int64_t share, const Range &block, ElementType type) {
    Gemm one = gemm;
    Part part;
    part.firstProduct = share;
    if (isCutByColumns(gemm)) {
      one.n = block.end - block.begin;
      part.b = block.begin * (gemm.transposeB ? gemm.ldb : 1) * elementBytes;
      part.c = block.begin * elementBytes;
    } else {
      one.m = block.end - block.begin;
      part.a = block.begin * (gemm.transposeA ? 1 : gemm.lda) * elementBytes;
      part.c = block.begin * gemm.ldc * elementBytes;
    }
    SPLITCAST_ASSIGN_OR_RETURN(part.gemm, PreparedGemm::create(kName, one, type));
    parts.push_back(std::move(part));
    return absl::OkStatus();
  }

  absl::Status multiply(const Part &part, absl::Span<const Buffer> buffers) const {
    absl::Status status;
    for (int64_t i = part.firstProduct; i < products && status.ok(); i += sharesOfProducts)
      status = part.gemm->multiply(buffers[0].data + i * gemm.m * gemm.k * elementBytes + part.a,
                                   buffers[1].data + i * gemm.k * gemm.n * elementBytes + part.b,
                                   buffers[2].data + i * gemm.m * gemm.n * elementBytes + part.c);
    return status;
  }

  const std::string what = std::string("library call '") + kName + "'";
  const int64_t products;
  Gemm gemm; ///< the whole of one product
  const std::vector<int64_t> argumentBytes;
  const std::shared_ptr<WorkerPool> pool;
  int64_t elementBytes = 0, sharesOfProducts = 1;
  std::vector<Part> parts;
  std::vector<absl::Status> statuses; ///< of the current launch, by part
};

absl::StatusOr<std::unique_ptr<Launchable>> create(exec::LibraryCallAttrInterface any,
                                                   const LibraryCallOptions &options) {
  auto call = callAs<exec::MatmulAttr>(any);
  auto matmul = std::make_unique<Matmul>(call, options.pool);
  SPLITCAST_RETURN_IF_ERROR(matmul->prepare(*elementTypeOf(call.getType())));
  return matmul;
}

const LibraryCallRegistration registration(kName, create);

} // namespace
} // namespace splitcast::runtime
