#include "tests/reference/LoweredOp.h"

#include "dialects/nn/Definition.h"
#include "tests/reference/LoopProgram.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

#include "absl/strings/str_cat.h"

#include <limits>

using namespace mlir;

namespace splitcast::reference {
namespace {

/// What a tensor.empty holds, so that reading it shows.
Tensor unwritten(RankedTensorType type) {
  Tensor tensor = Tensor::zeros(type);
  std::fill(tensor.floats.begin(), tensor.floats.end(), std::numeric_limits<double>::quiet_NaN());
  std::fill(tensor.integers.begin(), tensor.integers.end(), std::numeric_limits<int64_t>::min());
  return tensor;
}

absl::StatusOr<Tensor> constantTensor(arith::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements)
    return absl::UnimplementedError(absl::StrCat("the oracle knows no constant ", printed(op.getValue())));
  Tensor tensor = Tensor::zeros(cast<RankedTensorType>(op.getType()));
  if (tensor.isFloat())
    for (auto [i, value] : llvm::enumerate(elements.getValues<APFloat>()))
      tensor.floats[i] = FloatAttr::get(tensor.elementType, value).getValueAsDouble();
  else
    for (auto [i, value] : llvm::enumerate(elements.getValues<APInt>()))
      tensor.integers[i] = value.getSExtValue();
  return tensor;
}

/// Turns the ops of a block into steps.
class StepCompiler {
public:
  StepCompiler(Block &block, Precision precision) : precision(precision) {
    for (BlockArgument argument : block.getArguments())
      addSlot(argument);
  }

  absl::Status add(Operation &op) {
    for (Type type : op.getResultTypes())
      if (isa<TensorType>(type))
        if (absl::Status status = checkHoldable(type); !status.ok())
          return status;
    if (auto empty = dyn_cast<tensor::EmptyOp>(op))
      return addConstant(unwritten(empty.getType()), empty.getResult());
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return isa<TensorType>(constant.getType()) ? addConstant(constant) : absl::OkStatus(); // used by fill and bodies
    if (auto fill = dyn_cast<linalg::FillOp>(op))
      return addFill(fill);
    if (auto reshape = dyn_cast<tensor::ReshapeOp>(op))
      return addReshape(reshape);
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      return addGeneric(generic);
    return absl::UnimplementedError(
        absl::StrCat("the lowering holds '", op.getName().getStringRef().str(), "', which the oracle does not know"));
  }

  absl::StatusOr<std::unique_ptr<LoweredOp>> finish(ValueRange results) {
    for (Value result : results) {
      auto found = slots.find(result);
      if (found == slots.end())
        return absl::InvalidArgumentError(absl::StrCat("the lowering gives no value ", printed(result)));
      lowered->results.push_back(found->second);
    }
    return std::move(lowered);
  }

private:
  void addSlot(Value value) { slots[value] = numSlots++; }

  absl::Status addConstant(Tensor tensor, Value result) {
    addSlot(result);
    TensorRef shared = share(std::move(tensor));
    lowered->steps.push_back([shared](Slots &values) {
      values.push_back(shared);
      return absl::OkStatus();
    });
    return absl::OkStatus();
  }

  absl::Status addConstant(arith::ConstantOp op) {
    absl::StatusOr<Tensor> tensor = constantTensor(op);
    if (!tensor.ok())
      return tensor.status();
    return addConstant(*std::move(tensor), op.getResult());
  }

  absl::Status addFill(linalg::FillOp op) {
    auto scalar = op.getInputs().front().getDefiningOp<arith::ConstantOp>();
    if (!scalar)
      return absl::UnimplementedError("the oracle fills with constants only");
    Tensor tensor = Tensor::zeros(cast<RankedTensorType>(op.getResultTypes().front()));
    if (auto real = dyn_cast<FloatAttr>(scalar.getValue()))
      std::fill(tensor.floats.begin(), tensor.floats.end(), real.getValueAsDouble());
    else
      std::fill(tensor.integers.begin(), tensor.integers.end(),
                cast<IntegerAttr>(scalar.getValue()).getValue().getSExtValue());
    return addConstant(std::move(tensor), op.getResult(0));
  }

  absl::Status addReshape(tensor::ReshapeOp op) {
    int source = slots.lookup(op.getSource());
    sbp::Shape shape = sbp::shapeOf(op.getType());
    addSlot(op.getResult());
    lowered->steps.push_back([source, shape](Slots &values) {
      Tensor tensor = *values[source];
      tensor.shape = shape;
      values.push_back(share(std::move(tensor)));
      return absl::OkStatus();
    });
    return absl::OkStatus();
  }

  absl::Status addGeneric(linalg::GenericOp op) {
    absl::StatusOr<LoopProgram> program =
        LoopProgram::compile(op, precision, [&](Value value) { return slots.lookup(value); });
    if (!program.ok())
      return program.status();
    std::vector<int> inits;
    for (Value init : op.getDpsInits())
      inits.push_back(slots.lookup(init));
    for (Value result : op.getResults())
      addSlot(result);
    lowered->steps.push_back([program = *std::move(program), inits](Slots &values) {
      std::vector<Tensor> outputs;
      for (int init : inits)
        outputs.push_back(*values[init]);
      absl::Status status = program.run(values, outputs);
      for (Tensor &output : outputs)
        values.push_back(share(std::move(output)));
      return status;
    });
    return absl::OkStatus();
  }

  Precision precision;
  llvm::DenseMap<Value, int> slots;
  int numSlots = 0;
  std::unique_ptr<LoweredOp> lowered = std::make_unique<LoweredOp>();
};

/// @lowered: from the op's operands, without signature, to its results.
class ScratchFunction {
public:
  explicit ScratchFunction(Operation *op) : op(op) {
    MLIRContext *context = op->getContext();
    context->loadDialect<func::FuncDialect>();
    OpBuilder builder(context);
    SmallVector<Type> inputs, outputs;
    for (Type type : op->getOperandTypes())
      inputs.push_back(nn::undecided(type));
    for (Type type : op->getResultTypes())
      outputs.push_back(nn::undecided(type));
    function = func::FuncOp::create(op->getLoc(), "lowered", builder.getFunctionType(inputs, outputs));
    function->addEntryBlock();
  }

  absl::StatusOr<std::unique_ptr<LoweredOp>> lower(Precision precision) {
    OpBuilder builder = OpBuilder::atBlockEnd(&body());
    SmallVector<Value> operands(body().getArguments().begin(), body().getArguments().end());
    SmallVector<Value> results = nn::define(cast<nn::ComputeOpInterface>(op), builder, operands);
    builder.create<func::ReturnOp>(op->getLoc(), results);
    if (absl::Status status = checkVerifies(); !status.ok())
      return status;
    StepCompiler compiler(body(), precision);
    for (Operation &inner : body().without_terminator())
      if (absl::Status status = compiler.add(inner); !status.ok())
        return status;
    return compiler.finish(body().getTerminator()->getOperands());
  }

private:
  Block &body() { return function->front(); }

  absl::Status checkVerifies() {
    std::string messages;
    ScopedDiagnosticHandler handler(op->getContext(), [&](Diagnostic &diagnostic) {
      absl::StrAppend(&messages, messages.empty() ? "" : "; ", diagnostic.str());
      return success();
    });
    if (succeeded(verify(function->getOperation())))
      return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("the lowering does not verify: ", messages));
  }

  Operation *op;
  OwningOpRef<func::FuncOp> function;
};

} // namespace

absl::StatusOr<std::unique_ptr<LoweredOp>> lowerAlone(Operation *op, Precision precision) {
  SmallVector<Type> types(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  for (Type type : types) {
    if (absl::Status status = checkHoldable(type); !status.ok())
      return status;
    if (getElementTypeOrSelf(type).isIndex())
      return absl::InvalidArgumentError("index is no element type of a tensor of nn; use i32 or i64");
  }
  return ScratchFunction(op).lower(precision);
}

} // namespace splitcast::reference
