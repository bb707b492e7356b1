//===- ScalarCode.h - A register program for the body of a loop nest ----------===//
//
// The instructions are the scalar operations of `arith` and `math`. Each value of the IR has one register, which holds
// a double or an int64_t, depending on its type.
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
  Format format = Format::F64; ///< the format of a real result
  uint8_t bits = 64;           ///< the width of an integer result
  uint8_t operandBits = 64;    ///< the width of integer operands
  /// The registers of the result and of the operands. For LoopIndex, `a` is the loop; for Extract, `a` is the index in
  /// the table of extractions.
  int result = 0, a = 0, b = 0, c = 0;
  int predicate = 0; ///< the predicate of a comparison, as in the IR
  double (*function1)(double) = nullptr;
  double (*function2)(double, double) = nullptr;
};

/// Returns the instruction for a scalar operation of arith or math, without registers.
///   Errors  Unimplemented: the oracle does not know the operation.
absl::StatusOr<Instruction> instructionFor(mlir::Operation *op, Precision precision);

/// Runs an instruction other than LoopIndex and Extract. Returns false if the result is undefined: if an integer
/// division is by zero or overflows, or if a number is converted to an integer type that cannot represent it.
bool execute(const Instruction &instruction, Register *registers);

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_SCALARCODE_H
