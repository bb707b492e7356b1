//===- TileAttentionKernels.h - Attention without scores in memory --------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_TILEATTENTIONKERNELS_H
#define SPLITCAST_RUNTIME_GPU_TILEATTENTIONKERNELS_H

#include "dialects/exec/AttentionWorkspace.h"
#include "runtime/api/ElementType.h"

#include <string>

namespace splitcast::runtime {

/// The positions, or keys, of a block.
inline constexpr int64_t kTileAttentionRows = 64;

/// Makes kernels that compute scores tile by tile (Dao et al. 2022, arXiv:2205.14135), by the products of tensor cores
/// (TileKernel.h). For calls that exec::isTileAttention; arguments are the operands of #exec.attention, and for the
/// gradient the workspace.
///
///   @attention        A block has 64 positions; it walks over the keys, and scales what it has summed whenever a row's
///                     maximum grows.
///   @attention_grad   First, a block of 64 positions walks over the keys twice: to find each row's maximum and sum,
///   and
///                     the sum of its probabilities times their gradients, which it leaves in the workspace; then to
///                     add up the query's gradient. With the statistics of forward it walks once. Then a block of 64
///                     keys walks over the positions.
///
/// Each addition has a fixed place in a fixed order. Tiles that causality hides are skipped.
struct TileAttentionKernels {
  exec::AttentionExtents extents;
  ElementType type = ElementType::F32; ///< f32, bf16 or f16; all arithmetic is in f32
  double scale = 1;
  bool isCausal = false;
  bool rounds = false;  ///< TileKernel
  std::string maskType; ///< "i32" or "i64"; if empty, there is no mask

  /// Returns the kernel that the call needs as the text of an MLIR module.
  std::string module() const;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_TILEATTENTIONKERNELS_H
