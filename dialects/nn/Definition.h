//===- Definition.h - The definition of an op, at any precision ---------------------------------===//
//
// `define` is the only way from an op to its linalg definition (ComputeOpInterface::lowerToLinalg). An op with an
// operand of bf16 or f16 computes everything in f32, sums included, and each of its results is rounded once. So the
// definitions need not handle 16-bit floats, and the result of an op does not depend on the ops that it is fused with.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_NN_DEFINITION_H
#define SPLITCAST_DIALECTS_NN_DEFINITION_H

#include "dialects/nn/Nn.h"

namespace splitcast::nn {

/// Builds the results of `op` as linalg on `operands`, which have its operand types without signature.
llvm::SmallVector<mlir::Value> define(ComputeOpInterface op, mlir::OpBuilder &builder, mlir::ValueRange operands);

} // namespace splitcast::nn

#endif // SPLITCAST_DIALECTS_NN_DEFINITION_H
