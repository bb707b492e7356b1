//===- ReadAs.h - The type in which the graph reads a variable ---------------------===//
//
// A variable that is read in a narrower type than its own is cast before anything else: so the narrow copy of a piece
// moves between ranks. Passes that look for the reads of a variable look through that cast.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_PASSES_GLOBAL_READAS_H
#define SPLITCAST_PASSES_GLOBAL_READAS_H

#include "dialects/nn/Nn.h"

namespace splitcast {

/// Whether the op casts the value of a variable to a narrower type.
inline bool isReadAs(mlir::Operation *op) {
  auto cast = mlir::dyn_cast_or_null<nn::CastOp>(op);
  return cast && cast.getInput().getDefiningOp<sbp::ReadOp>() &&
         sbp::elementBytes(cast.getType()) < sbp::elementBytes(cast.getInput().getType());
}

/// Returns the read whose result the value is, or is a narrow copy of; null for any other value.
inline sbp::ReadOp readBehind(mlir::Value value) {
  if (isReadAs(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value.getDefiningOp<sbp::ReadOp>();
}

} // namespace splitcast

#endif // SPLITCAST_PASSES_GLOBAL_READAS_H
