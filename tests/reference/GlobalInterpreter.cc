#include "tests/reference/GlobalInterpreter.h"

#include "dialects/nn/Nn.h"
#include "tests/reference/Functions.h"
#include "tests/reference/RangePlace.h"

#include "absl/strings/str_cat.h"

using namespace mlir;

namespace splitcast::reference {
namespace {

/// One run of a function.
class GlobalRun {
public:
  using Update = decltype(InterpreterOptions::update);

  GlobalRun(ModuleOp module, Variables &variables, LinalgEvaluator &evaluator, const Update &updateBy, Values values)
      : module(module), variables(variables), evaluator(evaluator), updateBy(updateBy), values(std::move(values)) {}

  absl::Status step(Operation &op) {
    if (auto read = dyn_cast<sbp::ReadOp>(op))
      return this->read(read);
    if (auto assign = dyn_cast<sbp::AssignOp>(op))
      return this->assign(assign);
    if (auto read = dyn_cast<sbp::BucketReadOp>(op))
      return this->readRange(read);
    if (auto assign = dyn_cast<sbp::BucketAssignOp>(op))
      return this->assignRange(assign);
    if (auto pack = dyn_cast<sbp::BucketPackOp>(op))
      return this->pack(pack);
    if (auto member = dyn_cast<sbp::BucketMemberOp>(op))
      return this->member(member);
    if (isa<sbp::ScopeOp>(op))
      return absl::OkStatus();
    if (isa<sbp::BoxingOp, sbp::FenceOp, sbp::ColocateOp>(op)) {
      bindResults(values, &op, values.lookup(op.getOperand(0)));
      return absl::OkStatus();
    }
    if (isa<nn::MinimizeOp>(op))
      return needsPass(op, "nn-differentiate");
    if (auto update = dyn_cast<nn::UpdateOp>(op))
      return this->update(update);
    return compute(op);
  }

  std::vector<Tensor> results(Operation *terminator) const { return copies(lookUp(values, terminator->getOperands())); }

private:
  /// A variable with the type that the module declares, whatever the caller has put there.
  absl::StatusOr<Tensor *> variable(StringRef name) {
    auto declared = module.lookupSymbol<sbp::VariableOp>(name);
    auto found = variables.find(name.str());
    if (!declared || found == variables.end())
      return absl::NotFoundError(absl::StrCat("variable @", name.str(), " has no value"));
    if (absl::Status status = checkIs(found->second, declared.getTensorType(), absl::StrCat("variable @", name.str()));
        !status.ok())
      return status;
    return &found->second;
  }

  absl::Status read(sbp::ReadOp op) {
    absl::StatusOr<Tensor *> tensor = variable(op.getVariable());
    if (!tensor.ok())
      return tensor.status();
    values[op.getResult()] = share(**tensor);
    return absl::OkStatus();
  }

  absl::Status assign(sbp::AssignOp op) {
    absl::StatusOr<Tensor *> tensor = variable(op.getVariable());
    if (!tensor.ok())
      return tensor.status();
    **tensor = *values.lookup(op.getValue());
    return absl::OkStatus();
  }

  absl::Status update(nn::UpdateOp op) {
    if (!updateBy)
      return needsPass(*op, "nn-expand-optimizers");
    absl::StatusOr<Tensor *> tensor = variable(op.getVariable());
    if (tensor.ok())
      updateBy(op, [&](Value value) -> const Tensor & { return *values.lookup(value); }, **tensor);
    return tensor.status();
  }

  //===--------------------------------------------------------------------===//
  // Ranges of buckets
  //===--------------------------------------------------------------------===//

  /// Calls `visit` for each variable of a bucket and role.
  absl::Status forEachOf(StringRef bucket, StringRef role, function_ref<void(sbp::VariableOp, Tensor &)> visit) {
    for (auto declared : module.getOps<sbp::VariableOp>()) {
      sbp::SlotAttr slot = declared.getSlotAttr();
      if (!slot || slot.getBucket() != bucket || declared.getRole().value_or(sbp::kParameterRole) != role)
        continue;
      absl::StatusOr<Tensor *> tensor = variable(declared.getSymName());
      if (!tensor.ok())
        return tensor.status();
      visit(declared, **tensor);
    }
    return absl::OkStatus();
  }

  absl::Status readRange(sbp::BucketReadOp op) {
    Tensor range = Tensor::zeros(op.getResult().getType());
    absl::Status status = forEachOf(op.getBucket(), op.getRole(), [&](sbp::VariableOp declared, Tensor &tensor) {
      RangePlace place(op.getResult().getType(), declared.getTensorType(), declared.getSlotAttr().getOffset());
      place.copyIn(tensor, range);
    });
    values[op.getResult()] = share(std::move(range));
    return status;
  }

  absl::Status assignRange(sbp::BucketAssignOp op) {
    TensorRef range = values.lookup(op.getValue());
    return forEachOf(op.getBucket(), op.getRole(), [&](sbp::VariableOp declared, Tensor &tensor) {
      RangePlace place(op.getValue().getType(), declared.getTensorType(), declared.getSlotAttr().getOffset());
      place.copyOut(*range, tensor);
    });
  }

  absl::Status pack(sbp::BucketPackOp op) {
    Tensor range = Tensor::zeros(op.getResult().getType());
    for (auto [input, offset] : llvm::zip(op.getInputs(), op.getOffsets()))
      RangePlace(op.getResult().getType(), cast<RankedTensorType>(input.getType()), offset)
          .copyIn(*values.lookup(input), range);
    values[op.getResult()] = share(std::move(range));
    return absl::OkStatus();
  }

  absl::Status member(sbp::BucketMemberOp op) {
    Tensor tensor = Tensor::zeros(op.getResult().getType());
    RangePlace(op.getRange().getType(), op.getResult().getType(), op.getOffset())
        .copyOut(*values.lookup(op.getRange()), tensor);
    values[op.getResult()] = share(std::move(tensor));
    return absl::OkStatus();
  }

  absl::Status needsPass(Operation &op, StringRef pass) {
    return absl::UnimplementedError(absl::StrCat("'", op.getName().getStringRef().str(), "' at ", printed(op.getLoc()),
                                                 " is not run but replaced: run '", pass.str(), "' first"));
  }

  absl::Status compute(Operation &op) {
    absl::StatusOr<std::vector<TensorRef>> results = evaluator.evaluate(&op, lookUp(values, op.getOperands()));
    if (!results.ok())
      return results.status();
    bindResults(values, &op, *results);
    return absl::OkStatus();
  }

  ModuleOp module;
  Variables &variables;
  LinalgEvaluator &evaluator;
  const Update &updateBy;
  Values values;
};

} // namespace

absl::StatusOr<GlobalInterpreter> GlobalInterpreter::create(ModuleOp module, const Options &options) {
  if (absl::Status status = checkVerifies(module); !status.ok())
    return status;
  absl::StatusOr<Variables> values = initialVariables(module, options.initializer, options.precision);
  if (!values.ok())
    return values.status();
  return GlobalInterpreter(module, options, *std::move(values));
}

absl::StatusOr<std::vector<Tensor>> GlobalInterpreter::run(const std::string &name, std::vector<Tensor> inputs) {
  absl::StatusOr<func::FuncOp> function = findFunction(module, name);
  if (!function.ok())
    return function.status();
  absl::StatusOr<Values> arguments = bindInputs(*function, std::move(inputs), precision);
  if (!arguments.ok())
    return arguments.status();
  GlobalRun run(module, values, evaluator, update, *std::move(arguments));
  Block &body = function->getBody().front();
  for (Operation &op : body.without_terminator())
    if (absl::Status status = run.step(op); !status.ok())
      return status;
  return run.results(body.getTerminator());
}

} // namespace splitcast::reference
