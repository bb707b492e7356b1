#include "passes/local/LiveTensors.h"

#include "dialects/sbp/algebra/Sizes.h"
#include "passes/local/Aliases.h"
#include "passes/local/Passes.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace splitcast;

namespace {

constexpr int64_t kMostBytes = int64_t{1} << 44;

RankedTensorType typeOf(Value value) {
  auto pending = dyn_cast<ccl::PendingType>(value.getType());
  return pending ? pending.getTensor() : dyn_cast<RankedTensorType>(value.getType());
}

/// Returns the aligned bytes of a value. A tensor that is too large for any
/// memory, which the plan refuses, counts as kMostBytes, so that many of them
/// can be added up.
int64_t alignedBytesOf(Value value) {
  const RankedTensorType type = typeOf(value);
  const std::optional<int64_t> exact = sbp::checkedBytes(sbp::shapeOf(type), sbp::elementBytes(type));
  return sbp::alignUp(std::min(exact.value_or(kMostBytes), kMostBytes), sbp::kAlignmentBytes);
}

bool isComputed(Value value) {
  return value.getDefiningOp() && isa<nn::FusionOp, nn::ComputeOpInterface, ccl::PackOp>(value.getDefiningOp());
}

ccl::Memory memoryOf(ccl::CollectiveOpInterface op) { return ruleOf(op.getKind()).memory; }

} // namespace

LiveTensors::LiveTensors(Block &block, const DeviceTraits &traits) : traits(traits), sumsInPlace(block) {
  for (Operation &op : block)
    if (!onlyNames(&op) && !isa<ccl::WaitOp>(op))
      for (Value operand : op.getOperands())
        lastUses[firstName(operand)] = &op;
  DenseMap<StringRef, Operation *> nextAssigns;
  for (Operation &op : llvm::reverse(block)) {
    join(&op);
    if (auto assign = dyn_cast<ccl::AssignOp>(op))
      nextAssigns[assign.getStorage()] = assign;
    if (auto read = dyn_cast<ccl::ReadOp>(op))
      if (Operation *assign = nextAssigns.lookup(read.getStorage());
          !assign || !isUsedBehind(read.getResult(), assign)) // else the value is copied
        stored.insert(read.getResult());
  }
  for (BlockArgument argument : block.getArguments())
    if (typeOf(argument)) {
      arguments.push_back(numberOf(argument));
      ++touches[arguments.back()]; // written before the first op
    }
  for (Operation &op : block) {
    if (std::optional<nn::LibraryCall> call = traits.libraryCallOf(&op))
      workspaces[&op] = call->workspaceBytes;
    for (int64_t tensor : touchedBy[&op] = touched(&op))
      ++touches[tensor];
  }
}

bool LiveTensors::makesStored(Operation *op) const {
  return !isa<ccl::ReadOp>(op) &&
         llvm::any_of(op->getResults(), [&](Value result) { return stored.contains(rootOf(result)); });
}

int64_t LiveTensors::add(int64_t tensorBytes) {
  bytes.push_back(tensorBytes);
  touches.push_back(0);
  return bytes.size() - 1;
}

int64_t LiveTensors::numberOf(Value value) {
  const Value root = rootOf(value);
  auto [known, isNew] = numbers.try_emplace(root, bytes.size());
  if (isNew)
    add(stored.contains(root) ? 0 : alignedBytesOf(root));
  return known->second;
}

/// Returns the first name of the bytes of a value.
Value LiveTensors::firstName(Value value) const {
  for (;;) {
    Operation *maker = value.getDefiningOp();
    if (Value aliased = aliasedBy(maker)) {
      value = aliased;
    } else if (auto wait = dyn_cast_or_null<ccl::WaitOp>(maker); wait && !isMovedOut(wait)) {
      value = wait.getPending();
    } else {
      return value;
    }
  }
}

/// Returns the first name of a value, or of the tensor in whose bytes the value
/// is made. (Ops that take a value come after it, so this ends.)
Value LiveTensors::rootOf(Value value) const {
  for (;;) {
    value = firstName(value);
    auto whole = wholes.find(value);
    if (whole == wholes.end())
      return value;
    value = whole->second;
  }
}

/// Whether the block that a rank keeps of a sum is moved out of the operand.
bool LiveTensors::isMovedOut(Operation *wait) const {
  auto collective = cast<ccl::WaitOp>(wait).getPending().getDefiningOp<ccl::CollectiveOpInterface>();
  return collective && memoryOf(collective) == ccl::Memory::InOperand && !sumsInPlace.contains(collective);
}

/// Notes operands that are made in the place of a pack, a collective or a
/// storage.
void LiveTensors::join(Operation *op) {
  if (auto pack = dyn_cast<ccl::PackOp>(op)) {
    for (Value input : pack.getInputs())
      makeIn(input, pack.getResult());
  } else if (auto assign = dyn_cast<ccl::AssignOp>(op)) {
    const Value first = firstName(assign.getValue());
    auto gather = first.getDefiningOp<ccl::CollectiveOpInterface>();
    if (isComputed(first) || (gather && memoryOf(gather) == ccl::Memory::InResult))
      stored.insert(first);
  } else if (auto collective = dyn_cast<ccl::CollectiveOpInterface>(op)) {
    if (memoryOf(collective) != ccl::Memory::Apart && !isUsedBehind(firstName(collective.getInput()), op))
      makeIn(collective.getInput(), collective.getPending());
  }
}

bool LiveTensors::isUsedBehind(Value first, Operation *op) const {
  Operation *last = lastUses.lookup(first);
  return last && op->isBeforeInBlock(last);
}

void LiveTensors::makeIn(Value part, Value whole) {
  const Value first = firstName(part);
  if (isComputed(first) && alignedBytesOf(first) == alignedBytesOf(part))
    wholes.try_emplace(first, whole);
}

LiveTensors::Numbers LiveTensors::touched(Operation *op) {
  llvm::SmallSetVector<int64_t, 8> found;
  if (onlyNames(op))
    return {};
  auto touch = [&](Value value) {
    if (typeOf(value))
      found.insert(numberOf(value));
  };
  llvm::for_each(op->getOperands(), touch);
  llvm::for_each(op->getResults(), touch);
  if (auto collective = dyn_cast<ccl::CollectiveOpInterface>(op)) {
    if (memoryOf(collective) == ccl::Memory::InOperand) // it writes the result from its start on
      touch(waitOf(collective).getResult());
    found.insert(stagings[op] = add(traits.workspaceBytesOf(collective)));
  }
  if (auto wait = dyn_cast<ccl::WaitOp>(op))
    if (auto collective = wait.getPending().getDefiningOp<ccl::CollectiveOpInterface>()) {
      touch(collective.getInput()); // it reads its operand until it has ended
      found.insert(stagings.lookup(collective));
    }
  return Numbers(found.begin(), found.end());
}
