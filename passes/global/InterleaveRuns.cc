// Merges the runs of a step in micro-batches, whose layers are at ranks of an
// axis, into one function, in the order of a pipeline.
//
//   1. The runs of a schedule become one, with an argument for each micro-batch of
//      an input that is cut, and a result for each micro-batch of one that is
//      joined. Runs before the first that takes an input stay: they gather for all.
//   2. The ops that one rank computes of a micro-batch between two moves are a
//      block (PipelineOrder.h). An op comes after as many moves as that of its
//      operands that has most; a boxing from one coordinate of the axis to another
//      is a move. Values that are read and gathered from variables belong to the
//      block that uses them first.
//   3. Blocks of very little work take no time and no turn of a rank. The ops
//      follow the order of their blocks, as far as operands and variables allow.
//      Each rank runs its own ops in this order, so that all ranks start
//      collectives in the same order.
//
//   before   sbp.run @train.first from 0 to 1 takes [0] cut [0]
//            sbp.run @train.last from 1 to 2 takes [0] cut [0] gives [0] joined [-1]
//   after    sbp.run @train.pipeline from 0 to 1 takes [0, 0] cut [0, 0] gives [0] joined [-1] {takes_ahead = [0, 1]}
#include "passes/global/Passes.h"
#include "passes/global/VariableStorages.h"

#include "dialects/nn/Nn.h"
#include "dialects/sbp/Sbp.h"
#include "dialects/sbp/algebra/PipelineOrder.h"
#include "dialects/sbp/algebra/Sizes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

#include <limits>
#include <map>
#include <queue>
#include <set>

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_INTERLEAVERUNSPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

/// Returns the coordinate of the axis at which a tensor is, or -1.
int64_t coordinateOf(Type type, int64_t axis) {
  const sbp::NdAttr signature = sbp::signatureOf(type);
  if (!signature)
    return -1;
  const sbp::EntryAttr entry = signature.getEntries()[axis];
  return entry.getKind() == sbp::Sbp::Kind::At ? entry.getDim() : -1;
}

/// Returns the first axis along which a boxing moves a value from one
/// coordinate to another, or -1.
int64_t pipelineAxisOf(func::FuncOp function) {
  int64_t axis = -1;
  function.walk([&](sbp::BoxingOp op) {
    const auto from = sbp::signatureOf(op.getInput()), to = sbp::signatureOf(op.getOutput());
    for (int64_t each = 0; from && to && each < from.getPlacement().getNumAxes() && axis < 0; ++each) {
      const int64_t source = coordinateOf(op.getInput().getType(), each),
                    target = coordinateOf(op.getOutput().getType(), each);
      if (source >= 0 && target >= 0 && source != target)
        axis = each;
    }
  });
  return axis;
}

//===----------------------------------------------------------------------===//
// One function
//===----------------------------------------------------------------------===//

/// Merges runs of a schedule, one after the other, into one function.
class RunMerger {
public:
  RunMerger(sbp::ScheduleOp schedule, ArrayRef<sbp::RunOp> runs, const SymbolTable &symbols)
      : schedule(schedule), runs(runs), symbols(symbols), b(schedule) {}

  func::FuncOp merge(StringRef name) {
    auto first = functionOf(runs.front());
    made = b.create<func::FuncOp>(schedule.getLoc(), name, b.getFunctionType({}, {}));
    made.setVisibility(first.getVisibility());
    made.addEntryBlock();
    b.setInsertionPointToEnd(&made.getBody().front());
    int64_t next = 0;
    for (sbp::RunOp run : runs) {
      const auto begin = static_cast<int64_t>(run.getBegin()), end = static_cast<int64_t>(run.getEnd());
      if (begin < next)
        passed += static_cast<int64_t>(schedule.getMicroBatches());
      next = end;
      for (int64_t m = begin; m < end; ++m)
        append(run, m);
    }
    finish();
    return made;
  }

  /// Replaces the runs by one run of the merged function, in the place of the
  /// last one.
  void replaceRuns() {
    OpBuilder at(runs.back());
    auto run = at.create<sbp::RunOp>(schedule.getLoc(), made.getSymName(), 0, 1, inputs.numbers, inputs.dims,
                                     /*numbered=*/false, results.numbers, results.dims, /*kept=*/false);
    run.setTakesAhead(inputs.ahead);
    run.setGivesAhead(results.ahead);
    for (sbp::RunOp run : runs)
      run.erase();
  }

  /// Returns the micro-batch of an op. If the schedule goes through its
  /// micro-batches several times, they are numbered on from loop to loop.
  int64_t microBatchOf(Operation *op) const { return microBatches.lookup(op); }

private:
  /// The inputs that the function takes, or the results that it gives.
  struct Ports {
    SmallVector<int64_t> numbers, dims, ahead;
    SmallVector<DictionaryAttr> attributes;
    void add(int64_t number, int64_t dim, int64_t microBatch, DictionaryAttr attribute) {
      numbers.push_back(number);
      dims.push_back(dim);
      ahead.push_back(dim < 0 ? 0 : microBatch);
      attributes.push_back(attribute);
    }
  };

  func::FuncOp functionOf(sbp::RunOp run) const { return symbols.lookup<func::FuncOp>(run.getFunction()); }

  void append(sbp::RunOp run, int64_t microBatch) {
    func::FuncOp function = functionOf(run);
    IRMapping values;
    for (auto [index, number, dim] : llvm::enumerate(run.getTakes(), run.getCuts()))
      values.map(function.getArgument(index), argument(function, index, number, dim, microBatch));
    if (run.getNumbered()) {
      BlockArgument number = function.getArguments().back();
      auto constant = b.create<nn::ConstantOp>(function.getLoc(), number.getType(),
                                               b.getF64FloatAttr(static_cast<double>(microBatch)));
      microBatches[constant] = passed + microBatch;
      values.map(number, constant.getResult());
    }
    for (Operation &op : function.getBody().front().without_terminator())
      microBatches[b.clone(op, values)] = passed + microBatch;
    Operation *end = function.getBody().front().getTerminator();
    for (auto [index, number, dim] : llvm::enumerate(run.getGives(), run.getJoins())) {
      returned.push_back(values.lookup(end->getOperand(index)));
      results.add(number, dim, microBatch, function.getResultAttrDict(index));
    }
  }

  /// Returns the argument for one micro-batch of an input, or for an input that
  /// is whole. Runs that take the same part share it.
  Value argument(func::FuncOp function, unsigned index, int64_t number, int64_t dim, int64_t microBatch) {
    Value &known = arguments[{number, dim < 0 ? 0 : microBatch}];
    if (known)
      return known;
    BlockArgument of = function.getArgument(index);
    known = made.getBody().front().addArgument(of.getType(), of.getLoc());
    inputs.add(number, dim, microBatch, function.getArgAttrDict(index));
    return known;
  }

  void finish() {
    b.create<func::ReturnOp>(schedule.getLoc(), returned);
    made.setFunctionType(b.getFunctionType(made.getBody().front().getArgumentTypes(), ValueRange(returned).getTypes()));
    made.setAllArgAttrs(inputs.attributes);
    made.setAllResultAttrs(results.attributes);
  }

  sbp::ScheduleOp schedule;
  SmallVector<sbp::RunOp> runs;
  const SymbolTable &symbols;
  OpBuilder b;
  func::FuncOp made;
  Ports inputs, results;
  SmallVector<Value> returned;
  std::map<std::pair<int64_t, int64_t>, Value> arguments; ///< by input and micro-batch
  DenseMap<Operation *, int64_t> microBatches;
  int64_t passed = 0; ///< the micro-batches of the loops before this one
};

//===----------------------------------------------------------------------===//
// The order
//===----------------------------------------------------------------------===//

/// Orders the ops of a function that computes all micro-batches.
class PipelineSorter {
public:
  PipelineSorter(func::FuncOp function, int64_t axis, const SymbolTable &symbols,
                 llvm::function_ref<int64_t(Operation *)> microBatchOf)
      : block(function.getBody().front()), axis(axis), symbols(symbols), microBatchOf(microBatchOf) {}

  void sort(int64_t ranks, sbp::PipelineSchedule schedule) {
    for (Operation &op : block.without_terminator()) {
      numbers[&op] = static_cast<int>(ops.size());
      ops.push_back(&op);
    }
    findNeeds();
    findBlocks();
    const sbp::PipelineOrder order = sbp::orderPipeline(blocks, ranks, schedule);
    std::vector<int> placeOf(blocks.size());
    for (auto [place, number] : llvm::enumerate(order.blocks))
      placeOf[number] = static_cast<int>(place);
    emit(placeOf);
  }

private:
  /// Finds the ops that must come before each op: the makers of its operands,
  /// and earlier reads and assignments of the same storage, except that reads
  /// need not keep their order.
  void findNeeds() {
    struct Uses {
      int assigned = -1;
      SmallVector<int> reads;
    };
    llvm::StringMap<Uses> storages;
    needs.resize(ops.size());
    for (auto [number, op] : llvm::enumerate(ops)) {
      for (Value operand : op->getOperands())
        if (Operation *maker = operand.getDefiningOp())
          needs[number].push_back(numbers.lookup(maker));
      const std::string storage = storageOf(op, symbols);
      if (storage.empty())
        continue;
      Uses &uses = storages[storage];
      if (uses.assigned >= 0)
        needs[number].push_back(uses.assigned);
      if (!isAssignment(op)) {
        uses.reads.push_back(static_cast<int>(number));
        continue;
      }
      needs[number].append(uses.reads.begin(), uses.reads.end());
      uses = {static_cast<int>(number), {}};
    }
  }

  /// Returns the coordinate at which the op is computed, or -1. A move counts
  /// where it comes from.
  int64_t coordinateOf(Operation *op) const {
    for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
      for (Type type : types)
        if (const int64_t coordinate = ::coordinateOf(type, axis); coordinate >= 0)
          return coordinate;
    return -1;
  }

  bool isMove(Operation *op) const {
    if (!isa<sbp::BoxingOp>(op))
      return false;
    const int64_t from = ::coordinateOf(op->getOperand(0).getType(), axis),
                  to = ::coordinateOf(op->getResult(0).getType(), axis);
    return from >= 0 && to >= 0 && from != to;
  }

  /// Returns the number of iterations of the op's loops, which take about
  /// equally long everywhere.
  static int64_t costOf(Operation *op) {
    auto sharding = dyn_cast<sbp::ShardingOpInterface>(op);
    int64_t cost = sharding ? 1 : 0;
    if (sharding)
      for (const sbp::Factor &factor : sharding.getLoopSpec().factors)
        cost = sbp::cappedProduct(cost, std::max<int64_t>(factor.extent, 1));
    return std::min(cost, kMostCost);
  }

  /// Returns, by op, how often the values that it computes with have been
  /// moved. Ops without inputs, such as reads and gathers of variables, belong
  /// to the op that uses them first.
  std::vector<int64_t> findHops() {
    constexpr int64_t kOfNoInput = -1;
    std::vector<int64_t> hops(ops.size(), kOfNoInput);
    for (auto [number, op] : llvm::enumerate(ops))
      for (Value operand : op->getOperands()) {
        Operation *maker = operand.getDefiningOp();
        const int64_t before = maker ? hops[numbers.lookup(maker)] : 0;
        if (before != kOfNoInput)
          hops[number] = std::max(hops[number], before + (maker && isMove(maker) ? 1 : 0));
      }
    for (size_t number = ops.size(); number-- > 0;) {
      if (hops[number] != kOfNoInput)
        continue;
      int64_t least = std::numeric_limits<int64_t>::max();
      for (Operation *user : ops[number]->getUsers())
        if (auto found = numbers.find(user); found != numbers.end())
          least = std::min(least, hops[found->second]);
      hops[number] = least == std::numeric_limits<int64_t>::max() ? 0 : least;
    }
    return hops;
  }

  void findBlocks() {
    std::map<std::tuple<int64_t, int64_t, int64_t>, int> known; // by micro-batch, hops and rank
    const std::vector<int64_t> hops = findHops();
    std::vector<std::set<int>> blockNeeds;
    blockOf.resize(ops.size());
    for (auto [number, op] : llvm::enumerate(ops)) {
      const int64_t microBatch = microBatchOf(op), rank = coordinateOf(op);
      const auto [at, isNew] = known.try_emplace({microBatch, hops[number], rank}, blocks.size());
      if (isNew) {
        blocks.push_back({microBatch, hops[number], rank});
        blockNeeds.emplace_back();
      }
      blockOf[number] = at->second;
      if (rank >= 0)
        blocks[at->second].cost = sbp::cappedSum(blocks[at->second].cost, costOf(op));
      for (int need : needs[number])
        if (blockOf[need] != at->second)
          blockNeeds[at->second].insert(blockOf[need]);
    }
    // A block that costs next to nothing, such as cut labels or sums of a few
    // numbers that are sent back, takes no turn of a rank.
    int64_t most = 0;
    for (const sbp::PipelineBlock &each : blocks)
      most = std::max(most, each.cost);
    for (sbp::PipelineBlock &each : blocks)
      if (each.cost <= most / kLeastShare)
        each.rank = -1;
    for (size_t number = 0; number < blocks.size(); ++number)
      for (int need : blockNeeds[number])
        if (isBefore(blocks[need],
                     blocks[number])) // else the blocks need each other, and the order of their ops decides
          blocks[number].needs.push_back(need);
  }

  static bool isBefore(const sbp::PipelineBlock &a, const sbp::PipelineBlock &b) {
    return std::tie(a.microBatch, a.hop) < std::tie(b.microBatch, b.hop);
  }

  /// Puts the ops into the order of their blocks, as far as the ops that they
  /// need allow. Within a block they keep their order.
  void emit(const std::vector<int> &placeOf) {
    std::vector<SmallVector<int>> users(ops.size());
    std::vector<int> missing(ops.size());
    using Next = std::pair<int, int>; // place of the block, op
    std::priority_queue<Next, std::vector<Next>, std::greater<>> next;
    for (size_t number = 0; number < ops.size(); ++number) {
      missing[number] = static_cast<int>(needs[number].size());
      for (int need : needs[number])
        users[need].push_back(static_cast<int>(number));
      if (needs[number].empty())
        next.push({placeOf[blockOf[number]], static_cast<int>(number)});
    }
    Operation *end = block.getTerminator();
    while (!next.empty()) {
      const int number = next.top().second;
      next.pop();
      ops[number]->moveBefore(end);
      for (int user : users[number])
        if (--missing[user] == 0)
          next.push({placeOf[blockOf[user]], user});
    }
  }

  static constexpr int64_t kMostCost = int64_t{1} << 50;
  static constexpr int64_t kLeastShare = 64; ///< a block of less than this share of the largest one takes no turn

  Block &block;
  const int64_t axis;
  const SymbolTable &symbols;
  llvm::function_ref<int64_t(Operation *)> microBatchOf;
  std::vector<Operation *> ops;
  DenseMap<Operation *, int> numbers;
  std::vector<SmallVector<int>> needs; ///< by op
  std::vector<int> blockOf;            ///< by op
  std::vector<sbp::PipelineBlock> blocks;
};

struct InterleaveRuns : splitcast::impl::InterleaveRunsPassBase<InterleaveRuns> {
  using InterleaveRunsPassBase::InterleaveRunsPassBase;

  void runOnOperation() override {
    const std::optional<sbp::PipelineSchedule> order = sbp::parsePipelineSchedule(schedule.getValue());
    if (!order) {
      getOperation().emitError() << "'sbp-interleave-runs' got schedule=" << schedule.getValue()
                                 << "; it must be sequential, gpipe or 1f1b";
      return signalPassFailure();
    }
    if (*order == sbp::PipelineSchedule::Sequential)
      return;
    SymbolTable symbols(getOperation());
    for (auto each : llvm::to_vector(getOperation().getOps<sbp::ScheduleOp>()))
      interleave(each, *order, symbols);
  }

  void interleave(sbp::ScheduleOp schedule, sbp::PipelineSchedule order, SymbolTable &symbols) {
    SmallVector<sbp::RunOp> runs;
    int64_t axis = -1;
    for (auto run : schedule.getBody().front().getOps<sbp::RunOp>()) {
      if (runs.empty() && run.getTakes().empty()) // it gathers for all, or is kept
        continue;
      if (run.getKept())
        return;
      runs.push_back(run);
      if (auto function = symbols.lookup<func::FuncOp>(run.getFunction()); function && axis < 0)
        axis = pipelineAxisOf(function);
    }
    if (axis < 0 || runs.empty() || (runs.size() == 1 && runs.front().getEnd() - runs.front().getBegin() == 1))
      return;
    SmallVector<func::FuncOp> merged;
    for (sbp::RunOp run : runs)
      merged.push_back(symbols.lookup<func::FuncOp>(run.getFunction()));
    RunMerger merger(schedule, runs, symbols);
    func::FuncOp function = merger.merge((schedule.getSymName() + ".pipeline").str());
    symbols.insert(function);
    merger.replaceRuns();
    for (func::FuncOp each : llvm::SetVector<func::FuncOp>(merged.begin(), merged.end()))
      if (SymbolTable::symbolKnownUseEmpty(each, getOperation()))
        symbols.erase(each);
    const int64_t ranks = sbp::placementOf(getOperation()).getAxisSizes()[axis];
    PipelineSorter(function, axis, symbols, [&](Operation *op) { return merger.microBatchOf(op); }).sort(ranks, order);
  }
};

} // namespace
