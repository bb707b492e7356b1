#ifndef SPLITCAST_RUNTIME_CODEGEN_TANH_H
#define SPLITCAST_RUNTIME_CODEGEN_TANH_H

#include "mlir/IR/Builders.h"

namespace splitcast::runtime {

/// Returns tanh(x) of an f32, or of a vector of f32. It has x's sign, that of a
/// zero too. With m = |x|:
///
/// - From 0.6 on it is 1 - 2 / (e^2m + 1), which `far` builds of m from what its
///   target has for the power and the quotient. (Upstream's quotient of
///   polynomials is 1 from 7.9 on, where 1 - tanh(x) is 2.8e-7: its logarithm
///   would be infinite.)
/// - Below, where that cancels, it is m + m^3 p(m^2): p interpolates
///   (tanh(m)/m - 1)/m^2 at five Chebyshev nodes for m^2 in [0, 0.36], with a
///   relative error of 1.1e-8.
mlir::Value buildTanh(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                      llvm::function_ref<mlir::Value(mlir::Value m)> far);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_CODEGEN_TANH_H
