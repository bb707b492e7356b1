//===- AttentionRowsKernels.h - What attention does with rows of scores ---------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_ATTENTIONROWSKERNELS_H
#define SPLITCAST_RUNTIME_GPU_ATTENTIONROWSKERNELS_H

#include "runtime/api/ElementType.h"

#include <cstdint>
#include <string>

namespace splitcast::runtime {

/// The kernels @softmax (scores, in place[, mask of a sample]) and @softmax_gradient (probabilities, and their
/// gradient, which becomes that of the scores) over [rows, keys]. A row is read and written once: a warp, or of more
/// than 1,024 keys as many as it takes, keeps it in registers meanwhile (of more than some 24,000 keys, partly in
/// memory). Of keys that causality hides nothing is read.
struct AttentionRowsKernels {
  int64_t rows = 0, positions = 0, keys = 0; ///< row r is position r % positions
  double scale = 1;
  bool isCausal = false;
  ElementType type = ElementType::F32;
  std::string maskType; ///< "i32" or "i64"; empty: no mask

  std::string module() const;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_ATTENTIONROWSKERNELS_H
