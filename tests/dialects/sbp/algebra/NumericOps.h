//===- NumericOps.h - Ops that have factors and can be evaluated -----------===//
//
// Each op has a LoopSpec, like the ops of graphs, and can be evaluated on tensors of any shapes that fit together.
// Tests evaluate it on the ranks' pieces and reassemble the results, to find out which signatures are right.
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
  /// Computes the results, which have the shapes to compute and are zeros on entry. Returns false if the shapes do not
  /// fit together.
  std::function<bool(const Tensors &operands, Tensors &results)> evaluate;
  /// The index of the operand that holds indices of rows of the next operand, or -1.
  int indexOperand = -1;

  Shape operandShape(size_t operand) const { return shapeOf(spec.operands[operand]); }
  Shape resultShape(size_t result) const { return shapeOf(spec.results[result]); }

private:
  Shape shapeOf(const TensorFactors &tensor) const;
};

/// Returns all ops. The extents of their factors are taken from `extents` in order.
std::vector<NumericOp> numericOps(const std::vector<int64_t> &extents);

/// x[a * b, c] -> y[a, b * c], with the same elements in the same order.
NumericOp regroupOp(int64_t a, int64_t b, int64_t c);
/// x[a * b] -> y[a, b], and the reverse.
NumericOp splitDimOp(int64_t a, int64_t b);
NumericOp mergeDimsOp(int64_t a, int64_t b);

} // namespace splitcast::sbp

#endif // SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_NUMERICOPS_H
