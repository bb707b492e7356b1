//===- MoveReshapes.h - Elementwise ops in the shape of those that they share a kernel with --------------===//
#ifndef SPLITCAST_PASSES_LOCAL_MOVERESHAPES_H
#define SPLITCAST_PASSES_LOCAL_MOVERESHAPES_H

#include "passes/local/DeviceTraits.h"

#include "mlir/IR/Block.h"

namespace splitcast {

/// A reshape of a reshape takes what that takes. And reshapes, which cost nothing, move out from between ops that one
/// kernel can compute:
///
///   a cast to a smaller float      up before the reshape of its operand, to what made that
///   another elementwise op         behind the reshape of its result, when ops of kernels alone use that, and nobody
///                                  else the result; one that only extends its operand, whoever does
///
///   before   %1 = nn.matmul ...  : 8x4, bf16             after   %1 = nn.matmul ...  : 8x4, bf16
///            %2 = nn.cast %1     : 8x4, f32                      %2 = nn.reshape %1  : 2x4x4, bf16
///            %3 = nn.reshape %2  : 2x4x4, f32                    %3 = nn.cast %2     : 2x4x4, f32
///            %4 = nn.layer_norm_grad %3, ...                     %4 = nn.layer_norm_grad %3, ...
///            %5 = nn.reshape %4  : 8x4, f32                      %5 = nn.cast %4     : 2x4x4, bf16
///            %6 = nn.cast %5     : 8x4, bf16                     %6 = nn.reshape %5  : 8x4, bf16
///
/// Values do not change: an op on which place its elements have, or which broadcasts along other than its first
/// dimensions, is left where it is.
void moveReshapes(mlir::Block &block, const DeviceTraits &traits);

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_MOVERESHAPES_H
