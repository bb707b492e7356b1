// Orders ops so that fewer bytes are live at once, as far as two greedy methods
// find such an order.
//
// Collectives, waits and assignments stay where they are, so that the same ops
// run while a collective is under way. So do ops whose results are assigned,
// since they are written over the stored values. The ops between two of these
// are a stretch, in which only operands determine the order. Two orders of a
// stretch are tried:
//
//   from its beginning   of the ops whose operands exist, the one after which the
//                        fewest bytes are live
//   from its end         of the ops whose results no later op needs, the one before
//                        which the fewest bytes are live
//
//   before   %a = nn.matmul %x, %w       live behind it: %x, %a          after   %a = nn.matmul %x, %w
//            %b = nn.matmul %x, %w               %x, %a, %b                      %c = nn.matmul %a, %n   (small)
//            %c = nn.matmul %a, %n               %b, %c                          %b = nn.matmul %x, %w
//            %d = nn.matmul %b, %n                                               %d = nn.matmul %b, %n
//
// A stretch takes the better order if its own order needs more bytes than the
// program needs elsewhere in any case; otherwise a new order would not lower
// the peak. LiveTensors says which tensors are live. In addition, a kernel
// writes over an operand of the same size if it is the last to use it.
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

/// By tensor: how many of the ops before some point have used it or, from the
/// end, how many of the ops behind it.
using Seen = std::vector<int64_t>;

/// Orders a stretch greedily, from one of its ends.
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

  /// `seen` counts the uses before the stretch; it is the same afterwards.
  SmallVector<Operation *> fromBeginning(Seen &seen) { return order(seen, makers, users, 1); }
  /// `seen` counts the uses behind the stretch; it is the same afterwards.
  SmallVector<Operation *> fromEnd(Seen &seen) {
    SmallVector<Operation *> result = order(seen, users, makers, -1);
    std::reverse(result.begin(), result.end());
    return result;
  }

private:
  /// Of equally good ops, direction 1 takes the first and direction -1 the
  /// last.
  SmallVector<Operation *> order(Seen &seen, ArrayRef<Numbers> needed, ArrayRef<Numbers> needing, int64_t direction) {
    std::vector<int64_t> growth(ops.size(), 0), missing;
    std::set<std::pair<int64_t, int64_t>> ready; // by how many more bytes are live after them
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

  /// Returns by how many bytes a tensor changes what is live after an op that
  /// uses it, if `seen` ops have used it before.
  int64_t growthBy(int64_t tensor, int64_t seen) const {
    const bool isFirst = seen == 0, isLast = seen + 1 == tensors.allTouches()[tensor];
    return (isFirst ? tensors.bytesOf(tensor) : 0) - (isLast ? tensors.bytesOf(tensor) : 0);
  }

  const LiveTensors &tensors;
  ArrayRef<Operation *> ops;
  DenseMap<Operation *, int64_t> numbers;
  std::vector<Numbers> makers, users;
  DenseMap<int64_t, Numbers> touching; ///< by tensor: the ops that use it
};

/// Counts the bytes that are live while a program runs.
class LiveBytes {
public:
  explicit LiveBytes(const LiveTensors &tensors) : tensors(tensors), before(tensors.allTouches().size(), 0) {
    for (int64_t tensor : tensors.ofArguments()) {
      ++before[tensor];
      live += tensors.bytesOf(tensor);
    }
  }

  /// Returns, by tensor, how many of the ops that have run use it.
  Seen &seen() { return before; }
  /// Runs an op. Returns the bytes that are live meanwhile.
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
    if (isa<nn::FusionOp>(op)) // it writes over operands that it is the last to use
      for (int64_t bytes : begun)
        if (auto *same = llvm::find(dying, bytes); same != dying.end()) {
          meanwhile -= bytes;
          dying.erase(same);
        }
    live -= ended;
    return meanwhile;
  }
  /// Returns the most bytes that are live while the ops run in this order.
  /// Afterwards the state is as before.
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

/// Ops that only their operands order, and the op behind them, which stays.
struct Stretch {
  SmallVector<Operation *> ops;
  Operation *end = nullptr;
  SmallVector<Operation *> better;    ///< a better order, if there is one
  int64_t most = 0, mostOfBetter = 0; ///< bytes that are live at once
};

struct OrderForMemory : splitcast::impl::OrderForMemoryPassBase<OrderForMemory> {
  void runOnOperation() override {
    if (failed(verifyStraightLine(getOperation())))
      return signalPassFailure();
    Block &block = getOperation().getBody().front();
    const LiveTensors tensors(block, deviceTraitsOf(getOperation()->getParentOfType<ModuleOp>()));
    std::vector<Stretch> stretches = stretchesOf(block, tensors);
    int64_t least = 0; // what every order needs
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

  /// Finds better orders of stretches that need more than `least`, and raises
  /// `least` to what the best orders need.
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
