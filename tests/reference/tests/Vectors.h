//===- Vectors.h - Reads the cases of tests/vectors ----------------------------===//
//
// tests/vectors/gen_vectors.py describes what a case is.
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
  std::string text; ///< the text of the case in the file, for messages
  std::string op, attributes;
  std::vector<Tensor> operands, results;
  double tolerance = 0, absolute = 0;

  /// Returns the text of a function with the op, from the operands to the results.
  std::string function(const std::string &name) const;
  /// Returns a module with this function, named @f.
  mlir::OwningOpRef<mlir::ModuleOp> module(mlir::MLIRContext &context) const;
};

/// Returns all cases. If the file cannot be read, the running test fails, and there are no cases.
std::vector<VectorCase> readVectors(mlir::MLIRContext &context);

/// Fails the running test unless `found` is as near to result `index` as the case requires. All NaNs are equal;
/// otherwise tolerances of zero require the same bits.
void expectResult(const VectorCase &testCase, size_t index, const Tensor &found);

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_TESTS_VECTORS_H
