//===- LoweredOp.h - The linalg of one op, ready to run ------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_LOWEREDOP_H
#define SPLITCAST_TESTS_REFERENCE_LOWEREDOP_H

#include "tests/reference/Tensor.h"

#include <functional>

namespace splitcast::reference {

/// Tensors by slot: the operands first, then what the steps make.
using Slots = std::vector<TensorRef>;

/// Runs one tensor-level op of the lowering: appends its results to the slots.
using Step = std::function<absl::Status(Slots &)>;

struct LoweredOp {
  std::vector<Step> steps;
  std::vector<int> results; ///< slots
};

/// Lowers a single op, with ComputeOpInterface, in a scratch function, and compiles what came out: tensor.empty,
/// linalg.fill, linalg.generic, tensor.reshape, arith.constant.
///   Errors  see LinalgEvaluator::evaluate.
absl::StatusOr<std::unique_ptr<LoweredOp>> lowerAlone(mlir::Operation *op, Precision precision);

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_LOWEREDOP_H
