//===- NumericOps.h - Ops with their factors and their numbers -------------===//
//
// Each op states its LoopSpec, as ops of the graph do, and evaluates itself on tensors of any shapes that fit together.
// Evaluated on the ranks' pieces and put together again, it says which signatures are right.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_NUMERICOPS_H
#define SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_NUMERICOPS_H

#include "dialects/sbp/algebra/Factors.h"

#include <functional>
#include <optional>

namespace splitcast::sbp {

struct Tensor {
  Shape shape;
  std::vector<double> values;

  explicit Tensor(Shape shape) : shape(std::move(shape)), values(numElements(this->shape)) {}
};

struct NumericOp {
  using Tensors = std::vector<Tensor>;

  std::string name;
  LoopSpec spec;
  /// Results of the given shapes, zero on entry; false when the shapes do not fit together.
  std::function<bool(const Tensors &operands, Tensors &results)> evaluate;
  /// Operand that holds indices into the rows of the next one, or -1.
  int indexOperand = -1;

  Shape operandShape(size_t operand) const { return shapeOf(spec.operands[operand]); }
  Shape resultShape(size_t result) const { return shapeOf(spec.results[result]); }

private:
  Shape shapeOf(const TensorFactors &tensor) const;
};

/// Every op, its factors' extents taken from `extents` in order.
std::vector<NumericOp> numericOps(const std::vector<int64_t> &extents);

/// x[a * b, c] -> y[a, b * c], the same elements in the same order.
NumericOp regroupOp(int64_t a, int64_t b, int64_t c);
/// x[a * b] -> y[a, b], and the other way.
NumericOp splitDimOp(int64_t a, int64_t b);
NumericOp mergeDimsOp(int64_t a, int64_t b);

} // namespace splitcast::sbp

#endif // SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_NUMERICOPS_H
