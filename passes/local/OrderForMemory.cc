// The order of ops in which least is live at once, as far as two greedy orders find one.
//
// Collectives, waits and assignments stay where they are, so what runs beside what does not change; so does an op whose
// result some assignment takes, since it is made over what is stored. Ops between two of those are a stretch, in which
// nothing but values orders them. Two orders of a stretch are tried:
//
//   from its beginning   of the ops whose operands are there, the one after which least is live
//   from its end         of the ops whose results nobody needs any more, the one before which least is live
//
//   before   %a = nn.matmul %x, %w       live behind it: %x, %a          after   %a = nn.matmul %x, %w
//            %b = nn.matmul %x, %w               %x, %a, %b                      %c = nn.matmul %a, %n   (small)
//            %c = nn.matmul %a, %n               %b, %c                          %b = nn.matmul %x, %w
//            %d = nn.matmul %b, %n                                               %d = nn.matmul %b, %n
//
// A stretch takes the better one if its own order needs more than the program needs anywhere at least: elsewhere a new
// order would lower nothing. What is live is counted as the plan will have it (BufferAssignment.h), but for details:
// views are part of what they look at, what is packed or gathered is made in its place, a kernel writes over an operand
// of the same size that it is the last to use, what is stored takes none of these bytes, and sums stay in their buckets
// as they would in the order that is there (SumsInPlace.h).
#include "dialects/sbp/algebra/Sizes.h"
#include "passes/local/Aliases.h"
#include "passes/local/DeviceTraits.h"
#include "passes/local/Passes.h"
#include "passes/local/SumsInPlace.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/SetVector.h"

#include <set>

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_ORDERFORMEMORYPASS
#include "passes/local/Passes.h.inc"
} // namespace splitcast

namespace {

using Numbers = SmallVector<int64_t>;

/// The tensors that take bytes, and the ops that touch them: a tensor is live from the first of these to the last.
class LiveTensors {
public:
  LiveTensors(Block &block, const DeviceTraits &traits) : sumsInPlace(block) {
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
            !assign || !isUsedBehind(read.getResult(), assign)) // else it is copied
          stored.insert(read.getResult());
    }
    for (BlockArgument argument : block.getArguments())
      if (typeOf(argument))
        ++touches[numberOf(argument)]; // written before the first op
    for (Operation &op : block) {
      if (std::optional<nn::LibraryCall> call = traits.libraryCallOf(&op))
        workspaces[&op] = call->workspaceBytes;
      for (int64_t tensor : touchedBy[&op] = touched(&op))
        ++touches[tensor];
    }
  }

  /// Whether its result is made in a storage, or in a block of one.
  bool makesStored(Operation *op) const {
    return !isa<ccl::ReadOp>(op) &&
           llvm::any_of(op->getResults(), [&](Value result) { return stored.contains(rootOf(result)); });
  }
  ArrayRef<int64_t> of(Operation *op) const { return touchedBy.find(op)->second; }
  int64_t bytesOf(int64_t tensor) const { return bytes[tensor]; }
  /// What it needs while it runs.
  int64_t workspaceOf(Operation *op) const { return workspaces.lookup(op); }
  /// How many ops touch it.
  const std::vector<int64_t> &allTouches() const { return touches; }
  int64_t numberOf(Value value) {
    const Value root = rootOf(value);
    auto [known, isNew] = numbers.try_emplace(root, bytes.size());
    if (isNew)
      add(stored.contains(root) ? 0 : bytesOf(root));
    return known->second;
  }

private:
  int64_t add(int64_t tensorBytes) {
    bytes.push_back(tensorBytes);
    touches.push_back(0);
    return bytes.size() - 1;
  }

  static RankedTensorType typeOf(Value value) {
    auto pending = dyn_cast<ccl::PendingType>(value.getType());
    return pending ? pending.getTensor() : dyn_cast<RankedTensorType>(value.getType());
  }
  /// Of what is too large for any memory, which the plan refuses, less, so that many of them can be added up.
  static int64_t bytesOf(Value value) {
    const RankedTensorType type = typeOf(value);
    const std::optional<int64_t> exact = sbp::checkedBytes(sbp::shapeOf(type), sbp::elementBytes(type));
    return sbp::alignUp(std::min(exact.value_or(kMostBytes), kMostBytes), sbp::kAlignmentBytes);
  }
  static constexpr int64_t kMostBytes = int64_t{1} << 44;
  static bool isComputed(Value value) {
    return value.getDefiningOp() && isa<nn::FusionOp, nn::ComputeOpInterface, ccl::PackOp>(value.getDefiningOp());
  }
  static ccl::Memory memoryOf(ccl::CollectiveOpInterface op) { return ruleOf(op.getKind()).memory; }

  /// The value that names these bytes first.
  Value firstName(Value value) const {
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
  /// That, or the one of what it is made a part of. (Whatever takes a value comes behind it, so this ends.)
  Value rootOf(Value value) const {
    for (;;) {
      value = firstName(value);
      auto whole = wholes.find(value);
      if (whole == wholes.end())
        return value;
      value = whole->second;
    }
  }
  /// Whether what a rank keeps of a sum leaves the bucket.
  bool isMovedOut(ccl::WaitOp wait) const {
    auto collective = wait.getPending().getDefiningOp<ccl::CollectiveOpInterface>();
    return collective && memoryOf(collective) == ccl::Memory::InOperand && !sumsInPlace.contains(collective);
  }

  /// What is made in the place of a pack, a collective, or a storage.
  void join(Operation *op) {
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
  bool isUsedBehind(Value first, Operation *op) const {
    Operation *last = lastUses.lookup(first);
    return last && op->isBeforeInBlock(last);
  }
  void makeIn(Value part, Value whole) {
    const Value first = firstName(part);
    if (isComputed(first) && bytesOf(first) == bytesOf(part))
      wholes.try_emplace(first, whole);
  }

  Numbers touched(Operation *op) {
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
      if (memoryOf(collective) == ccl::Memory::InOperand) // writes what it keeps from its start on
        touch(waitOf(collective).getResult());
      found.insert(stagings[op] = add(callOf(collective).workspaceBytes()));
    }
    if (auto wait = dyn_cast<ccl::WaitOp>(op))
      if (auto collective = wait.getPending().getDefiningOp<ccl::CollectiveOpInterface>()) {
        touch(collective.getInput()); // reads it until it has ended
        found.insert(stagings.lookup(collective));
      }
    return Numbers(found.begin(), found.end());
  }

  const SumsInPlace sumsInPlace;
  DenseMap<Value, Value> wholes;         ///< of what is made in another's bytes
  DenseMap<Value, Operation *> lastUses; ///< by any name
  DenseSet<Value> stored;
  DenseMap<Value, int64_t> numbers;        ///< of roots
  DenseMap<Operation *, int64_t> stagings; ///< numbers, too
  DenseMap<Operation *, int64_t> workspaces;
  std::vector<int64_t> bytes, touches;
  DenseMap<Operation *, Numbers> touchedBy;
};

/// How often each tensor has been touched by what comes before some point: or, seen from the end, behind it.
using Seen = std::vector<int64_t>;

/// An order of a stretch, made from one of its ends.
class GreedyOrder {
public:
  GreedyOrder(const LiveTensors &tensors, ArrayRef<Operation *> ops) : tensors(tensors), ops(ops) {
    for (auto [number, op] : llvm::enumerate(ops))
      numbers[op] = number;
    makers.resize(ops.size());
    users.resize(ops.size());
    for (auto [number, op] : llvm::enumerate(ops)) {
      for (Value operand : op->getOperands())
        if (auto maker = numbers.find(operand.getDefiningOp()); maker != numbers.end()) {
          makers[number].push_back(maker->second);
          users[maker->second].push_back(number);
        }
      for (int64_t tensor : tensors.of(op))
        touching[tensor].push_back(number);
    }
  }

  /// `seen`: by what comes before the stretch; left as it was.
  SmallVector<Operation *> fromBeginning(Seen &seen) { return order(seen, makers, users, 1); }
  /// `seen`: by what comes behind the stretch; left as it was.
  SmallVector<Operation *> fromEnd(Seen &seen) {
    SmallVector<Operation *> result = order(seen, users, makers, -1);
    std::reverse(result.begin(), result.end());
    return result;
  }

private:
  /// `direction`: of the ops that are as good, the first or the last is taken.
  SmallVector<Operation *> order(Seen &seen, ArrayRef<Numbers> needed, ArrayRef<Numbers> needing, int64_t direction) {
    std::vector<int64_t> growth(ops.size(), 0), missing;
    std::set<std::pair<int64_t, int64_t>> ready; // by how many bytes more are live behind them
    for (auto [number, op] : llvm::enumerate(ops)) {
      for (int64_t tensor : tensors.of(op))
        growth[number] += growthBy(tensor, seen[tensor]);
      missing.push_back(needed[number].size());
      if (missing.back() == 0)
        ready.insert({growth[number], direction * static_cast<int64_t>(number)});
    }
    auto change = [&](int64_t number, int64_t by) {
      const bool isReady = ready.erase({growth[number], direction * number}) > 0;
      growth[number] += by;
      if (isReady)
        ready.insert({growth[number], direction * number});
    };
    SmallVector<Operation *> result;
    while (!ready.empty()) {
      const int64_t next = direction * ready.begin()->second;
      ready.erase(ready.begin());
      result.push_back(ops[next]);
      for (int64_t tensor : tensors.of(ops[next])) {
        const int64_t by = growthBy(tensor, seen[tensor] + 1) - growthBy(tensor, seen[tensor]);
        ++seen[tensor];
        if (by != 0)
          for (int64_t other : touching[tensor])
            change(other, by);
      }
      for (int64_t other : needing[next])
        if (--missing[other] == 0)
          ready.insert({growth[other], direction * other});
    }
    for (Operation *op : ops)
      for (int64_t tensor : tensors.of(op))
        --seen[tensor];
    return result;
  }

  /// Of an op that touches a tensor which so many others have touched before.
  int64_t growthBy(int64_t tensor, int64_t seen) const {
    const bool isFirst = seen == 0, isLast = seen + 1 == tensors.allTouches()[tensor];
    return (isFirst ? tensors.bytesOf(tensor) : 0) - (isLast ? tensors.bytesOf(tensor) : 0);
  }

  const LiveTensors &tensors;
  ArrayRef<Operation *> ops;
  DenseMap<Operation *, int64_t> numbers;
  std::vector<Numbers> makers, users;
  DenseMap<int64_t, Numbers> touching; ///< by tensor
};

/// What is live while a program runs.
class LiveBytes {
public:
  LiveBytes(LiveTensors &tensors, Block &block) : tensors(tensors), before(tensors.allTouches().size(), 0) {
    for (BlockArgument argument : block.getArguments())
      if (isa<RankedTensorType>(argument.getType()) && before[tensors.numberOf(argument)]++ == 0)
        live += tensors.bytesOf(tensors.numberOf(argument));
  }

  /// Touches of what has run.
  Seen &seen() { return before; }
  /// Runs an op; the bytes that are live meanwhile.
  int64_t run(Operation *op) {
    int64_t ended = 0;
    Numbers begun, dying; // bytes
    for (int64_t tensor : tensors.of(op)) {
      const int64_t bytes = tensors.bytesOf(tensor);
      const bool begins = before[tensor]++ == 0, ends = before[tensor] == tensors.allTouches()[tensor];
      ended += ends ? bytes : 0;
      live += begins ? bytes : 0;
      if (begins)
        begun.push_back(bytes);
      else if (ends)
        dying.push_back(bytes);
    }
    int64_t meanwhile = live + tensors.workspaceOf(op);
    if (isa<nn::FusionOp>(op)) // writes over what it is the last to use
      for (int64_t bytes : begun)
        if (auto *same = llvm::find(dying, bytes); same != dying.end()) {
          meanwhile -= bytes;
          dying.erase(same);
        }
    live -= ended;
    return meanwhile;
  }
  /// The most that is live in a stretch in this order; nothing has run then.
  int64_t most(ArrayRef<Operation *> ops) {
    const int64_t liveBefore = live;
    int64_t most = 0;
    for (Operation *op : ops)
      most = std::max(most, run(op));
    for (Operation *op : ops)
      for (int64_t tensor : tensors.of(op))
        --before[tensor];
    live = liveBefore;
    return most;
  }

private:
  LiveTensors &tensors;
  Seen before;
  int64_t live = 0;
};

/// Ops that nothing but values orders, and the one behind them, which stays.
struct Stretch {
  SmallVector<Operation *> ops;
  Operation *end = nullptr;
  SmallVector<Operation *> better;    ///< if there is one
  int64_t most = 0, mostOfBetter = 0; ///< bytes that are live at once
};

struct OrderForMemory : splitcast::impl::OrderForMemoryPassBase<OrderForMemory> {
  void runOnOperation() override {
    if (failed(verifyStraightLine(getOperation())))
      return signalPassFailure();
    Block &block = getOperation().getBody().front();
    LiveTensors tensors(block, deviceTraitsOf(getOperation()->getParentOfType<ModuleOp>()));
    std::vector<Stretch> stretches = stretchesOf(block, tensors);
    int64_t least = 0; // of any order
    LiveBytes live(tensors, block);
    for (Stretch &stretch : stretches) {
      stretch.most = live.most(stretch.ops);
      run(live, stretch.ops);
      least = std::max(least, live.run(stretch.end));
    }
    improve(stretches, tensors, block, least);
    for (Stretch &stretch : stretches)
      if (stretch.most > least)
        for (Operation *op : stretch.better)
          op->moveBefore(stretch.end);
  }

private:
  static void run(LiveBytes &live, ArrayRef<Operation *> ops) {
    for (Operation *op : ops)
      live.run(op);
  }

  static std::vector<Stretch> stretchesOf(Block &block, const LiveTensors &tensors) {
    std::vector<Stretch> stretches(1);
    for (Operation &op : block) {
      const bool mayMove = onlyNames(&op) || isa<ccl::ReadOp>(op) ||
                           (isMemoryEffectFree(&op) && !isa<ccl::CollectiveOpInterface, ccl::WaitOp>(op) &&
                            !op.hasTrait<OpTrait::IsTerminator>());
      if (mayMove && (onlyNames(&op) || !tensors.makesStored(&op))) {
        stretches.back().ops.push_back(&op);
      } else {
        stretches.back().end = &op;
        stretches.emplace_back();
      }
    }
    stretches.pop_back(); // behind the terminator
    return stretches;
  }

  /// Finds better orders of stretches that have more than `least`; raises it to what the best orders have.
  static void improve(MutableArrayRef<Stretch> stretches, LiveTensors &tensors, Block &block, int64_t &least) {
    LiveBytes live(tensors, block);
    Seen behind = tensors.allTouches();
    for (BlockArgument argument : block.getArguments())
      if (isa<RankedTensorType>(argument.getType()))
        --behind[tensors.numberOf(argument)];
    for (Stretch &stretch : stretches) {
      for (Operation *op : stretch.ops)
        for (int64_t tensor : tensors.of(op))
          --behind[tensor];
      if (stretch.most > least) {
        stretch.mostOfBetter = stretch.most;
        GreedyOrder greedy(tensors, stretch.ops);
        for (SmallVector<Operation *> &order :
             SmallVector<SmallVector<Operation *>, 2>{greedy.fromBeginning(live.seen()), greedy.fromEnd(behind)})
          if (const int64_t most = live.most(order); most < stretch.mostOfBetter) {
            stretch.mostOfBetter = most;
            stretch.better = std::move(order);
          }
        least = std::max(least, stretch.mostOfBetter);
      }
      run(live, stretch.ops);
      live.run(stretch.end);
      for (int64_t tensor : tensors.of(stretch.end))
        --behind[tensor];
    }
  }
};

} // namespace
