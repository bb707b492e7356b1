#include "tests/reference/RankProgram.h"

#include "absl/strings/str_cat.h"

using namespace mlir;

namespace splitcast::reference {
namespace {

/// copyElements, or OutOfRange when one of the ranges does not exist.
absl::Status copyRange(Operation *op, const Tensor &source, int64_t from, int64_t count, Tensor &target, int64_t to) {
  auto isWithin = [&](int64_t begin, const Tensor &tensor) {
    return begin >= 0 && begin <= tensor.numElements() - count;
  };
  if (!isWithin(from, source) || !isWithin(to, target))
    return absl::OutOfRangeError(absl::StrCat("'", op->getName().getStringRef().str(), "' at ", printed(op->getLoc()),
                                              " moves ", count, " elements from ", from, " of ", source.numElements(),
                                              " to ", to, " of ", target.numElements()));
  copyElements(source, from, count, target, to);
  return absl::OkStatus();
}

} // namespace

RankProgram::RankProgram(int64_t rank, func::FuncOp function, Values arguments, SharedState shared)
    : rank(rank), next(function.getBody().front().begin()), values(std::move(arguments)), shared(shared) {}

absl::StatusOr<bool> RankProgram::advance() {
  bool hasRun = false;
  while (!isDone()) {
    if (auto wait = dyn_cast<ccl::WaitOp>(*next)) {
      TensorRef result = shared.wire.result(tickets.lookup(wait.getPending()));
      if (!result)
        return hasRun;
      values[wait.getResult()] = result;
    } else if (absl::Status status = step(*next); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat("rank ", rank, ": ", status.message()));
    }
    ++next;
    hasRun = true;
  }
  return hasRun;
}

std::string RankProgram::describe() const {
  if (isDone())
    return absl::StrCat("rank ", rank, " has returned");
  auto wait = cast<ccl::WaitOp>(*next);
  return absl::StrCat("rank ", rank, " waits at ", printed(wait.getLoc()), " for ",
                      shared.wire.describePending(tickets.lookup(wait.getPending())));
}

absl::Status RankProgram::step(Operation &op) {
  if (auto collective = dyn_cast<ccl::CollectiveOpInterface>(op))
    return startCollective(collective);
  if (auto assign = dyn_cast<ccl::AssignOp>(op))
    return this->assign(assign);
  if (auto read = dyn_cast<ccl::ReadOp>(op)) {
    values[read.getResult()] = share(*shared.storages.find(rank, read.getStorage()));
    return absl::OkStatus();
  }
  if (isa<sbp::ScopeOp>(op))
    return absl::OkStatus();
  if (auto fence = dyn_cast<sbp::FenceOp>(op)) {
    values[fence.getOutput()] = values.lookup(fence.getInput());
    return absl::OkStatus();
  }
  if (auto view = dyn_cast<ccl::ViewOp>(op))
    return this->view(view);
  if (auto pack = dyn_cast<ccl::PackOp>(op))
    return this->pack(pack);
  absl::StatusOr<std::vector<TensorRef>> results = shared.evaluator.evaluate(&op, lookUp(values, op.getOperands()));
  if (!results.ok())
    return results.status();
  bindResults(values, &op, *results);
  return absl::OkStatus();
}

absl::Status RankProgram::startCollective(ccl::CollectiveOpInterface op) {
  Call call;
  call.kind = op.getKind();
  call.what = op.getWhat().str();
  call.ranks = op.getGroup().getRanks().vec();
  call.index = op.getGroup().getIndex();
  const ccl::CollectiveCall sizes = callOf(op);
  call.blocks = sizes.blocksByRank();
  if (op.getReceived())
    call.received = sizes.receivedByRank();
  call.input = values.lookup(op.getInput());
  call.resultType = op.getPending().getType().getTensor();
  absl::StatusOr<Ticket> ticket = shared.wire.start(rank, std::move(call));
  if (!ticket.ok())
    return ticket.status();
  tickets[op.getPending()] = *std::move(ticket);
  return absl::OkStatus();
}

absl::Status RankProgram::assign(ccl::AssignOp op) {
  const Tensor &value = *values.lookup(op.getValue());
  return copyRange(op, value, 0, value.numElements(), *shared.storages.find(rank, op.getStorage()), op.getOffset());
}

absl::Status RankProgram::view(ccl::ViewOp op) {
  Tensor result = Tensor::zeros(op.getResult().getType());
  absl::Status status = copyRange(op, *values.lookup(op.getInput()), op.getOffset(), result.numElements(), result, 0);
  values[op.getResult()] = share(std::move(result));
  return status;
}

absl::Status RankProgram::pack(ccl::PackOp op) {
  Tensor result = Tensor::zeros(op.getResult().getType());
  for (auto [input, offset] : llvm::zip(op.getInputs(), op.getOffsets())) {
    const Tensor &tensor = *values.lookup(input);
    if (absl::Status status = copyRange(op, tensor, 0, tensor.numElements(), result, offset); !status.ok())
      return status;
  }
  values[op.getResult()] = share(std::move(result));
  return absl::OkStatus();
}

} // namespace splitcast::reference
