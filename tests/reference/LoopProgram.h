//===- LoopProgram.h - A linalg.generic, compiled once and run plainly --------===//
//
// The loops run in row-major order, one element at a time. Nothing is looked up per element: operands are walked with
// strides that come from the indexing maps, and the body is a register program (ScalarCode.h).
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_LOOPPROGRAM_H
#define SPLITCAST_TESTS_REFERENCE_LOOPPROGRAM_H

#include "tests/reference/ScalarCode.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace splitcast::reference {

/// A tensor.extract in the body.
struct Extraction {
  int tensor = 0;           ///< slot
  std::vector<int> indices; ///< registers
  sbp::Shape shape;
};

/// An operand of the loops: the element at base + sum over loops of strides[loop] * index.
struct Access {
  int tensor = 0;    ///< slot of an input; of an output, its number
  int argument = -1; ///< register that it is loaded to; -1: the body does not read it
  int yielded = -1;  ///< register that is stored after the body; -1: an input
  bool isFloat = true;
  int64_t base = 0;
  std::vector<int64_t> strides;
};

class LoopProgram {
public:
  /// `slotOf` numbers the tensors that inputs and tensor.extract read. Requires static shapes and an op that verifies,
  /// so that its maps stay within its operands.
  ///   Errors  Unimplemented: a scalar operation or an indexing map (not linear) that the oracle does not know.
  static absl::StatusOr<LoopProgram> compile(mlir::linalg::GenericOp op, Precision precision,
                                             llvm::function_ref<int(mlir::Value)> slotOf);

  /// Runs the loops; `outputs` hold what they start from.
  ///   Errors  OutOfRange: tensor.extract outside of its tensor. InvalidArgument: an integer operation without a value.
  absl::Status run(llvm::ArrayRef<TensorRef> slots, llvm::MutableArrayRef<Tensor> outputs) const;

private:
  friend class LoopCompiler;
  friend class LoopRun;
  std::vector<int64_t> extents;
  std::vector<Access> accesses;
  std::vector<Instruction> instructions;
  std::vector<Extraction> extractions;
  std::vector<Register> registers; ///< at the start; constants are there already
};

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_LOOPPROGRAM_H
