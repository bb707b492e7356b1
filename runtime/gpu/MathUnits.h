//===- MathUnits.h - Functions for which NVIDIA's chips have units -------------------------------------===//
//
// exp and tanh of f32 use the chip's power of two and reciprocal, which are exact to 2^-22, and f32 is rounded to bf16
// by the chip's conversion of two numbers at once. This takes a third of the instructions of polynomials and integer
// arithmetic. On one chip a value has the same bits in every kernel, so fusing kernels changes no bit.
//
//   Numerics  The relative error of exp is 3e-7; below x = -86.6, where it is 2.4e-38, exp is 0. The relative error of
//             tanh is 5e-7. Both of NaN are NaN. A NaN that is rounded to bf16 is 0x7fff, but 0x7fc0 on CPUs. Chips of
//             one kind give the same bits; for other chips PTX guarantees no more than this accuracy.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_GPU_MATHUNITS_H
#define SPLITCAST_RUNTIME_GPU_MATHUNITS_H

#include "mlir/Pass/Pass.h"

#include <memory>

namespace splitcast::runtime {

/// Returns a pass on modules that replaces these functions by the chip's instructions. `roundsToBFloat16` says whether
/// the chip and the PTX have the conversion (sm_80 and PTX 7.0).
std::unique_ptr<mlir::Pass> createUseMathUnitsPass(bool roundsToBFloat16);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_GPU_MATHUNITS_H
