//===- MoveReshapes.h - Moves reshapes out from between ops of one kernel --------------===//
#ifndef SPLITCAST_PASSES_LOCAL_MOVERESHAPES_H
#define SPLITCAST_PASSES_LOCAL_MOVERESHAPES_H

#include "passes/local/DeviceTraits.h"

#include "mlir/IR/Block.h"

namespace splitcast {

/// A reshape of a reshape takes the operand of the first one. Reshapes, which cost nothing, also move out from between
/// ops that one kernel can compute:
///
///   a cast to a smaller float      moves up before the reshape of its operand, to the op that made that operand
///   another elementwise op         moves behind the reshape of its result, if only ops of kernels use the reshape, and
///                                  no other op uses the result (other ops may, if it only extends its operand)
///
///   before   %1 = nn.matmul ...  : 8x4, bf16             after   %1 = nn.matmul ...  : 8x4, bf16
///            %2 = nn.cast %1     : 8x4, f32                      %2 = nn.reshape %1  : 2x4x4, bf16
///            %3 = nn.reshape %2  : 2x4x4, f32                    %3 = nn.cast %2     : 2x4x4, f32
///            %4 = nn.layer_norm_grad %3, ...                     %4 = nn.layer_norm_grad %3, ...
///            %5 = nn.reshape %4  : 8x4, f32                      %5 = nn.cast %4     : 2x4x4, bf16
///            %6 = nn.cast %5     : 8x4, bf16                     %6 = nn.reshape %5  : 8x4, bf16
///
/// Values do not change: an op that depends on the place of its elements, or that broadcasts along dimensions other
/// than its first ones, does not move.
void moveReshapes(mlir::Block &block, const DeviceTraits &traits);

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_MOVERESHAPES_H
