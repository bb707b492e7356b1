#include "tests/reference/ScalarCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "absl/strings/str_cat.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace splitcast::reference {

//===----------------------------------------------------------------------===//
// From the IR
//===----------------------------------------------------------------------===//

namespace {

double reciprocalSqrt(double x) { return 1.0 / std::sqrt(x); }

double maxNumber(double a, double b) { return std::fmax(a, b); }
double minNumber(double a, double b) { return std::fmin(a, b); }

using Function1 = double (*)(double);
using Function2 = double (*)(double, double);

const llvm::StringMap<Code> &codes() {
  static const llvm::StringMap<Code> table = {
      {"arith.addf", Code::AddF},
      {"arith.subf", Code::SubF},
      {"arith.mulf", Code::MulF},
      {"arith.divf", Code::DivF},
      {"arith.negf", Code::NegF},
      {"arith.extf", Code::Round},
      {"arith.truncf", Code::Round},
      {"arith.maximumf", Code::MaximumF},
      {"arith.minimumf", Code::MinimumF},
      {"arith.sitofp", Code::IntegerToReal},
      {"arith.uitofp", Code::UnsignedToReal},
      {"arith.cmpf", Code::CompareF},
      {"arith.fptosi", Code::RealToInteger},
      {"arith.addi", Code::AddI},
      {"arith.subi", Code::SubI},
      {"arith.muli", Code::MulI},
      {"arith.divsi", Code::DivI},
      {"arith.remsi", Code::RemI},
      {"arith.maxsi", Code::MaxI},
      {"arith.minsi", Code::MinI},
      {"arith.andi", Code::AndI},
      {"arith.ori", Code::OrI},
      {"arith.xori", Code::XorI},
      {"arith.shrui", Code::ShiftRightUnsigned},
      {"arith.cmpi", Code::CompareI},
      {"arith.index_cast", Code::Resize},
      {"arith.extsi", Code::Resize},
      {"arith.trunci", Code::Resize},
      {"arith.extui", Code::ResizeUnsigned},
      {"arith.select", Code::Select},
  };
  return table;
}

const llvm::StringMap<Function1> &functions1() {
  static const llvm::StringMap<Function1> table = {
      {"math.exp", std::exp},     {"math.expm1", std::expm1},     {"math.log", std::log}, {"math.log1p", std::log1p},
      {"math.sqrt", std::sqrt},   {"math.rsqrt", reciprocalSqrt}, {"math.erf", std::erf}, {"math.tanh", std::tanh},
      {"math.absf", std::fabs},   {"math.sin", std::sin},         {"math.cos", std::cos}, {"math.ceil", std::ceil},
      {"math.floor", std::floor},
  };
  return table;
}

const llvm::StringMap<Function2> &functions2() {
  static const llvm::StringMap<Function2> table = {
      {"math.powf", std::pow},      {"math.copysign", std::copysign}, {"arith.maxnumf", maxNumber},
      {"arith.minnumf", minNumber}, {"arith.remf", std::fmod},
  };
  return table;
}

unsigned bitsOf(Type type) {
  if (type.isIndex())
    return 64;
  return isa<IntegerType>(type) ? type.getIntOrFloatBitWidth() : 0;
}

int predicateOf(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return static_cast<int>(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return static_cast<int>(compare.getPredicate());
  return 0;
}

} // namespace

absl::StatusOr<Instruction> instructionFor(Operation *op, Precision precision) {
  StringRef name = op->getName().getStringRef();
  Instruction instruction;
  if (auto code = codes().find(name); code != codes().end()) {
    instruction.code = code->second;
  } else if (auto unary = functions1().find(name); unary != functions1().end()) {
    instruction.code = Code::Function1;
    instruction.function1 = unary->second;
  } else if (auto binary = functions2().find(name); binary != functions2().end()) {
    instruction.code = Code::Function2;
    instruction.function2 = binary->second;
  } else {
    return absl::UnimplementedError(absl::StrCat("the oracle does not know the scalar operation '", name.str(),
                                                 "'; add it to tests/reference/ScalarCode.cc"));
  }
  Type result = op->getResult(0).getType();
  if (absl::Status status = checkHoldable(RankedTensorType::get({}, result)); !status.ok())
    return status;
  if (isa<FloatType>(result))
    instruction.format = formatOf(result, precision);
  else
    instruction.bits = bitsOf(result);
  instruction.operandBits = bitsOf(op->getOperand(op->getNumOperands() - 1).getType());
  instruction.predicate = predicateOf(op);
  return instruction;
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

namespace {

/// IEEE 754-2019: a NaN is passed on, and -0 is below +0.
double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

double minimum(double a, double b) { return -maximum(-a, -b); }

bool compare(arith::CmpFPredicate predicate, double a, double b) {
  using P = arith::CmpFPredicate;
  bool unordered = std::isnan(a) || std::isnan(b);
  switch (predicate) {
  case P::AlwaysFalse:
    return false;
  case P::OEQ:
    return a == b;
  case P::OGT:
    return a > b;
  case P::OGE:
    return a >= b;
  case P::OLT:
    return a < b;
  case P::OLE:
    return a <= b;
  case P::ONE:
    return !unordered && a != b;
  case P::ORD:
    return !unordered;
  case P::UEQ:
    return unordered || a == b;
  case P::UGT:
    return !(a <= b);
  case P::UGE:
    return !(a < b);
  case P::ULT:
    return !(a >= b);
  case P::ULE:
    return !(a > b);
  case P::UNE:
    return a != b;
  case P::UNO:
    return unordered;
  case P::AlwaysTrue:
    return true;
  }
  return false;
}

bool compare(arith::CmpIPredicate predicate, int64_t a, int64_t b, unsigned bits) {
  using P = arith::CmpIPredicate;
  uint64_t unsignedA = zeroExtend(a, bits), unsignedB = zeroExtend(b, bits);
  switch (predicate) {
  case P::eq:
    return a == b;
  case P::ne:
    return a != b;
  case P::slt:
    return a < b;
  case P::sle:
    return a <= b;
  case P::sgt:
    return a > b;
  case P::sge:
    return a >= b;
  case P::ult:
    return unsignedA < unsignedB;
  case P::ule:
    return unsignedA <= unsignedB;
  case P::ugt:
    return unsignedA > unsignedB;
  case P::uge:
    return unsignedA >= unsignedB;
  }
  return false;
}

double realResult(const Instruction &i, const Register *r) {
  switch (i.code) {
  case Code::AddF:
    return r[i.a].real + r[i.b].real;
  case Code::SubF:
    return r[i.a].real - r[i.b].real;
  case Code::MulF:
    return r[i.a].real * r[i.b].real;
  case Code::DivF:
    return r[i.a].real / r[i.b].real;
  case Code::NegF:
    return -r[i.a].real;
  case Code::Round:
    return r[i.a].real;
  case Code::MaximumF:
    return maximum(r[i.a].real, r[i.b].real);
  case Code::MinimumF:
    return minimum(r[i.a].real, r[i.b].real);
  case Code::Function1:
    return i.function1(r[i.a].real);
  case Code::Function2:
    return i.function2(r[i.a].real, r[i.b].real);
  case Code::IntegerToReal:
    return i.format == Format::F32 ? static_cast<float>(r[i.a].integer) : static_cast<double>(r[i.a].integer);
  default: // UnsignedToReal
    return static_cast<double>(zeroExtend(r[i.a].integer, i.operandBits));
  }
}

/// Two's complement, so that overflow wraps.
int64_t integerResult(const Instruction &i, const Register *r) {
  int64_t a = r[i.a].integer, b = r[i.b].integer;
  switch (i.code) {
  case Code::AddI:
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  case Code::SubI:
    return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  case Code::MulI:
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  case Code::MaxI:
    return std::max(a, b);
  case Code::MinI:
    return std::min(a, b);
  case Code::AndI:
    return a & b;
  case Code::OrI:
    return a | b;
  case Code::XorI:
    return a ^ b;
  case Code::ShiftRightUnsigned:
    return b >= i.bits ? 0 : static_cast<int64_t>(zeroExtend(a, i.bits) >> b);
  case Code::CompareI:
    return compare(static_cast<arith::CmpIPredicate>(i.predicate), a, b, i.operandBits);
  case Code::CompareF:
    return compare(static_cast<arith::CmpFPredicate>(i.predicate), r[i.a].real, r[i.b].real);
  case Code::ResizeUnsigned:
    return static_cast<int64_t>(zeroExtend(a, i.operandBits));
  default: // Resize
    return a;
  }
}

bool divide(const Instruction &i, Register *r) {
  int64_t a = r[i.a].integer, b = r[i.b].integer;
  int64_t lowest = std::numeric_limits<int64_t>::min() >> (64 - i.bits);
  if (b == 0 || (a == lowest && b == -1))
    return false;
  r[i.result].integer = i.code == Code::DivI ? a / b : a % b;
  return true;
}

bool convertToInteger(const Instruction &i, Register *r) {
  double limit = std::ldexp(1.0, i.bits - 1), truncated = std::trunc(r[i.a].real);
  if (!(truncated >= -limit && truncated < limit))
    return false;
  r[i.result].integer = static_cast<int64_t>(truncated);
  return true;
}

} // namespace

bool execute(const Instruction &i, Register *r) {
  if (i.code <= Code::UnsignedToReal) {
    r[i.result].real = roundTo(i.format, realResult(i, r));
    return true;
  }
  if (i.code == Code::Select) {
    r[i.result] = r[i.a].integer ? r[i.b] : r[i.c];
    return true;
  }
  if (i.code == Code::DivI || i.code == Code::RemI)
    return divide(i, r);
  if (i.code == Code::RealToInteger)
    return convertToInteger(i, r);
  r[i.result].integer = signExtend(integerResult(i, r), i.bits);
  return true;
}

} // namespace splitcast::reference
