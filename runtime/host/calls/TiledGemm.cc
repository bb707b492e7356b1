#include "runtime/host/calls/TiledGemm.h"

#include "runtime/host/calls/Scratch.h"
#include "runtime/host/calls/SmallFloats.h"

#include <algorithm>

namespace splitcast::runtime {
namespace {

/// Each tile of C gets its whole sums from tiles of A and B, in f32. The three
/// tiles fit into a core's cache: they have at most 3.5 MiB.
class TiledGemm final : public PreparedGemm {
public:
  TiledGemm(const char *what, const Gemm &gemm, ElementType type)
      : what(what), gemm(gemm), floats(SmallFloats::of(type)) {}

  absl::Status multiply(const void *anyA, const void *anyB, void *anyC) override {
    const auto *a = static_cast<const uint16_t *>(anyA), *b = static_cast<const uint16_t *>(anyB);
    auto *c = static_cast<uint16_t *>(anyC);
    Tile tile;
    tile.a = reinterpret_cast<float *>(scratchOfThread(scratchBytes()));
    tile.b = tile.a + rows() * depth();
    tile.c = tile.b + depth() * columns();
    absl::Status status;
    for (tile.row = 0; tile.row < gemm.m; tile.row += kRows)
      for (tile.column = 0; tile.column < gemm.n && status.ok(); tile.column += kColumns)
        status = multiplyTile(a, b, c, tile);
    return status;
  }

  int64_t scratchBytes() const override {
    return (rows() * depth() + depth() * columns() + rows() * columns()) * int64_t{sizeof(float)};
  }

private:
  static constexpr int64_t kRows = 256, kColumns = 512, kDepth = 1024;

  // The extents of the largest tile.
  int64_t rows() const { return std::min(kRows, gemm.m); }
  int64_t columns() const { return std::min(kColumns, gemm.n); }
  int64_t depth() const { return std::min(kDepth, gemm.k); }

  struct Tile {
    int64_t row = 0, column = 0;
    float *a = nullptr, *b = nullptr, *c = nullptr;
  };

  absl::Status multiplyTile(const uint16_t *a, const uint16_t *b, uint16_t *c, const Tile &tile) const {
    Gemm part = gemm;
    part.m = std::min(kRows, gemm.m - tile.row);
    part.n = std::min(kColumns, gemm.n - tile.column);
    part.ldc = part.n;
    std::fill(tile.c, tile.c + part.m * part.n, 0.0F); // the sum if k is 0
    absl::Status status;
    for (int64_t depth = 0; depth < gemm.k && status.ok(); depth += kDepth) {
      part.k = std::min(kDepth, gemm.k - depth);
      part.beta = depth > 0 ? 1.0 : 0.0;
      part.lda = gemm.transposeA ? widen(a, gemm.lda, depth, part.k, tile.row, part.m, tile.a)
                                 : widen(a, gemm.lda, tile.row, part.m, depth, part.k, tile.a);
      part.ldb = gemm.transposeB ? widen(b, gemm.ldb, tile.column, part.n, depth, part.k, tile.b)
                                 : widen(b, gemm.ldb, depth, part.k, tile.column, part.n, tile.b);
      status = part.multiply(what, tile.a, tile.b, tile.c);
    }
    for (int64_t row = 0; row < part.m; ++row)
      floats.round(tile.c + row * part.n, c + (tile.row + row) * gemm.ldc + tile.column, part.n);
    return status;
  }

  /// Widens a part of a stored matrix to `to`, without gaps. Returns the
  /// elements from one of its rows to the next.
  int64_t widen(const uint16_t *matrix, int64_t stride, int64_t row, int64_t rows, int64_t column, int64_t columns,
                float *to) const {
    for (int64_t i = 0; i < rows; ++i)
      floats.widen(matrix + (row + i) * stride + column, to + i * columns, columns);
    return columns;
  }

  const char *what;
  const Gemm gemm;
  const SmallFloats floats;
};

} // namespace

std::unique_ptr<PreparedGemm> createTiledGemm(const char *what, const Gemm &gemm, ElementType type) {
  return std::make_unique<TiledGemm>(what, gemm, type);
}

} // namespace splitcast::runtime
