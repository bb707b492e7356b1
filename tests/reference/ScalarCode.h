//===- ScalarCode.h - The body of a loop nest as a register program -----------===//
//
// Scalar operations of `arith` and `math` on registers. An instruction writes the register of its result; a value of
// the IR is one register, which holds a double or an int64_t by its type.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_SCALARCODE_H
#define SPLITCAST_TESTS_REFERENCE_SCALARCODE_H

#include "tests/reference/Rounding.h"

namespace splitcast::reference {

union Register {
  double real;
  int64_t integer;
};

enum class Code : uint8_t {
  // From reals to a real.
  AddF,
  SubF,
  MulF,
  DivF,
  NegF,
  Round, ///< conversion between floating-point types: the rounding alone
  MaximumF,
  MinimumF,
  Function1,
  Function2,
  IntegerToReal,
  UnsignedToReal,
  // To an integer.
  CompareF,
  RealToInteger,
  AddI,
  SubI,
  MulI,
  DivI,
  RemI,
  MaxI,
  MinI,
  AndI,
  OrI,
  XorI,
  ShiftRightUnsigned,
  CompareI,
  Resize,         ///< sign-extends or truncates
  ResizeUnsigned, ///< zero-extends
  // To either.
  Select,
  LoopIndex,
  Extract,
};

struct Instruction {
  Code code = Code::Round;
  Format format = Format::F64; ///< of a real result
  uint8_t bits = 64;           ///< of an integer result
  uint8_t operandBits = 64;    ///< of integer operands
  /// Registers; of LoopIndex, `a` is the loop, and of Extract, `a` is the place in the table of extractions.
  int result = 0, a = 0, b = 0, c = 0;
  int predicate = 0; ///< of comparisons, as in the IR
  double (*function1)(double) = nullptr;
  double (*function2)(double, double) = nullptr;
};

/// The instruction of a scalar operation of arith or math, with no registers yet.
///   Errors  Unimplemented: an operation that the oracle does not know.
absl::StatusOr<Instruction> instructionFor(mlir::Operation *op, Precision precision);

/// Runs an instruction other than LoopIndex and Extract. False where the IR's value is undefined: integer division by
/// zero or overflow of it, and conversion of a number that the integer type cannot hold.
bool execute(const Instruction &instruction, Register *registers);

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_SCALARCODE_H
