//===- ReadAs.h - The type in which the graph reads a variable ---------------------===//
//
// A variable that is read in a narrower type than it has is cast before anything else: so what moves between ranks is
// the narrow copy of a piece. Passes that ask what reads a variable look through that cast.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_READAS_H
#define SPLITCAST_PASSES_GLOBAL_READAS_H

#include "dialects/nn/Nn.h"

namespace splitcast {

/// Whether the op makes smaller elements of what a variable holds.
inline bool isReadAs(mlir::Operation *op) {
  auto cast = mlir::dyn_cast_or_null<nn::CastOp>(op);
  return cast && cast.getInput().getDefiningOp<sbp::ReadOp>() &&
         sbp::elementBytes(cast.getType()) < sbp::elementBytes(cast.getInput().getType());
}

/// The read that a value is, or is the narrow copy of; null: another value.
inline sbp::ReadOp readBehind(mlir::Value value) {
  if (isReadAs(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value.getDefiningOp<sbp::ReadOp>();
}

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_READAS_H
