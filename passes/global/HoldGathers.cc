// Makes functions keep what they gather: a prologue gathers, and its results
// are valid in the next step, too.
//
// In a function that assigns nothing, the boxings that gather and depend on
// variables only move into a prologue, together with everything that they need.
// Each result that the function uses becomes a carried variable, which the
// prologue assigns and the function reads where the boxing was. Values that are
// computed from a variable without a boxing stay where they are used.
//
//   before   func.func @predict(%x) { %0 = sbp.read @w : #S0  %1 = sbp.boxing %0 : #S0 -> #B  %2 = nn.matmul %x, %1 ...
//   } after    sbp.variable @w.gathered : #B carried
//            func.func @predict.prologue() { %0 = sbp.read @w  %1 = sbp.boxing %0  sbp.assign @w.gathered, %1  return }
//            func.func @predict.main(%x) { %0 = sbp.read @w.gathered  %2 = nn.matmul %x, %0 ... }
//            sbp.schedule @predict of 1 { sbp.run @predict.prologue ... kept  sbp.run @predict.main ... }
#include "passes/global/Passes.h"
#include "passes/global/Prologue.h"

#include "dialects/sbp/algebra/Sizes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_HOLDGATHERSPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

/// The boxings of a function that can move into its prologue.
class Gathers {
public:
  Gathers(Block &block, const SymbolTable &symbols) : symbols(symbols) {
    findNeeded(block);
    for (Operation &op : block.without_terminator()) {
      if (!needed.contains(&op))
        continue;
      ops.push_back(&op);
      if (candidates.contains(&op) &&
          !llvm::all_of(op.getUsers(), [&](Operation *user) { return needed.contains(user); }))
        held.push_back(cast<sbp::BoxingOp>(op));
    }
  }

  /// Returns the bytes of the results that the function uses, as whole tensors;
  /// nothing if an int64_t cannot hold the number.
  std::optional<int64_t> bytes() const {
    std::optional<int64_t> sum = 0;
    for (sbp::BoxingOp boxing : held) {
      const Type type = boxing.getOutput().getType();
      std::optional<int64_t> more = sbp::checkedBytes(sbp::shapeOf(type), sbp::elementBytes(type));
      sum = sum && more ? sbp::checkedSum(*sum, *more) : std::nullopt;
    }
    return sum;
  }

  SmallVector<Operation *> ops;    ///< the boxings and all ops that they need, in order
  SmallVector<sbp::BoxingOp> held; ///< the boxings whose results other ops use

private:
  void findNeeded(Block &block) {
    DenseSet<Operation *> ofVariables;
    for (Operation &op : block.without_terminator()) {
      if (!isOfVariables(&op, ofVariables))
        continue;
      ofVariables.insert(&op);
      if (auto boxing = dyn_cast<sbp::BoxingOp>(op); boxing && gathers(boxing) && canBeCarried(boxing.getOutput()))
        candidates.insert(boxing);
    }
    needed = candidates;
    for (Operation &op : llvm::reverse(block))
      if (needed.contains(&op))
        for (Value operand : op.getOperands())
          needed.insert(operand.getDefiningOp());
  }

  bool isOfVariables(Operation *op, const DenseSet<Operation *> &ofVariables) const {
    if (auto read = dyn_cast<sbp::ReadOp>(op)) {
      auto variable = symbols.lookup<sbp::VariableOp>(read.getVariable());
      return variable && !isSplitByUser(variable);
    }
    return !mayWrite(op) &&
           llvm::all_of(op->getOperands(), [&](Value v) { return ofVariables.contains(v.getDefiningOp()); });
  }

  const SymbolTable &symbols;
  DenseSet<Operation *> candidates, needed;
};

/// Cuts a function in two: a prologue and the rest.
class Splitter {
public:
  Splitter(func::FuncOp function, const Gathers &gathers, SymbolTable &symbols)
      : function(function), gathers(gathers), symbols(symbols), name(function.getSymName().str()), b(function) {}

  void run() {
    for (sbp::BoxingOp boxing : gathers.held)
      variables.push_back(carryGathered(boxing, name, function, symbols));
    func::FuncOp prologue = createGathering();
    for (auto [boxing, variable] : llvm::zip(gathers.held, variables))
      readCarried(boxing, variable);
    for (Operation *op : llvm::reverse(gathers.ops))
      if (op->use_empty())
        op->erase();
    symbols.remove(function);
    function.setName(name + ".main");
    symbols.insert(function);
    createSchedule(prologue);
  }

private:
  func::FuncOp createGathering() {
    func::FuncOp prologue = createPrologue(function, name + ".prologue", symbols);
    b.setInsertionPointToEnd(&prologue.getBody().front());
    IRMapping values;
    DenseMap<Operation *, sbp::VariableOp> variableOf;
    for (auto [boxing, variable] : llvm::zip(gathers.held, variables))
      variableOf[boxing] = variable;
    for (Operation *op : gathers.ops) {
      Operation *copy = b.clone(*op, values);
      if (sbp::VariableOp variable = variableOf.lookup(op))
        b.create<sbp::AssignOp>(op->getLoc(), FlatSymbolRefAttr::get(variable.getSymNameAttr()), copy->getResult(0));
    }
    b.create<func::ReturnOp>(function.getLoc());
    return prologue;
  }

  void createSchedule(func::FuncOp prologue) {
    b.setInsertionPointAfter(function);
    auto schedule = b.create<sbp::ScheduleOp>(function.getLoc(), name, nullptr, 1);
    symbols.insert(schedule);
    OpBuilder runs = OpBuilder::atBlockBegin(&schedule.getBody().emplaceBlock());
    createRun(runs, prologue, /*isKept=*/true);
    createRun(runs, function, /*isKept=*/false);
  }

  func::FuncOp function;
  const Gathers &gathers;
  SymbolTable &symbols;
  const std::string name;
  OpBuilder b;
  SmallVector<sbp::VariableOp> variables; ///< by boxing in `held`
};

struct HoldGathers : splitcast::impl::HoldGathersPassBase<HoldGathers> {
  using HoldGathersPassBase::HoldGathersPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (limitBytes < 0) {
      module.emitError() << "'sbp-hold-gathers' got limit-bytes=" << limitBytes.getValue() << "; it must be at least 0";
      return signalPassFailure();
    }
    SymbolTable symbols(module);
    llvm::StringSet<> scheduled; // functions that a schedule already runs
    for (auto schedule : module.getOps<sbp::ScheduleOp>())
      for (auto run : schedule.getBody().front().getOps<sbp::RunOp>())
        scheduled.insert(run.getFunction());
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
      if (scheduled.contains(function.getSymName()) || !function.getBody().hasOneBlock() || assigns(function))
        continue;
      const Gathers gathers(function.getBody().front(), symbols);
      const std::optional<int64_t> bytes = gathers.bytes();
      if (bytes && *bytes > 0 && *bytes <= limitBytes)
        Splitter(function, gathers, symbols).run();
    }
  }

  static bool assigns(func::FuncOp function) {
    return llvm::any_of(function.getBody().front().without_terminator(), [](Operation &op) { return mayWrite(&op); });
  }
};

} // namespace
