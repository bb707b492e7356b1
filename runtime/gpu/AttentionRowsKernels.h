//===- AttentionRowsKernels.h - Kernels for attention's rows of scores ----------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_ATTENTIONROWSKERNELS_H
#define SPLITCAST_RUNTIME_GPU_ATTENTIONROWSKERNELS_H

#include "runtime/api/ElementType.h"

#include <cstdint>
#include <string>

namespace splitcast::runtime {

/// Makes two kernels over [rows, keys]. @softmax takes the scores, which it replaces by the probabilities, and with
/// `maskType` the mask of a sample, and with `hasStatistics` [rows], which get log(sum of exp(scaled score)) over the
/// keys that a row sees, or 0 if it sees none. @softmax_gradient takes the probabilities and their gradient, which it
/// replaces by the gradient of the scores. A row is read and written once: a warp keeps it in registers meanwhile, or
/// several warps if it has more than 1,024 keys (with more than some 24,000 keys, partly in memory). Keys that
/// causality hides are not read.
struct AttentionRowsKernels {
  int64_t rows = 0, positions = 0, keys = 0; ///< row r is position r % positions
  double scale = 1;
  bool isCausal = false, hasStatistics = false;
  ElementType type = ElementType::F32;
  std::string maskType; ///< "i32" or "i64"; if empty, there is no mask

  /// Returns the kernels as the text of an MLIR module.
  std::string module() const;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_ATTENTIONROWSKERNELS_H
