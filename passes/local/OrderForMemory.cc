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
// order would lower nothing. What is live is what LiveTensors says; besides, a kernel writes over an operand of the
// same size that it is the last to use.
#include "passes/local/Aliases.h"
#include "passes/local/LiveTensors.h"
#include "passes/local/Passes.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <set>

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_ORDERFORMEMORYPASS
#include "passes/local/Passes.h.inc"
} // namespace splitcast

namespace {

using Numbers = LiveTensors::Numbers;

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
  explicit LiveBytes(const LiveTensors &tensors) : tensors(tensors), before(tensors.allTouches().size(), 0) {
    for (int64_t tensor : tensors.ofArguments()) {
      ++before[tensor];
      live += tensors.bytesOf(tensor);
    }
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
  const LiveTensors &tensors;
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
    const LiveTensors tensors(block, deviceTraitsOf(getOperation()->getParentOfType<ModuleOp>()));
    std::vector<Stretch> stretches = stretchesOf(block, tensors);
    int64_t least = 0; // of any order
    LiveBytes live(tensors);
    for (Stretch &stretch : stretches) {
      stretch.most = live.most(stretch.ops);
      run(live, stretch.ops);
      least = std::max(least, live.run(stretch.end));
    }
    improve(stretches, tensors, least);
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
  static void improve(MutableArrayRef<Stretch> stretches, const LiveTensors &tensors, int64_t &least) {
    LiveBytes live(tensors);
    Seen behind = tensors.allTouches();
    for (int64_t tensor : tensors.ofArguments())
      --behind[tensor];
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
