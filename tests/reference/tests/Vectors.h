//===- Vectors.h - The cases of tests/vectors ----------------------------------===//
//
// gen_vectors.py there says what a case is.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_TESTS_VECTORS_H
#define SPLITCAST_TESTS_REFERENCE_TESTS_VECTORS_H

#include "tests/reference/Tensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace splitcast::reference {

struct VectorCase {
  std::string text; ///< of the file, for messages
  std::string op, attributes;
  std::vector<Tensor> operands, results;
  double tolerance = 0, absolute = 0;

  /// The op in a function from the operands to the results.
  std::string function(const std::string &name) const;
  /// The function @f in a module.
  mlir::OwningOpRef<mlir::ModuleOp> module(mlir::MLIRContext &context) const;
};

/// All cases; none, with a failure of the test that runs, when the file cannot be read.
std::vector<VectorCase> readVectors(mlir::MLIRContext &context);

/// Fails the test that runs unless `found` is as near to result `index` as the case says. A NaN is as good as another;
/// apart from that, zero bounds ask for the same bits.
void expectResult(const VectorCase &testCase, size_t index, const Tensor &found);

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_TESTS_VECTORS_H
