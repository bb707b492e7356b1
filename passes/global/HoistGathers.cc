// Gathers values that each micro-batch of a step gathers again once before
// them, if the policy is `keep=step`.
//
// These are boxings in the runs of a schedule that gather a variable or bucket
// as it was when the step began. All boxings that gather the same value read
// one carried variable, which a prologue assigns.
//
//   before   sbp.schedule @train of 4 { sbp.run @train.first ...  sbp.run @train.next from 1 to 3 ... }
//            func.func @train.next(%x) { %0 = sbp.read @w : #S0  %1 = sbp.boxing %0 : #S0 -> #B ... }
//   after    sbp.schedule @train of 4 { sbp.run @train.prologue ...  sbp.run @train.first ... }
//            func.func @train.prologue() { %0 = sbp.read @w : #S0  %1 = sbp.boxing %0  sbp.assign @w.gathered, %1 }
//            func.func @train.next(%x) { %1 = sbp.read @w.gathered : #B ... }
#include "passes/global/Passes.h"
#include "passes/global/Prologue.h"
#include "passes/global/VariableStorages.h"

#include "llvm/ADT/StringSet.h"

#include <map>

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_HOISTGATHERSPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

/// Returns the storages of the variables whose policy keeps gathered values for
/// a step.
llvm::StringSet<> keptForSteps(ModuleOp module) {
  llvm::StringSet<> kept;
  for (auto variable : module.getOps<sbp::VariableOp>())
    if (!variable.getStateOf() && variable.getPolicyOrDefault().keep() == sbp::Keep::Step && variable.getLogical() &&
        !isSplitByUser(variable))
      kept.insert(storageOf(variable));
  return kept;
}

/// Whether the function changes nothing but variables, by ops that name them.
bool isPlain(func::FuncOp function) {
  return function && function.getBody().hasOneBlock() && llvm::all_of(function.getBody().front(), [](Operation &op) {
           return isAssignment(&op) || op.hasTrait<OpTrait::IsTerminator>() || !mayWrite(&op);
         });
}

/// The gathers of one schedule, by the storage that they gather and the type
/// that they make.
class StepGathers {
public:
  StepGathers(sbp::ScheduleOp schedule, const llvm::StringSet<> &kept, SymbolTable &symbols)
      : schedule(schedule), kept(kept), symbols(symbols) {
    for (auto run : schedule.getBody().front().getOps<sbp::RunOp>())
      find(run);
    llvm::erase_if(found,
                   [](const Gathered &gathered) { return gathered.times < 2; }); // a single gather would save nothing
  }

  bool isEmpty() const { return found.empty(); }

  void hoist() {
    auto first = *schedule.getBody().front().getOps<sbp::RunOp>().begin();
    auto beside = symbols.lookup<func::FuncOp>(first.getFunction());
    const std::string name = schedule.getSymName().str();
    func::FuncOp prologue = createPrologue(beside, name + ".prologue", symbols);
    OpBuilder body = OpBuilder::atBlockBegin(&prologue.getBody().front());
    for (Gathered &gathered : found) {
      sbp::BoxingOp boxing = gathered.boxings.front();
      sbp::VariableOp variable = carryGathered(boxing, name, prologue, symbols);
      sbp::BoxingOp whole = cloneGather(boxing, body);
      body.create<sbp::AssignOp>(boxing.getLoc(), FlatSymbolRefAttr::get(variable.getSymNameAttr()), whole.getOutput());
      for (sbp::BoxingOp each : gathered.boxings)
        replace(each, variable);
    }
    body.create<func::ReturnOp>(schedule.getLoc());
    OpBuilder runs(first);
    createRun(runs, prologue, /*isKept=*/false);
  }

private:
  struct Gathered {
    SmallVector<sbp::BoxingOp> boxings;
    int64_t times = 0; ///< how often these run in a step
  };

  void find(sbp::RunOp run) {
    auto function = symbols.lookup<func::FuncOp>(run.getFunction());
    const auto times = static_cast<int64_t>(run.getEnd() - run.getBegin());
    Block &block = function.getBody().front();
    if (times > 1) // its next run reads what it assigns
      noteAssigned(block);
    DenseSet<Operation *> early; // reads of values from the start of the step
    for (Operation &op : block) {
      if (isAssignment(&op))
        assigned.insert(storageOf(&op, symbols));
      else if (const std::string storage = storageOf(&op, symbols);
               kept.contains(storage) && !assigned.contains(storage))
        early.insert(&op);
      if (auto boxing = dyn_cast<sbp::BoxingOp>(op); boxing && !run.getKept() &&
                                                     early.contains(readOfGathered(boxing)) && gathers(boxing) &&
                                                     canBeCarried(boxing.getOutput()))
        add(boxing, times);
    }
  }

  void noteAssigned(Block &block) {
    for (Operation &op : block)
      if (isAssignment(&op))
        assigned.insert(storageOf(&op, symbols));
  }

  void add(sbp::BoxingOp boxing, int64_t times) {
    const auto key =
        std::make_pair(storageOf(readOfGathered(boxing), symbols), boxing.getOutput().getType().getAsOpaquePointer());
    auto [number, isNew] = numbers.try_emplace(key, found.size());
    if (isNew)
      found.emplace_back();
    found[number->second].boxings.push_back(boxing);
    found[number->second].times += times;
  }

  /// Replaces a boxing by a read of the variable, and erases the fences and the
  /// read that nothing needs any more.
  static void replace(sbp::BoxingOp boxing, sbp::VariableOp variable) {
    readCarried(boxing, variable);
    for (Operation *op = boxing; op && op->use_empty();) {
      Operation *before = op->getNumOperands() ? op->getOperand(0).getDefiningOp() : nullptr;
      op->erase();
      op = before;
    }
  }

  sbp::ScheduleOp schedule;
  const llvm::StringSet<> &kept; ///< storages
  SymbolTable &symbols;
  llvm::StringSet<> assigned; ///< storages that have been assigned so far
  std::vector<Gathered> found;
  std::map<std::pair<std::string, const void *>, size_t> numbers;
};

struct HoistGathers : splitcast::impl::HoistGathersPassBase<HoistGathers> {
  void runOnOperation() override {
    const llvm::StringSet<> kept = keptForSteps(getOperation());
    SymbolTable symbols(getOperation());
    llvm::StringMap<int64_t> runs; // by function: the runs in all schedules
    for (auto schedule : getOperation().getOps<sbp::ScheduleOp>())
      for (auto run : schedule.getBody().front().getOps<sbp::RunOp>())
        ++runs[run.getFunction()];
    for (auto schedule : getOperation().getOps<sbp::ScheduleOp>()) {
      const bool isOwn = llvm::all_of(schedule.getBody().front().getOps<sbp::RunOp>(), [&](sbp::RunOp run) {
        return runs[run.getFunction()] == 1 && isPlain(symbols.lookup<func::FuncOp>(run.getFunction()));
      });
      if (!isOwn || schedule.getMicroBatches() < 2)
        continue;
      StepGathers gathered(schedule, kept, symbols);
      if (!gathered.isEmpty())
        gathered.hoist();
    }
  }
};

} // namespace
