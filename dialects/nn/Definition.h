//===- Definition.h - What an op computes, at any precision ---------------------------------===//
//
// The one way from an op to its linalg definition (ComputeOpInterface::lowerToLinalg). An op with an operand of bf16 or
// f16 computes in f32, all of it, sums included, and each of its results is rounded once. So the definitions need not
// know of small floats, and what an op gives does not depend on what it is fused with.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_NN_DEFINITION_H
#define SPLITCAST_DIALECTS_NN_DEFINITION_H

#include "dialects/nn/Nn.h"

namespace splitcast::nn {

/// The results of `op` as linalg on `operands`, which have its operand types without signature.
llvm::SmallVector<mlir::Value> define(ComputeOpInterface op, mlir::OpBuilder &builder, mlir::ValueRange operands);

} // namespace splitcast::nn

#endif // SPLITCAST_DIALECTS_NN_DEFINITION_H
