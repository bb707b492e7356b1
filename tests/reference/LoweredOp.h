//===- LoweredOp.h - An op that is lowered to linalg and compiled --------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_LOWEREDOP_H
#define SPLITCAST_TESTS_REFERENCE_LOWEREDOP_H

#include "tests/reference/Tensor.h"

#include <functional>

namespace splitcast::reference {

/// The tensors by slot: first the operands, then the results of the steps.
using Slots = std::vector<TensorRef>;

/// Runs one op of the lowering, and appends its results to the slots.
using Step = std::function<absl::Status(Slots &)>;

struct LoweredOp {
  std::vector<Step> steps;
  std::vector<int> results; ///< the slots of the results
};

/// Lowers an op with ComputeOpInterface in a temporary function, and compiles the result, which may have tensor.empty,
/// linalg.fill, linalg.generic, tensor.reshape and arith.constant. Errors are those of LinalgEvaluator::evaluate.
absl::StatusOr<std::unique_ptr<LoweredOp>> lowerAlone(mlir::Operation *op, Precision precision);

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_LOWEREDOP_H
