//===- LinalgEvaluator.h - Evaluates an op of a graph by its lowering ---------===//
//
// An op is defined by its ComputeOpInterface::lowerToLinalg, which is run in the simplest way: each op is lowered
// alone, nothing is fused, and every loop runs in row-major order.
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

  /// Returns the results of an op with ComputeOpInterface, or of an nn.fusion, whose ops are evaluated one by one.
  ///   Shapes  Operands and results have the op's types; signatures are ignored.
  ///   Errors  InvalidArgument: an operand has another type, or the lowering does not verify. OutOfRange: an index is
  ///           outside of a tensor. Unimplemented: the lowering has something that the oracle does not know, or it is
  ///           another op. All messages name the op and its place.
  ///   Cost    An op is lowered once for each combination of name, attributes and types.
  absl::StatusOr<std::vector<TensorRef>> evaluate(mlir::Operation *op, llvm::ArrayRef<TensorRef> operands);

private:
  absl::StatusOr<std::vector<TensorRef>> evaluateFusion(mlir::Operation *fusion, llvm::ArrayRef<TensorRef> operands);
  absl::StatusOr<std::vector<TensorRef>> evaluateCompute(mlir::Operation *op, llvm::ArrayRef<TensorRef> operands);

  Precision precision;
  /// The lowered ops by name, attributes and types, which are unique per MLIR context.
  std::map<std::vector<const void *>, std::unique_ptr<LoweredOp>> lowered;
};

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_LINALGEVALUATOR_H
