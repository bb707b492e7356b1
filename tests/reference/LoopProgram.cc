#include "tests/reference/LoopProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

using namespace mlir;

namespace splitcast::reference {
namespace {

/// constant + sum of coefficients[d] * loop d
struct Linear {
  std::vector<int64_t> coefficients;
  int64_t constant = 0;
};

/// False when the expression is not linear in the loops.
bool addLinear(AffineExpr expr, int64_t factor, Linear &sum) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    sum.coefficients[dim.getPosition()] += factor;
    return true;
  }
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    sum.constant += factor * constant.getValue();
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (expr.getKind() == AffineExprKind::Add)
    return addLinear(binary.getLHS(), factor, sum) && addLinear(binary.getRHS(), factor, sum);
  auto scale = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return expr.getKind() == AffineExprKind::Mul && scale && addLinear(binary.getLHS(), factor * scale.getValue(), sum);
}

} // namespace

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

class LoopCompiler {
public:
  LoopCompiler(linalg::GenericOp op, Precision precision, llvm::function_ref<int(Value)> slotOf)
      : op(op), precision(precision), slotOf(slotOf) {}

  absl::StatusOr<LoopProgram> compile() {
    program.extents.assign(op.getNumLoops(), 0);
    llvm::copy(op.getStaticLoopRanges(), program.extents.begin());
    for (OpOperand &operand : op->getOpOperands())
      if (absl::Status status = addAccess(operand); !status.ok())
        return status;
    for (Operation &inner : op.getBody()->without_terminator())
      if (absl::Status status = addOp(inner); !status.ok())
        return status;
    for (auto [number, value] : llvm::enumerate(op.getBody()->getTerminator()->getOperands())) {
      absl::StatusOr<int> yielded = registerOf(value);
      if (!yielded.ok())
        return yielded.status();
      program.accesses[op.getNumDpsInputs() + number].yielded = *yielded;
    }
    return std::move(program);
  }

private:
  absl::Status addAccess(OpOperand &operand) {
    auto type = cast<RankedTensorType>(operand.get().getType());
    bool isOutput = op.isDpsInit(&operand);
    Access access;
    access.tensor = isOutput ? operand.getOperandNumber() - op.getNumDpsInputs() : slotOf(operand.get());
    access.isFloat = isa<FloatType>(type.getElementType());
    access.strides.assign(op.getNumLoops(), 0);
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (!argument.use_empty())
      access.argument = newRegister(argument);
    int64_t stride = 1;
    ArrayRef<AffineExpr> results = op.getMatchingIndexingMap(&operand).getResults();
    for (int64_t dim = type.getRank() - 1; dim >= 0; --dim) {
      absl::StatusOr<Linear> at = indexOf(results[dim]);
      if (!at.ok())
        return at.status();
      access.base += stride * at->constant;
      for (size_t loop = 0; loop < access.strides.size(); ++loop)
        access.strides[loop] += stride * at->coefficients[loop];
      stride *= type.getDimSize(dim);
    }
    program.accesses.push_back(access);
    return absl::OkStatus();
  }

  absl::StatusOr<Linear> indexOf(AffineExpr expr) {
    Linear at;
    at.coefficients.assign(op.getNumLoops(), 0);
    if (!addLinear(expr, 1, at))
      return absl::UnimplementedError(absl::StrCat("the oracle knows linear indexing maps only, not ", printed(expr)));
    return at;
  }

  absl::Status addOp(Operation &inner) {
    if (isa<arith::ConstantOp>(inner))
      return registerOf(inner.getResult(0)).status();
    if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
      Instruction instruction;
      instruction.code = Code::LoopIndex;
      instruction.a = index.getDim();
      return append(instruction, index.getResult());
    }
    if (auto extract = dyn_cast<tensor::ExtractOp>(inner))
      return addExtraction(extract);
    absl::StatusOr<Instruction> instruction = instructionFor(&inner, precision);
    if (!instruction.ok())
      return instruction.status();
    int *places[] = {&instruction->a, &instruction->b, &instruction->c};
    for (auto [place, operand] : llvm::zip(places, inner.getOperands())) {
      absl::StatusOr<int> found = registerOf(operand);
      if (!found.ok())
        return found.status();
      *place = *found;
    }
    return append(*instruction, inner.getResult(0));
  }

  absl::Status addExtraction(tensor::ExtractOp extract) {
    Extraction extraction{slotOf(extract.getTensor()), {}, sbp::shapeOf(extract.getTensor().getType())};
    for (Value index : extract.getIndices()) {
      absl::StatusOr<int> found = registerOf(index);
      if (!found.ok())
        return found.status();
      extraction.indices.push_back(*found);
    }
    Instruction instruction;
    instruction.code = Code::Extract;
    instruction.a = program.extractions.size();
    program.extractions.push_back(extraction);
    return append(instruction, extract.getResult());
  }

  absl::Status append(Instruction instruction, Value result) {
    instruction.result = newRegister(result);
    program.instructions.push_back(instruction);
    return absl::OkStatus();
  }

  int newRegister(Value value) {
    int number = program.registers.size();
    program.registers.push_back(Register{});
    registers[value] = number;
    return number;
  }

  /// The register of a value that is computed before; constants, also those outside of the body, get one here.
  absl::StatusOr<int> registerOf(Value value) {
    if (auto found = registers.find(value); found != registers.end())
      return found->second;
    auto constant = value.getDefiningOp<arith::ConstantOp>();
    if (!constant)
      return absl::UnimplementedError(absl::StrCat("the body of linalg.generic uses ", printed(value),
                                                   ", a scalar that is neither its own nor a constant"));
    int number = newRegister(value);
    if (auto real = dyn_cast<FloatAttr>(constant.getValue()))
      program.registers[number].real = real.getValueAsDouble();
    else if (auto integer = dyn_cast<IntegerAttr>(constant.getValue()))
      program.registers[number].integer = integer.getValue().getSExtValue();
    else
      return absl::UnimplementedError(absl::StrCat("the oracle knows no scalar ", printed(constant.getValue())));
    return number;
  }

  linalg::GenericOp op;
  Precision precision;
  llvm::function_ref<int(Value)> slotOf;
  LoopProgram program;
  llvm::DenseMap<Value, int> registers;
};

absl::StatusOr<LoopProgram> LoopProgram::compile(linalg::GenericOp op, Precision precision,
                                                 llvm::function_ref<int(Value)> slotOf) {
  return LoopCompiler(op, precision, slotOf).compile();
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

/// One run of the loops: where each of them stands.
class LoopRun {
public:
  LoopRun(const LoopProgram &program, ArrayRef<TensorRef> slots, MutableArrayRef<Tensor> outputs)
      : program(program), slots(slots), registers(program.registers), counters(program.extents.size(), 0) {
    for (const Access &access : program.accesses) {
      Tensor *output = access.yielded >= 0 ? &outputs[access.tensor] : nullptr;
      const Tensor &tensor = output ? *output : *slots[access.tensor];
      cursors.push_back({&access, tensor.floats.data(), tensor.integers.data(), output, access.base});
    }
  }

  absl::Status run() {
    if (llvm::is_contained(program.extents, 0))
      return absl::OkStatus();
    do {
      load();
      for (const Instruction &instruction : program.instructions)
        if (!step(instruction))
          return failure(instruction);
      store();
    } while (advance());
    return absl::OkStatus();
  }

private:
  struct Cursor {
    const Access *access;
    const double *floats;
    const int64_t *integers;
    Tensor *output; ///< null for an input
    int64_t offset;
  };

  void load() {
    for (const Cursor &cursor : cursors) {
      if (cursor.access->argument < 0)
        continue;
      Register &argument = registers[cursor.access->argument];
      if (cursor.access->isFloat)
        argument.real = cursor.floats[cursor.offset];
      else
        argument.integer = cursor.integers[cursor.offset];
    }
  }

  void store() {
    for (const Cursor &cursor : cursors) {
      if (!cursor.output)
        continue;
      const Register &yielded = registers[cursor.access->yielded];
      if (cursor.access->isFloat)
        cursor.output->floats[cursor.offset] = yielded.real;
      else
        cursor.output->integers[cursor.offset] = yielded.integer;
    }
  }

  bool step(const Instruction &instruction) {
    if (instruction.code < Code::LoopIndex)
      return execute(instruction, registers.data());
    if (instruction.code == Code::Extract)
      return extract(instruction);
    registers[instruction.result].integer = counters[instruction.a];
    return true;
  }

  bool extract(const Instruction &instruction) {
    const Extraction &extraction = program.extractions[instruction.a];
    int64_t offset = 0;
    for (size_t dim = 0; dim < extraction.shape.size(); ++dim) {
      int64_t index = registers[extraction.indices[dim]].integer;
      if (index < 0 || index >= extraction.shape[dim])
        return false;
      offset = offset * extraction.shape[dim] + index;
    }
    const Tensor &tensor = *slots[extraction.tensor];
    if (tensor.isFloat())
      registers[instruction.result].real = tensor.floats[offset];
    else
      registers[instruction.result].integer = tensor.integers[offset];
    return true;
  }

  /// To the next iteration; false after the last.
  bool advance() {
    for (int64_t loop = static_cast<int64_t>(counters.size()) - 1; loop >= 0; --loop) {
      bool isLast = ++counters[loop] == program.extents[loop];
      int64_t steps = isLast ? 1 - program.extents[loop] : 1;
      for (Cursor &cursor : cursors)
        cursor.offset += steps * cursor.access->strides[loop];
      if (!isLast)
        return true;
      counters[loop] = 0;
    }
    return false;
  }

  absl::Status failure(const Instruction &instruction) {
    std::string where = absl::StrCat(" in iteration [", absl::StrJoin(counters, ", "), "]");
    if (instruction.code != Code::Extract)
      return absl::InvalidArgumentError(absl::StrCat(
          instruction.code == Code::RealToInteger
              ? absl::StrCat("the number ", registers[instruction.a].real, " does not fit into an integer of ",
                             static_cast<int>(instruction.bits), " bits")
              : absl::StrCat("the integer division of ", registers[instruction.a].integer, " by ",
                             registers[instruction.b].integer, " has no value"),
          where));
    const Extraction &extraction = program.extractions[instruction.a];
    std::vector<int64_t> index;
    for (int place : extraction.indices)
      index.push_back(registers[place].integer);
    return absl::OutOfRangeError(absl::StrCat("index [", absl::StrJoin(index, ", "),
                                              "] lies outside of a tensor of shape [",
                                              absl::StrJoin(extraction.shape, ", "), "]", where));
  }

  const LoopProgram &program;
  ArrayRef<TensorRef> slots;
  std::vector<Register> registers;
  std::vector<int64_t> counters;
  std::vector<Cursor> cursors;
};

absl::Status LoopProgram::run(ArrayRef<TensorRef> slots, MutableArrayRef<Tensor> outputs) const {
  return LoopRun(*this, slots, outputs).run();
}

} // namespace splitcast::reference
