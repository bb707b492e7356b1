#include "tests/reference/LinalgEvaluator.h"

#include "dialects/nn/Nn.h"
#include "tests/reference/LoweredOp.h"

#include "absl/strings/str_cat.h"

using namespace mlir;

namespace splitcast::reference {
namespace {

/// Everything that a lowering depends on.
std::vector<const void *> keyOf(Operation *op) {
  std::vector<const void *> key = {op->getName().getAsOpaquePointer(), op->getAttrDictionary().getAsOpaquePointer()};
  for (Type type : op->getOperandTypes())
    key.push_back(nn::undecided(type).getAsOpaquePointer());
  key.push_back(nullptr);
  for (Type type : op->getResultTypes())
    key.push_back(nn::undecided(type).getAsOpaquePointer());
  return key;
}

absl::Status located(Operation *op, const absl::Status &status) {
  return absl::Status(status.code(), absl::StrCat("'", op->getName().getStringRef().str(), "' at ",
                                                  printed(op->getLoc()), ": ", status.message()));
}

absl::Status checkOperands(Operation *op, ArrayRef<TensorRef> operands) {
  for (auto [index, type] : llvm::enumerate(op->getOperandTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return absl::InvalidArgumentError(absl::StrCat("operand ", index, " is no tensor but ", printed(type)));
    if (absl::Status status = checkIs(*operands[index], tensor, absl::StrCat("operand ", index)); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

/// Indices lie in what they index, also where linalg would not read at them.
absl::Status checkIndices(nn::ComputeOpInterface op, ArrayRef<TensorRef> operands) {
  for (const nn::IndexOperand &indexed : op.getIndexOperands())
    for (auto [element, index] : llvm::enumerate(operands[indexed.operand]->integers))
      if ((index < 0 || index >= indexed.places) && index != indexed.ignored)
        return absl::OutOfRangeError(absl::StrCat("element ", element, " of operand ", indexed.operand,
                                                  " is the index ", index, "; it must lie in [0, ", indexed.places,
                                                  ")"));
  return absl::OkStatus();
}

} // namespace

LinalgEvaluator::LinalgEvaluator(Precision precision) : precision(precision) {}
LinalgEvaluator::~LinalgEvaluator() = default;
LinalgEvaluator::LinalgEvaluator(LinalgEvaluator &&) noexcept = default;
LinalgEvaluator &LinalgEvaluator::operator=(LinalgEvaluator &&) noexcept = default;

absl::StatusOr<std::vector<TensorRef>> LinalgEvaluator::evaluate(Operation *op, ArrayRef<TensorRef> operands) {
  if (operands.size() != op->getNumOperands())
    return absl::InvalidArgumentError(absl::StrCat("'", op->getName().getStringRef().str(), "' takes ",
                                                   op->getNumOperands(), " operands, not ", operands.size()));
  if (isa<nn::FusionOp>(op))
    return evaluateFusion(op, operands);
  if (isa<nn::ComputeOpInterface>(op)) {
    absl::StatusOr<std::vector<TensorRef>> results = evaluateCompute(op, operands);
    return results.ok() ? results : located(op, results.status());
  }
  return located(op, absl::UnimplementedError("the oracle knows no such op: it has no nn::ComputeOpInterface"));
}

absl::StatusOr<std::vector<TensorRef>> LinalgEvaluator::evaluateFusion(Operation *fusion,
                                                                       ArrayRef<TensorRef> operands) {
  Block &body = fusion->getRegion(0).front();
  llvm::DenseMap<Value, TensorRef> values;
  for (auto [argument, operand] : llvm::zip(body.getArguments(), operands))
    values[argument] = operand;
  auto lookUp = [&](ValueRange wanted) {
    std::vector<TensorRef> found;
    for (Value value : wanted)
      found.push_back(values.lookup(value));
    return found;
  };
  for (Operation &op : body.without_terminator()) {
    absl::StatusOr<std::vector<TensorRef>> results = evaluate(&op, lookUp(op.getOperands()));
    if (!results.ok())
      return results.status();
    for (auto [value, result] : llvm::zip(op.getResults(), *results))
      values[value] = result;
  }
  return lookUp(body.getTerminator()->getOperands());
}

absl::StatusOr<std::vector<TensorRef>> LinalgEvaluator::evaluateCompute(Operation *op, ArrayRef<TensorRef> operands) {
  if (absl::Status status = checkOperands(op, operands); !status.ok())
    return status;
  if (absl::Status status = checkIndices(cast<nn::ComputeOpInterface>(op), operands); !status.ok())
    return status;
  std::unique_ptr<LoweredOp> &entry = lowered[keyOf(op)];
  if (!entry) {
    absl::StatusOr<std::unique_ptr<LoweredOp>> made = lowerAlone(op, precision);
    if (!made.ok())
      return made.status();
    entry = *std::move(made);
  }
  Slots slots(operands.begin(), operands.end());
  for (const Step &step : entry->steps)
    if (absl::Status status = step(slots); !status.ok())
      return status;
  std::vector<TensorRef> results;
  for (int slot : entry->results)
    results.push_back(slots[slot]);
  return results;
}

} // namespace splitcast::reference
