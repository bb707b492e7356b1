//===- MathUnits.h - Functions that NVIDIA's chips have units for --------------------------------------===//
//
// exp and tanh of f32 by the chip's power of two and reciprocal, which are good to 2^-22, and roundings of f32 to bf16
// by its conversion of two at once: a third of the instructions of polynomials and integer arithmetic. A value has the
// same bits in whatever kernel of a chip, so that what a kernel is fused with changes none.
//
//   Numerics  exp: relatively 3e-7; 0 below 2.4e-38 (-86.6). tanh: relatively 5e-7. Of NaN both are NaN; a bf16 that is
//             NaN is 0x7fff, on CPUs 0x7fc0. Chips of one kind give the same bits; of others PTX says no more than
//             this.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_MATHUNITS_H
#define SPLITCAST_RUNTIME_GPU_MATHUNITS_H

#include "mlir/Pass/Pass.h"

#include <memory>

namespace splitcast::runtime {

/// A pass on modules. `roundsToBFloat16`: whether the chip and the PTX have the conversion (sm_80 and PTX 7.0).
std::unique_ptr<mlir::Pass> createUseMathUnitsPass(bool roundsToBFloat16);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_MATHUNITS_H
