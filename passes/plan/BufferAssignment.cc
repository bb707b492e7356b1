// Assigns a place to each tensor, in four steps:
//
//   1. A read of a storage is a place in it. If its value is used after the
//      storage was assigned, it is copied instead.
//   2. Backward through the program, a value that is wanted somewhere is made
//      there if no op still needs those bytes: an assigned value in its storage,
//      the own block of a gather in its place, a packed or reduced value in its
//      bucket.
//   3. Forward, all others: in the place of an operand that no op needs
//      afterwards, where the kernel allows it (KernelForm::mayTie), else in a
//      buffer of their own.
//   4. Each buffer lives from the first op that touches a place in it to the
//      last. A collective touches its places until its wait.
//
//   %0 = nn.fusion(%x) { nn.neg }          in the reduction's buffer (step 2)
//   %a = ccl.reduce_scatter "g" %0         in place: no copy is needed
//   %1 = ccl.wait %a                       this rank's block (SumsInPlace.h)
//   %w = ccl.read @s                       a place in the storage
//   %2 = nn.fusion(%w, %1) { nn.sub }      in the storage, over %w (step 2): each
//                                          element is read, then written
//   ccl.assign @s, %2                      already there: no op in the plan
//
// Uses and writes of storages are looked up by byte range (RangeIndex.h), so a
// bucket of many members does not cost the square of their number.
#include "passes/plan/BufferAssignment.h"
#include "dialects/sbp/EntryNames.h"

#include "passes/local/Aliases.h"
#include "passes/plan/KernelEmitter.h"

#include <algorithm>
#include <limits>

using namespace mlir;

namespace splitcast {

namespace {

RankedTensorType tensorType(Value value) {
  if (auto pending = dyn_cast<ccl::PendingType>(value.getType()))
    return pending.getTensor();
  return cast<RankedTensorType>(value.getType());
}

bool isTensor(Value value) { return isa<RankedTensorType, ccl::PendingType>(value.getType()); }

/// Whether `op` is a collective that works in this memory; `op` may be null.
bool worksIn(ccl::Memory memory, Operation *op) {
  auto collective = dyn_cast_or_null<ccl::CollectiveOpInterface>(op);
  return collective && ruleOf(collective.getKind()).memory == memory;
}

bool adds(Operation *op) {
  auto collective = dyn_cast<ccl::CollectiveOpInterface>(op);
  return collective && ruleOf(collective.getKind()).adds;
}

} // namespace

BufferAssignment::BufferAssignment(func::FuncOp function)
    : traits(deviceTraitsOf(function->getParentOfType<ModuleOp>())), roles(function.getBody().front()),
      sumsInPlace(function.getBody().front()) {
  Block &block = function.getBody().front();
  number(block);
  findCopiedReads(block);
  defineStorages(block);
  placeWanted(block);
  placeRest(block);
  computeLifetimes(block);
}

int64_t BufferAssignment::bytesOf(Value tensor) {
  RankedTensorType type = tensorType(tensor);
  return type.getNumElements() * sbp::elementBytes(type);
}

int64_t BufferAssignment::newBuffer(int64_t bytes, exec::Role role, StringRef owner) {
  Buffer buffer;
  buffer.arena.bytes = bytes;
  buffer.arena.begin = std::numeric_limits<int64_t>::max();
  buffer.arena.end = -1;
  buffer.arena.role = role;
  buffer.arena.owner = owner.str();
  buffers.push_back(buffer);
  return buffers.size() - 1;
}

int64_t BufferAssignment::storageBuffer(StringRef name) {
  auto [known, isNew] = storages.try_emplace(name.str(), -1);
  if (isNew) {
    known->second = buffers.size();
    buffers.emplace_back().storage = name.str();
  }
  return known->second;
}

//===----------------------------------------------------------------------===//
// Uses and assignments
//===----------------------------------------------------------------------===//

std::pair<Value, int64_t> BufferAssignment::rootOf(Value value) const {
  int64_t offset = 0;
  while (Value aliased = aliasedBy(value.getDefiningOp())) {
    if (auto view = value.getDefiningOp<ccl::ViewOp>())
      offset += view.getOffset() * sbp::elementBytes(aliased.getType());
    value = aliased;
  }
  auto wait = value.getDefiningOp<ccl::WaitOp>();
  if (!wait)
    return {value, offset};
  Operation *collective = wait.getPending().getDefiningOp();
  if (!worksIn(ccl::Memory::InOperand, collective))
    return {wait.getPending(), offset};
  if (sumsInPlace.contains(collective))
    return {wait.getPending(), offset + callOf(cast<ccl::CollectiveOpInterface>(collective)).bytesBefore()};
  return {value, offset}; // the block is moved out of the bucket
}

void BufferAssignment::number(Block &block) {
  int64_t next = 0;
  for (Operation &op : block) {
    indices[&op] = next++;
    for (Value operand : op.getOperands())
      if (isTensor(operand) && !aliasedBy(&op) && !isa<ccl::WaitOp>(op))
        uses[rootOf(operand).first].push_back({&op, operand});
    if (auto assign = dyn_cast<ccl::AssignOp>(op)) {
      const std::string storage = assign.getStorage().str();
      const int64_t at = assign.getOffset() * sbp::elementBytes(assign.getValue().getType());
      assigns[storage].push_back(indexOf(assign));
      assigned[storage].add(at, at + bytesOf(assign.getValue()), indexOf(assign));
    }
  }
  for (const auto &[root, ofRoot] : uses)
    for (const Use &use : ofRoot) {
      int64_t &last = neededUntil.try_emplace(root, -1).first->second;
      auto collective = dyn_cast<ccl::CollectiveOpInterface>(use.op);
      last = std::max(last, indexOf(collective ? waitOf(collective).getOperation() : use.op));
    }
}

/// Whether one of the ascending `indices` is in [begin, end).
static bool anyWithin(const std::vector<int64_t> &indices, int64_t begin, int64_t end) {
  auto first = std::lower_bound(indices.begin(), indices.end(), begin);
  return first != indices.end() && *first < end;
}

void BufferAssignment::findCopiedReads(Block &block) {
  for (auto read : block.getOps<ccl::ReadOp>()) {
    const std::vector<int64_t> &ofStorage = assigns[read.getStorage().str()];
    auto firstAssign = std::upper_bound(ofStorage.begin(), ofStorage.end(), indexOf(read));
    const SmallVector<Use> &ofRead = uses[read.getResult()];
    if (firstAssign != ofStorage.end())
      for (const Use &use : ofRead)
        if (indexOf(use.op) > *firstAssign)
          copiedReads.insert(read);
    int64_t bytes = bytesOf(read.getResult()), buffer = storageBuffer(read.getStorage());
    if (copiedReads.contains(read)) {
      copies[buffer].push_back(indexOf(read));
      continue;
    }
    places[read.getResult()] = {buffer, 0, bytes};
    for (const Use &use : ofRead) {
      Place place = placeOf(use.value);
      storageUses[buffer].add(place.offset, place.offset + place.bytes, {place, use, read});
    }
  }
}

//===----------------------------------------------------------------------===//
// Wanted places
//===----------------------------------------------------------------------===//

void BufferAssignment::defineStorages(Block &block) {
  for (auto assign : block.getOps<ccl::AssignOp>())
    storageBuffer(assign.getStorage());
}

void BufferAssignment::placeWanted(Block &block) {
  for (Operation &op : llvm::reverse(block)) {
    if (auto assign = dyn_cast<ccl::AssignOp>(op)) {
      wantInStorage(assign);
    } else if (auto collective = dyn_cast<ccl::CollectiveOpInterface>(op)) {
      placeWanted(collective);
    } else if (auto pack = dyn_cast<ccl::PackOp>(op)) {
      Value result = pack.getResult();
      if (!places.count(result))
        places[result] = {newBuffer(bytesOf(result), exec::Role::Gradient, ownerOf(result)), 0, bytesOf(result)};
      Operation *destroyer = nullptr; // a sum that overwrites the pack
      for (const Use &use : uses[result])
        if (adds(use.op) && data.lookup(use.op).buffer == places[result].buffer)
          destroyer = use.op;
      int64_t element = sbp::elementBytes(result.getType());
      for (auto [input, offset] : llvm::zip(pack.getInputs(), pack.getOffsets()))
        want(input, {places[result].buffer, places[result].offset + offset * element, bytesOf(input)}, destroyer);
    }
  }
}

/// Gives a collective the place in which it works, and wants its operand there.
void BufferAssignment::placeWanted(ccl::CollectiveOpInterface op) {
  const ccl::CollectiveCall call = callOf(op);
  Value operand = op.getInput(), result = op.getPending();
  auto placeResult = [&](int64_t bytes) {
    Place place{newBuffer(bytes, roles.of(op), op.getWhat()), 0, bytes};
    return data[op] = places[result] = place;
  };
  switch (call.rule().memory) {
  case ccl::Memory::InResult: {
    Place all = data[op] = places.count(result) ? places[result] : placeResult(bytesOf(result));
    return want(operand, {all.buffer, all.offset + call.bytesBefore(), call.bytes(ccl::Part::OwnBlock)}, nullptr, op);
  }
  case ccl::Memory::InBoth:
    data[op] = places.count(result) ? places[result] : placeResult(bytesOf(result));
    return want(operand, data[op], op);
  case ccl::Memory::InOperand:
    return want(operand, placeResult(bytesOf(operand)), op);
  case ccl::Memory::Apart:
    placeResult(bytesOf(result));
    return;
  }
}

Operation *BufferAssignment::writerOf(Value root) const { return root.getDefiningOp(); }

/// Whether a root has no place yet and its op can make it anywhere.
bool BufferAssignment::isFree(Value root) const {
  Operation *writer = writerOf(root);
  return writer && !places.count(root) && !isa<ccl::ReadOp>(writer);
}

/// Whether the op may make its result in a storage. This requires that it
/// writes the bytes only when it runs. A sum writes its block from the start of
/// the collective on, before the wait that makes the value.
static bool mayMakeInStorage(Operation *writer) {
  return isa<nn::FusionOp, nn::ComputeOpInterface>(writer) || worksIn(ccl::Memory::InResult, writer);
}

void BufferAssignment::want(Value value, Place target, Operation *destroyer, Operation *gather) {
  auto [root, offset] = rootOf(value);
  if (!isFree(root) || offset != 0 || bytesOf(root) != target.bytes)
    return;
  if (destroyer)
    for (const Use &use : uses[root])
      if (indexOf(use.op) > indexOf(destroyer))
        return; // still needed after the sum has overwritten it
  if (gather && isUsedUnderWay(root, cast<ccl::CollectiveOpInterface>(gather)))
    return; // until its wait, only the collective uses its bytes
  if (buffers[target.buffer].storage.empty())
    return makeIn(target, root, nullptr);
  ccl::AssignOp assign = assignOf.lookup(gather);
  if (mayMakeInStorage(writerOf(root)) && storageIsUnused(target, writerOf(root), root, assign, gather))
    makeIn(target, root, assign);
}

bool BufferAssignment::isUsedUnderWay(Value root, ccl::CollectiveOpInterface op) const {
  auto known = uses.find(root);
  return known != uses.end() && llvm::any_of(known->second, [&](const Use &use) {
           return indexOf(use.op) > indexOf(op) && indexOf(use.op) < indexOf(waitOf(op));
         });
}

void BufferAssignment::makeIn(Place target, Value root, ccl::AssignOp assign) {
  places[root] = target;
  assignOf[writerOf(root)] = assign;
  if (!buffers[target.buffer].storage.empty())
    storageWrites[target.buffer].add(target.offset, target.offset + target.bytes, {target, indexOf(writerOf(root))});
}

void BufferAssignment::wantInStorage(ccl::AssignOp assign) {
  auto [root, offset] = rootOf(assign.getValue());
  if (!isFree(root) || offset != 0 || bytesOf(root) != bytesOf(assign.getValue()) || !mayMakeInStorage(writerOf(root)))
    return;
  int64_t at = assign.getOffset() * sbp::elementBytes(assign.getValue().getType());
  Place target{storages[assign.getStorage().str()], at, bytesOf(root)};
  if (storageIsUnused(target, writerOf(root), root, assign, nullptr))
    makeIn(target, root, assign);
}

/// Whether no op needs the bytes of `target` from `writer` on: each use of them
/// comes before, or is the operand in whose place the result is computed, and
/// no other assignment of them comes between. A `gather` that works in the
/// storage does not change its own block.
bool BufferAssignment::storageIsUnused(Place target, Operation *writer, Value root, ccl::AssignOp assign,
                                       Operation *gather) const {
  const int64_t begin = indexOf(writer), end = assign ? indexOf(assign) : std::numeric_limits<int64_t>::max();
  auto copied = copies.find(target.buffer); // a copy reads the storage when it runs
  if (copied != copies.end() && anyWithin(copied->second, begin, end))
    return false;
  if (assign && isAssignedWithin(assign.getStorage(), target, begin + 1, end))
    return false;
  if (storageIsRead(target, writer, root, assign))
    return false;
  int64_t lastUse = -1;
  if (auto known = neededUntil.find(root); known != neededUntil.end())
    lastUse = known->second;
  if (isAssignedWithin(buffers[target.buffer].storage, target, (assign ? end : begin) + 1, lastUse + 1))
    return false;                                  // it is overwritten while it is needed
  auto writes = storageWrites.find(target.buffer); // values that are made there later need this one no more
  return writes == storageWrites.end() ||
         !writes->second.any(target.offset, target.offset + target.bytes, [&](const Write &other) {
           return other.place.overlaps(target) && other.index > begin && lastUse >= other.index &&
                  !(gather && other.index == indexOf(gather));
         });
}

bool BufferAssignment::isAssignedWithin(StringRef storage, Place target, int64_t begin, int64_t end) const {
  auto known = assigned.find(storage.str());
  return known != assigned.end() && known->second.any(target.offset, target.offset + target.bytes,
                                                      [&](int64_t assign) { return begin <= assign && assign < end; });
}

bool BufferAssignment::storageIsRead(Place target, Operation *writer, Value root, ccl::AssignOp assign) const {
  auto ofBuffer = storageUses.find(target.buffer);
  if (ofBuffer == storageUses.end())
    return false;
  return ofBuffer->second.any(target.offset, target.offset + target.bytes, [&](const StorageUse &other) {
    const auto &[place, use, read] = other;
    if (!place.overlaps(target) || indexOf(use.op) < indexOf(writer))
      return false;
    if (use.op == writer && place == target && mayTie(writer, root, use.value))
      return false;
    // A read after the assignment is to see the new value.
    return !(assign && indexOf(read) > indexOf(assign));
  });
}

/// Returns the position of `value` among `values`.
static size_t positionOf(Value value, ValueRange values) {
  return std::distance(values.begin(), llvm::find(values, value));
}

bool BufferAssignment::mayTie(Operation *writer, Value result, Value operand) const {
  auto fusion = dyn_cast<nn::FusionOp>(writer);
  if (!fusion || tensorType(result).getShape() != tensorType(operand).getShape())
    return false;
  std::unique_ptr<Kernel> &kernel = kernels[writer];
  if (!kernel)
    kernel = std::make_unique<Kernel>(fusion);
  if (!kernel->form.mayTie(kernel->body, positionOf(result, fusion.getResults()),
                           positionOf(operand, fusion.getInputs()), traits.launchesThreads))
    return false;
  // No other operand may lie there.
  Place place = placeOf(operand);
  return llvm::count_if(fusion.getInputs(), [&](Value input) {
           Value root = rootOf(input).first;
           return places.count(root) && placeOf(input).overlaps(place);
         }) == 1;
}

//===----------------------------------------------------------------------===//
// Remaining values
//===----------------------------------------------------------------------===//

/// Whether an op after `op` uses the value, or an op before it still does: a
/// collective uses its operand until its wait.
bool BufferAssignment::isNeededAfter(Operation *op, Value root) const {
  auto last = neededUntil.find(root);
  return last != neededUntil.end() && last->second > indexOf(op);
}

/// Returns the place of an operand that no op needs afterwards, in which the
/// result may be made. This must be a buffer that was made for one value: all
/// values in it are then a chain, each made over the one before.
std::optional<Place> BufferAssignment::dyingOperand(nn::FusionOp fusion, Value result) const {
  for (Value operand : fusion.getInputs()) {
    auto [root, offset] = rootOf(operand);
    Place place = places.lookup(root);
    if (!buffers[place.buffer].mayBeOverwritten || offset != 0 || place.bytes != bytesOf(result))
      continue;
    bool isTaken = llvm::any_of(
        fusion.getResults(), [&](Value other) { return places.count(other) && places.lookup(other).overlaps(place); });
    if (!isTaken && !isNeededAfter(fusion, root) && mayTie(fusion, result, operand))
      return place;
  }
  return std::nullopt;
}

/// Places all remaining values in the place of an operand that dies, or in a
/// buffer of their own.
void BufferAssignment::placeRest(Block &block) {
  auto function = cast<func::FuncOp>(block.getParentOp());
  sbp::EntryNames names(function);
  for (BlockArgument argument : block.getArguments())
    places[argument] = {newBuffer(bytesOf(argument), exec::Role::Input, names.ofInput(argument.getArgNumber())), 0,
                        bytesOf(argument)};
  for (Operation &op : block)
    for (Value result : op.getResults()) {
      if (!isTensor(result) || rootOf(result).first != result || places.count(result))
        continue;
      auto fusion = dyn_cast<nn::FusionOp>(op);
      if (std::optional<Place> inPlace = fusion ? dyingOperand(fusion, result) : std::nullopt) {
        places[result] = *inPlace;
        continue;
      }
      auto wait = dyn_cast<ccl::WaitOp>(op); // gives a block of a sum
      auto sum = wait ? wait.getPending().getDefiningOp<ccl::CollectiveOpInterface>() : ccl::CollectiveOpInterface();
      const bool isShard = sum && roles.of(sum) == exec::Role::Gradient;
      places[result] = {newBuffer(bytesOf(result), isShard ? exec::Role::GradientShard : exec::Role::Activation,
                                  sum ? sum.getWhat() : ownerOf(result)),
                        0, bytesOf(result)};
      buffers.back().mayBeOverwritten = isa<nn::FusionOp, nn::ComputeOpInterface>(op);
    }
}

Place BufferAssignment::placeOf(Value tensor) const {
  auto [root, offset] = rootOf(tensor);
  Place place = places.lookup(root);
  return {place.buffer, place.offset + offset, bytesOf(tensor)};
}

std::optional<Place> BufferAssignment::workspaceOf(Operation *op) const {
  auto known = workspaces.find(op);
  return known == workspaces.end() ? std::nullopt : std::optional<Place>(known->second);
}

int64_t BufferAssignment::tiedOperand(nn::FusionOp fusion, unsigned result) const {
  Place place = placeOf(fusion.getResult(result));
  for (auto [index, input] : llvm::enumerate(fusion.getInputs()))
    if (place.bytes > 0 && placeOf(input) == place)
      return index;
  return -1;
}

void BufferAssignment::extend(Place place, int64_t index) {
  ArenaBuffer &arena = buffers[place.buffer].arena;
  if (place.bytes == 0 && arena.bytes > 0) // an empty place does not keep a buffer alive
    return;
  arena.begin = std::min(arena.begin, index);
  arena.end = std::max(arena.end, index);
}

void BufferAssignment::addWorkspace(Operation *op) {
  int64_t bytes = 0;
  if (auto fusion = dyn_cast<nn::FusionOp>(op))
    bytes = kernelEmitterOf(traits).workspaceBytes(fusion);
  else if (std::optional<nn::LibraryCall> call = traits.libraryCallOf(op))
    bytes = call->workspaceBytes;
  if (bytes == 0)
    return;
  workspaces[op] = {newBuffer(bytes, exec::Role::Workspace, op->getName().getStringRef()), 0, bytes};
  extend(workspaces[op], indexOf(op));
}

/// Extends the buffers of a collective from its start to its wait.
void BufferAssignment::extendCollective(ccl::CollectiveOpInterface op) {
  const int64_t begin = indexOf(op), end = indexOf(waitOf(op));
  const ccl::CollectiveCall call = callOf(op);
  extend(data[op], begin);
  extend(data[op], end);
  if (call.rule().memory == ccl::Memory::InOperand) // may write its block from the start on
    extend(placeOf(waitOf(op).getResult()), begin);
  if (call.rule().memory == ccl::Memory::Apart) // reads its operand until its wait
    extend(placeOf(op.getInput()), end);
  const int64_t bytes = traits.workspaceBytesOf(op);
  if (bytes == 0)
    return;
  workspaces[op] = {newBuffer(bytes, exec::Role::Staging, op.getWhat()), 0, bytes};
  extend(workspaces[op], begin);
  extend(workspaces[op], end);
}

void BufferAssignment::computeLifetimes(Block &block) {
  for (BlockArgument argument : block.getArguments()) // inputs are written before the first op, even unused ones
    extend(placeOf(argument), 0);
  for (Operation &op : block) {
    int64_t index = indexOf(&op);
    for (Value value :
         llvm::concat<Value>(llvm::to_vector(op.getOperands()), llvm::to_vector_of<Value>(op.getResults())))
      if (isTensor(value) && !aliasedBy(&op))
        extend(placeOf(value), index);
    addWorkspace(&op);
    if (auto collective = dyn_cast<ccl::CollectiveOpInterface>(op))
      extendCollective(collective);
  }
  sbp::EntryNames names(cast<func::FuncOp>(block.getParentOp()));
  for (auto [number, result] : llvm::enumerate(block.getTerminator()->getOperands())) {
    ArenaBuffer &arena = buffers[placeOf(result).buffer].arena;
    if (arena.role != exec::Role::Activation)
      continue;
    arena.role = exec::Role::Output;
    arena.owner = names.ofResult(number).str();
  }
}

} // namespace splitcast
