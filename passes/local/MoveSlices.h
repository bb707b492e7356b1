//===- MoveSlices.h - Moves slices before elementwise ops -----------------------------===//
#ifndef SPLITCAST_PASSES_LOCAL_MOVESLICES_H
#define SPLITCAST_PASSES_LOCAL_MOVESLICES_H

#include "passes/local/DeviceTraits.h"

#include "mlir/IR/Block.h"

namespace splitcast {

/// If only slices use the result of an elementwise op, and no two of them the same elements, then each of them becomes
/// such an op on slices of the operands. So the op is computed in the kernels of those who read the slices (the gates
/// of a recurrent cell, the parts of one projection), and its result does not go through memory.
///
///   before   %2 = nn.add %0, %1    : 4x64                 after   %2 = nn.slice %0 from 0 : 4x32
///            %3 = nn.slice %2 from 0 : 4x32                       %3 = nn.slice %1 from 0 : 32
///            %4 = nn.slice %2 from 32 : 4x32                      %4 = nn.add %2, %3     : 4x32
///                                                                 %5, %6, %7: the same from 32 on
///
/// Values do not change, and no element is computed twice. An op that depends on the place of its elements does not
/// move, nor do slices that a kernel does not read along rows of vectors (slicesAlongRows).
void moveSlices(mlir::Block &block, const DeviceTraits &traits);

} // namespace splitcast

#endif // SPLITCAST_PASSES_LOCAL_MOVESLICES_H
