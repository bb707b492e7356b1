//===- LoopProgram.h - Compiles and runs a linalg.generic ---------------------===//
//
// The loops run in row-major order, one element at a time. For speed, operands are accessed with strides that are
// computed from the indexing maps, and the body is compiled to a register program (ScalarCode.h).
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_LOOPPROGRAM_H
#define SPLITCAST_TESTS_REFERENCE_LOOPPROGRAM_H

#include "tests/reference/ScalarCode.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace splitcast::reference {

/// A tensor.extract in the body.
struct Extraction {
  int tensor = 0;           ///< the slot of the tensor
  std::vector<int> indices; ///< the registers of the indices
  sbp::Shape shape;
};

/// An operand of the loops. Its element is at base + the sum of strides[loop] * index over all loops.
struct Access {
  int tensor = 0;    ///< the slot of an input, or the number of an output
  int argument = -1; ///< the register to which it is loaded; -1 if the body does not read it
  int yielded = -1;  ///< the register that is stored after the body; -1 for an input
  bool isFloat = true;
  int64_t base = 0;
  std::vector<int64_t> strides;
};

class LoopProgram {
public:
  /// Compiles an op, which must verify, so that its maps stay within its operands, and have static shapes. `slotOf`
  /// returns the slots of the tensors that inputs and tensor.extract read.
  ///   Errors  Unimplemented: the oracle does not know a scalar operation, or an indexing map is not linear.
  static absl::StatusOr<LoopProgram> compile(mlir::linalg::GenericOp op, Precision precision,
                                             llvm::function_ref<int(mlir::Value)> slotOf);

  /// Runs the loops. On entry, `outputs` have the initial values.
  ///   Errors  OutOfRange: a tensor.extract is outside of its tensor. InvalidArgument: the result of an integer
  ///           operation is undefined.
  absl::Status run(llvm::ArrayRef<TensorRef> slots, llvm::MutableArrayRef<Tensor> outputs) const;

private:
  friend class LoopCompiler;
  friend class LoopRun;
  std::vector<int64_t> extents;
  std::vector<Access> accesses;
  std::vector<Instruction> instructions;
  std::vector<Extraction> extractions;
  std::vector<Register> registers; ///< their values at the start, with all constants
};

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_LOOPPROGRAM_H
