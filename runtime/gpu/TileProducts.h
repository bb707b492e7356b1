//===- TileProducts.h - Products of tensor cores without them ---------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_TILEPRODUCTS_H
#define SPLITCAST_RUNTIME_GPU_TILEPRODUCTS_H

#include "mlir/IR/Operation.h"

namespace splitcast::runtime {

/// Replaces each nvvm.mma.sync of tf32 (TileKernel.h) within `root` by shuffles and f32 arithmetic, for chips without
/// such products. Blocks are 32 threads wide. Additions are in the order of the sum's index; results are slow.
void expandTileProducts(mlir::Operation *root);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_TILEPRODUCTS_H
