//===- LinalgEvaluator.h - One op of a graph, by its meaning as linalg --------===//
//
// What an op computes is what its ComputeOpInterface::lowerToLinalg says, run plainly: each op is lowered alone,
// nothing is fused, every loop runs in row-major order.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_LINALGEVALUATOR_H
#define SPLITCAST_TESTS_REFERENCE_LINALGEVALUATOR_H

#include "tests/reference/Tensor.h"

#include <map>

namespace splitcast::reference {

struct LoweredOp;

class LinalgEvaluator {
public:
  explicit LinalgEvaluator(Precision precision);
  ~LinalgEvaluator();
  LinalgEvaluator(LinalgEvaluator &&) noexcept;
  LinalgEvaluator &operator=(LinalgEvaluator &&) noexcept;

  /// The results of an op with ComputeOpInterface, or of an nn.fusion: its region's ops one by one.
  ///   Shapes  operands as the op's types say, the signature ignored; likewise the results.
  ///   Errors  InvalidArgument: operands of other types, or a lowering that does not verify. OutOfRange: an index
  ///   outside
  ///           of a tensor. Unimplemented: something in the lowering that the oracle does not know, or another op.
  ///           All name the op and its place.
  ///   Cost    an op is lowered once per name, attributes and types.
  absl::StatusOr<std::vector<TensorRef>> evaluate(mlir::Operation *op, llvm::ArrayRef<TensorRef> operands);

private:
  absl::StatusOr<std::vector<TensorRef>> evaluateFusion(mlir::Operation *fusion, llvm::ArrayRef<TensorRef> operands);
  absl::StatusOr<std::vector<TensorRef>> evaluateCompute(mlir::Operation *op, llvm::ArrayRef<TensorRef> operands);

  Precision precision;
  /// By name, attributes and types, which MLIR keeps unique per context.
  std::map<std::vector<const void *>, std::unique_ptr<LoweredOp>> lowered;
};

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_LINALGEVALUATOR_H
