#include "runtime/host/calls/SmallGemm.h"

#include "runtime/host/calls/SmallFloats.h"

#include "absl/strings/str_cat.h"

#include <dnnl.h>

#include <algorithm>
#include <vector>

// libgomp's, which oneDNN uses; clang brings no <omp.h>.
extern "C" void omp_set_num_threads(int threads);

namespace splitcast::runtime {
namespace {

//===----------------------------------------------------------------------===//
// In tiles of f32
//===----------------------------------------------------------------------===//

/// Whole sums are made in tiles of C, from tiles of A and B that fit into a core's cache beside it. What they take,
/// 3.5 MiB per thread that calls, is the library's own, as oneDNN's copies are.
class TiledGemm : public SmallGemm {
public:
  TiledGemm(const char *what, const Gemm &gemm, ElementType type, int threads)
      : what(what), gemm(gemm), floats(SmallFloats::of(type)), threads(threads) {}

  absl::Status multiply(const uint16_t *a, const uint16_t *b, uint16_t *c) override {
    static thread_local std::vector<float> scratch(kRows * kDepth + kDepth * kColumns + kRows * kColumns);
    Tile tile;
    tile.a = scratch.data();
    tile.b = tile.a + kRows * kDepth;
    tile.c = tile.b + kDepth * kColumns;
    absl::Status status;
    for (tile.row = 0; tile.row < gemm.m; tile.row += kRows)
      for (tile.column = 0; tile.column < gemm.n && status.ok(); tile.column += kColumns)
        status = multiplyTile(a, b, c, tile);
    return status;
  }

private:
  static constexpr int64_t kRows = 256, kColumns = 512, kDepth = 1024;

  struct Tile {
    int64_t row = 0, column = 0;
    float *a = nullptr, *b = nullptr, *c = nullptr;
  };

  absl::Status multiplyTile(const uint16_t *a, const uint16_t *b, uint16_t *c, const Tile &tile) const {
    Gemm part = gemm;
    part.m = std::min(kRows, gemm.m - tile.row);
    part.n = std::min(kColumns, gemm.n - tile.column);
    part.ldc = part.n;
    std::fill(tile.c, tile.c + part.m * part.n, 0.0F); // of no addends
    absl::Status status;
    for (int64_t depth = 0; depth < gemm.k && status.ok(); depth += kDepth) {
      part.k = std::min(kDepth, gemm.k - depth);
      part.beta = depth > 0 ? 1.0 : 0.0;
      part.lda = gemm.transposeA ? widen(a, gemm.lda, depth, part.k, tile.row, part.m, tile.a)
                                 : widen(a, gemm.lda, tile.row, part.m, depth, part.k, tile.a);
      part.ldb = gemm.transposeB ? widen(b, gemm.ldb, tile.column, part.n, depth, part.k, tile.b)
                                 : widen(b, gemm.ldb, depth, part.k, tile.column, part.n, tile.b);
      status = part.multiply(what, tile.a, tile.b, tile.c, threads);
    }
    for (int64_t row = 0; row < part.m; ++row)
      floats.round(tile.c + row * part.n, c + (tile.row + row) * gemm.ldc + tile.column, part.n);
    return status;
  }

  /// A part of a matrix, as it is stored; returns the elements from one of its rows to the next.
  int64_t widen(const uint16_t *matrix, int64_t stride, int64_t row, int64_t rows, int64_t column, int64_t columns,
                float *to) const {
    for (int64_t i = 0; i < rows; ++i)
      floats.widen(matrix + (row + i) * stride + column, to + i * columns, columns);
    return columns;
  }

  const char *what;
  const Gemm gemm;
  const SmallFloats floats;
  const int threads;
};

//===----------------------------------------------------------------------===//
// oneDNN's
//===----------------------------------------------------------------------===//

struct Destroy {
  void operator()(dnnl_primitive *primitive) const { dnnl_primitive_destroy(primitive); }
  void operator()(dnnl_primitive_desc *description) const { dnnl_primitive_desc_destroy(description); }
  void operator()(dnnl_memory *memory) const { dnnl_memory_destroy(memory); }
};
template <typename T> using Owned = std::unique_ptr<T, Destroy>;

/// The CPU, and a stream on it; made once. Null: oneDNN could not.
dnnl_engine_t engine() {
  static const dnnl_engine_t made = [] {
    dnnl_engine_t created = nullptr;
    return dnnl_engine_create(&created, dnnl_cpu, 0) == dnnl_success ? created : nullptr;
  }();
  return made;
}

dnnl_stream_t stream() {
  static const dnnl_stream_t made = [] {
    dnnl_stream_t created = nullptr;
    return dnnl_stream_create(&created, engine(), dnnl_stream_default_flags) == dnnl_success ? created : nullptr;
  }();
  return made;
}

absl::Status statusOf(const char *what, const char *step, dnnl_status_t status) {
  if (status == dnnl_success)
    return absl::OkStatus();
  const std::string text = absl::StrCat("library call '", what, "': oneDNN's ", step);
  if (status == dnnl_out_of_memory)
    return absl::ResourceExhaustedError(absl::StrCat(text, " found no memory for its copies of the operands"));
  if (status == dnnl_unimplemented) // for this CPU, or for what ONEDNN_MAX_CPU_ISA leaves of it
    return absl::UnimplementedError(absl::StrCat(text, " is not there"));
  return absl::InternalError(absl::StrCat(text, " failed with status ", status));
}

class OneDnnGemm : public SmallGemm {
public:
  OneDnnGemm(const char *what, int threads) : what(what), threads(threads) {}

  absl::Status build(const Gemm &gemm) {
    omp_set_num_threads(threads); // the algorithm is chosen for as many
    dnnl_memory_desc_t a, b, c;
    dnnl_status_t status = describe(a, gemm.m, gemm.k, gemm.lda, gemm.transposeA);
    if (status == dnnl_success)
      status = describe(b, gemm.k, gemm.n, gemm.ldb, gemm.transposeB);
    if (status == dnnl_success)
      status = describe(c, gemm.m, gemm.n, gemm.ldc, false);
    dnnl_matmul_desc_t product;
    if (status == dnnl_success)
      status = dnnl_matmul_desc_init(&product, &a, &b, nullptr, &c);
    dnnl_primitive_desc_t description = nullptr;
    if (status == dnnl_success)
      status = dnnl_primitive_desc_create(&description, &product, nullptr, engine(), nullptr);
    const Owned<dnnl_primitive_desc> owned(description);
    dnnl_primitive_t made = nullptr;
    if (status == dnnl_success)
      status = dnnl_primitive_create(&made, description);
    primitive.reset(made);
    for (auto [memory, of] : {std::pair(&left, &a), {&right, &b}, {&result, &c}}) {
      dnnl_memory_t created = nullptr;
      if (status == dnnl_success)
        status = dnnl_memory_create(&created, of, engine(), DNNL_MEMORY_NONE);
      memory->reset(created);
    }
    return statusOf(what, "product of bf16", status);
  }

  absl::Status multiply(const uint16_t *a, const uint16_t *b, uint16_t *c) override {
    omp_set_num_threads(threads);
    dnnl_status_t status = dnnl_success;
    // oneDNN takes what it only reads as writable, too.
    for (auto [memory, data] :
         {std::pair(&left, const_cast<uint16_t *>(a)), {&right, const_cast<uint16_t *>(b)}, {&result, c}})
      if (status == dnnl_success)
        status = dnnl_memory_set_data_handle_v2(memory->get(), data, stream());
    const dnnl_exec_arg_t arguments[] = {
        {DNNL_ARG_SRC, left.get()}, {DNNL_ARG_WEIGHTS, right.get()}, {DNNL_ARG_DST, result.get()}};
    if (status == dnnl_success)
      status = dnnl_primitive_execute(primitive.get(), stream(), 3, arguments);
    if (status == dnnl_success)
      status = dnnl_stream_wait(stream());
    return statusOf(what, "product of bf16", status);
  }

private:
  static dnnl_status_t describe(dnnl_memory_desc_t &matrix, int64_t rows, int64_t columns, int64_t stride,
                                bool isTransposed) {
    const dnnl_dims_t extents = {rows, columns};
    const dnnl_dims_t strides = {isTransposed ? 1 : stride, isTransposed ? stride : 1};
    return dnnl_memory_desc_init_by_strides(&matrix, 2, extents, dnnl_bf16, strides);
  }

  const char *what;
  const int threads;
  Owned<dnnl_primitive> primitive;
  Owned<dnnl_memory> left, right, result;
};

bool multipliesBFloat16() { return __builtin_cpu_supports("avx512bf16"); }

} // namespace

absl::StatusOr<std::unique_ptr<SmallGemm>> SmallGemm::create(const char *what, const Gemm &gemm, ElementType type,
                                                             int threads) {
  const bool isEmpty = gemm.m == 0 || gemm.n == 0 || gemm.k == 0;
  if (type != ElementType::BF16 || isEmpty || !multipliesBFloat16() || !engine() || !stream())
    return std::make_unique<TiledGemm>(what, gemm, type, threads);
  auto product = std::make_unique<OneDnnGemm>(what, threads);
  absl::Status status = product->build(gemm);
  if (absl::IsUnimplemented(status))
    return std::make_unique<TiledGemm>(what, gemm, type, threads);
  if (!status.ok())
    return status;
  return product;
}

} // namespace splitcast::runtime
