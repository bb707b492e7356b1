// Replaces updates by elementwise ops over variable, gradient and state.
//
// The optimizer defines what is computed (dialects/nn/Optimizer.h). It asks the
// update in this file for states, the learning rate and powers of betas. A
// state is a variable beside its own, created at its first use. Every value
// that an update reads is fenced in the scope of the update, so that ZeRO can
// decide where it is computed. Powers of betas count updates. Variables share
// them if the same functions update them by the same optimizers (UpdateSets): a
// variable that another function updates, too, has had more updates. A schedule
// of the learning rate counts the runs of the functions that update by it. Each
// group of variables has a learning rate and counters of its own, named after
// it.
//
//   before   nn.update @w, %g in %s with #nn.momentum<lr = 0.5, momentum = 0.9>
//   after    sbp.variable @w.momentum ... state_of @w role "momentum"
//            %2 = sbp.fence (sbp.read @w) in %s       %3 = sbp.fence %g in %s
//            %5 = sbp.fence (sbp.read @w.momentum) in %s
//            %7 = nn.scale %5 {value = 0.9}           %8 = nn.add %7, %3
//            sbp.assign @w.momentum, %8
//            %9 = nn.mul (sbp.read @optimizer.learning_rate), %8
//            %10 = nn.sub %2, %9
//            sbp.assign @w, %10
#include "passes/global/Passes.h"
#include "passes/global/ScalarVariables.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <map>
#include <tuple>

using namespace mlir;
using namespace splitcast;

namespace splitcast {
#define GEN_PASS_DEF_EXPANDOPTIMIZERSPASS
#include "passes/global/Passes.h.inc"
} // namespace splitcast

namespace {

/// Returns "optimizer.", or "optimizer.no_decay." for a group of variables.
std::string nameAfterGroup(StringRef group) { return ("optimizer." + group + (group.empty() ? "" : ".")).str(); }

/// Returns "optimizer.train.tune.", for counters of these functions only.
std::string nameAfterFunctions(StringRef group, const llvm::SetVector<StringRef> &functions, llvm::StringSet<> &taken) {
  std::string name = nameAfterGroup(group) + llvm::join(functions, ".") + ".", numbered = name;
  for (int number = 1; !taken.insert(numbered).second; ++number)
    numbered = name + std::to_string(number) + ".";
  return numbered;
}

/// Numbers the conditions (`unless`) by which the updates of one function are
/// left out.
class LeftOut {
public:
  int64_t number(nn::UpdateOp op) { return numbers.try_emplace(op.getUnless(), numbers.size()).first->second; }

private:
  DenseMap<Value, int64_t> numbers; ///< by condition
};

/// Finds the variables that have had equally many updates, whichever functions
/// have run: those that the same functions update by the same optimizers under
/// the same conditions. They share the counters of updates.
class UpdateSets {
public:
  explicit UpdateSets(ModuleOp module) {
    llvm::MapVector<StringRef, History> histories; // by variable, in the order of their first updates
    for (auto function : module.getOps<func::FuncOp>()) {
      LeftOut leftOut;
      for (auto op : function.getOps<nn::UpdateOp>())
        if (cast<nn::OptimizerAttr>(op.getOptimizer()).model()->countsUpdates())
          histories[op.getVariable()].add(function, op, leftOut.number(op));
    }
    std::map<StringRef, std::map<std::vector<Counted>, std::string>> prefixes; // by group
    for (const auto &[variable, history] : histories)
      prefixes[history.group][history.updates];
    llvm::StringSet<> taken;
    for (const auto &[group, ofGroup] : prefixes)
      taken.insert(nameAfterGroup(group));
    for (const auto &[variable, history] : histories) {
      auto &ofGroup = prefixes[history.group];
      std::string &prefix = ofGroup[history.updates];
      if (prefix.empty())
        prefix = ofGroup.size() == 1 ? nameAfterGroup(history.group)
                                     : nameAfterFunctions(history.group, history.functions, taken);
      prefixOf[variable] = prefix;
    }
  }

  /// Returns the prefix of the names of the counters of a variable.
  const std::string &prefix(StringRef variable) const { return prefixOf.find(variable)->second; }

private:
  using Counted =
      std::tuple<const void *, const void *, int64_t>; ///< function, optimizer and the number of the condition
  struct History {
    std::vector<Counted> updates;
    llvm::SetVector<StringRef> functions;
    StringRef group; ///< the group in the first of the functions

    void add(func::FuncOp function, nn::UpdateOp op, int64_t leftOut) {
      if (updates.empty())
        group = op.getGroup().value_or("");
      updates.emplace_back(function.getAsOpaquePointer(), op.getOptimizer().getAsOpaquePointer(), leftOut);
      functions.insert(function.getSymName());
    }
  };

  llvm::StringMap<std::string> prefixOf;
};

/// Finds the functions that update by each schedule. They share one counter of
/// their runs, in which a run that leaves out its updates does not count. Where
/// a function may leave out some of its updates and not others, each update has
/// a counter with those of all functions that are left out for the same
/// variables.
class ScheduleCounters {
public:
  explicit ScheduleCounters(ModuleOp module) {
    findDivided(module);
    llvm::MapVector<Key, llvm::SetVector<StringRef>> functions; // by schedule
    for (auto function : module.getOps<func::FuncOp>()) {
      llvm::MapVector<Value, std::string> leftOutTogether; // by condition: the names of the variables
      for (auto op : function.getOps<nn::UpdateOp>())
        if (op.getUnless())
          leftOutTogether[op.getUnless()] += op.getVariable().str() + '\n';
      for (auto op : function.getOps<nn::UpdateOp>())
        if (op.getSchedule()) {
          const std::string names = isDivided.contains(*op.getSchedule()) ? leftOutTogether.lookup(op.getUnless()) : "";
          const Key key = {*op.getSchedule(), StringAttr::get(op.getContext(), names)};
          functions[key].insert(function.getSymName());
          keyOf[op] = key;
        }
    }
    llvm::StringSet<> taken;
    for (const auto &[schedule, ofSchedule] : functions)
      nameOf[schedule] =
          (functions.size() == 1 ? nameAfterGroup("") : nameAfterFunctions("", ofSchedule, taken)) + "step";
  }

  /// Returns the name of the counter of an update that has a schedule.
  const std::string &name(nn::UpdateOp op) const { return nameOf.find(keyOf.lookup(op))->second; }

private:
  using Key = std::pair<Attribute, Attribute>; ///< schedule, and the variables whose updates are left out together

  void findDivided(ModuleOp module) {
    for (auto function : module.getOps<func::FuncOp>()) {
      DenseMap<Attribute, Value> conditions; // by schedule
      for (auto op : function.getOps<nn::UpdateOp>())
        if (op.getSchedule() &&
            conditions.try_emplace(*op.getSchedule(), op.getUnless()).first->second != op.getUnless())
          isDivided.insert(*op.getSchedule());
    }
  }

  DenseSet<Attribute> isDivided; ///< schedules of which a function may leave out some updates and not others

  DenseMap<Key, std::string> nameOf;
  DenseMap<Operation *, Key> keyOf;
};

/// What the updates of one function share: values that are read and changed
/// once per step.
class FunctionUpdates {
public:
  FunctionUpdates(func::FuncOp function, SymbolTable &symbols, const UpdateSets &sets, const ScheduleCounters &counters)
      : symbols(symbols), sets(sets), counters(counters) {
    for (auto assign : function.getOps<sbp::AssignOp>())
      assigns[assign.getVariable()].push_back(assign);
  }

  sbp::VariableOp find(StringRef name) { return symbols.lookup<sbp::VariableOp>(name); }

  void noteAssigned(StringRef variable) {
    if (auto rate = rates.find(variable); rate != rates.end())
      rate->second.value = {};
  }

  /// Returns the read of the learning rate of this name that has its value at
  /// `op`; null if there is none yet.
  Value &learningRateAt(StringRef name, Operation *op) {
    Rate &rate = rates[name];
    ArrayRef<Operation *> byUser = assigns[name];
    for (; rate.nextAssign < byUser.size() && byUser[rate.nextAssign]->isBeforeInBlock(op); ++rate.nextAssign)
      rate.value = {};
    return rate.value;
  }

  SymbolTable &symbols;
  const UpdateSets &sets;
  const ScheduleCounters &counters;
  llvm::StringMap<Value> factors;                          ///< by the counter of the schedule
  DenseMap<std::pair<Value, Value>, Value> scheduledRates; ///< in f64, by learning rate and factor of the schedule
  std::map<std::pair<std::string, int64_t>, Value> powers; ///< by name and number of updates of the variable
  llvm::StringMap<int64_t> countedUpdates;                 ///< by variable, so far

private:
  struct Rate {
    size_t nextAssign = 0; ///< the first assignment by the user that has not been passed
    Value value;
  };

  llvm::StringMap<SmallVector<Operation *>> assigns; ///< by variable: the assignments by the user, in order
  llvm::StringMap<Rate> rates;                       ///< by name
};

/// Expands the update of one variable.
class VariableUpdate : public nn::Update {
public:
  VariableUpdate(nn::UpdateOp op, sbp::VariableOp variable, FunctionUpdates &function)
      : op(op), variable(variable), function(function), opBuilder(op) {}

  LogicalResult expand() {
    model = cast<nn::OptimizerAttr>(op.getOptimizer()).model();
    held = fenced(readUndecided(opBuilder, op.getLoc(), variable));
    before = computed(held);
    slope = computed(fenced(op.getGradient()));
    if (model->countsUpdates())
      ++function.countedUpdates[op.getVariable()];
    nn::Expr result = model->update(*this);
    if (isWrong)
      return failure();
    opBuilder.create<sbp::AssignOp>(op.getLoc(), op.getVariableAttr(),
                                    unlessLeftOut(held, result.as(expr(held))).value());
    function.noteAssigned(op.getVariable());
    op.erase();
    return success();
  }

  nn::Expr parameter() override { return expr(before); }
  nn::Expr gradient() override { return expr(slope); }

  nn::Expr state(std::string_view role) override {
    Value &value = states[std::string(role)];
    if (!value)
      value = computed(heldState(role));
    return expr(value);
  }

  void setState(std::string_view role, const nn::Expr &value) override {
    opBuilder.create<sbp::AssignOp>(op.getLoc(), FlatSymbolRefAttr::get(stateVariable(role).getSymNameAttr()),
                                    unlessLeftOut(heldState(role), value.as(expr(held))).value());
    states[std::string(role)] = value.value();
  }

  nn::Expr power(std::string_view role, double base) override {
    if (!model->countsUpdates()) {
      fail() << "asks for a power of " << base << ", but " << model->name()
             << " counts no updates; give it 'static constexpr bool kCountsUpdates = true'";
      return expr(nn::splat(opBuilder, op.getLoc(), RankedTensorType::get({}, opBuilder.getF64Type()), 1.0));
    }
    std::string name = function.sets.prefix(op.getVariable()) + std::string(role);
    Value &value = function.powers[{name, function.countedUpdates[op.getVariable()]}];
    if (!value) {
      const nn::Expr before = counter(name, 1.0);
      value = (before * base).value();
      assignCounter(name, before, expr(value));
    }
    return expr(value);
  }

  nn::Expr learningRate() override {
    const std::string name = nameAfterGroup(op.getGroup().value_or("")) + "learning_rate";
    Value &rate = function.learningRateAt(name, op);
    double initial = model->learningRate();
    checkLearningRate(name, initial);
    if (!rate)
      rate = readUndecided(opBuilder, op.getLoc(), scalarVariable(name, rateType(name), initial));
    if (op.getSchedule())
      return scheduled(rate, *op.getSchedule()).as(parameter());
    return expr(rate).as(parameter());
  }

private:
  nn::Expr expr(Value value) { return {opBuilder, op.getLoc(), value}; }

  /// Returns the new value, or, if the update is left out, the value before.
  nn::Expr unlessLeftOut(Value before, const nn::Expr &value) {
    return op.getUnless() ? select(expr(op.getUnless()), expr(before), value) : value;
  }

  /// Returns the value of a state before the update, in its stored type.
  Value heldState(std::string_view role) {
    Value &value = heldStates[std::string(role)];
    if (!value)
      value = fenced(readUndecided(opBuilder, op.getLoc(), stateVariable(role)));
    return value;
  }

  /// Returns the learning rate times the factor of the schedule for this run of
  /// the function.
  nn::Expr scheduled(Value rate, Attribute schedule) {
    const std::string &name = function.counters.name(op);
    Value &factor = function.factors[name];
    if (!factor) {
      nn::Expr updates = counter(name, 0.0);
      factor = cast<nn::RateScheduleAttr>(schedule).model()->factor(updates).value();
      assignCounter(name, updates, updates + 1.0);
    }
    Value &product = function.scheduledRates[{rate, factor}];
    if (!product)
      product = (expr(rate).wide() * expr(factor)).value();
    return expr(product);
  }

  /// Returns the value of a counter, an f64 scalar variable of the module.
  nn::Expr counter(StringRef name, double initial) {
    return expr(readUndecided(opBuilder, op.getLoc(), scalarVariable(name, opBuilder.getF64Type(), initial)));
  }
  void assignCounter(StringRef name, const nn::Expr &before, const nn::Expr &value) {
    opBuilder.create<sbp::AssignOp>(op.getLoc(), FlatSymbolRefAttr::get(opBuilder.getContext(), name),
                                    unlessLeftOut(before.value(), value).value());
  }

  InFlightDiagnostic fail() {
    isWrong = true;
    return op.emitOpError();
  }

  sbp::VariableOp scalarVariable(StringRef name, Type element, double initial) {
    if (sbp::VariableOp scalar = splitcast::scalarVariable(function.symbols, name, element, initial, variable))
      return scalar;
    fail() << "keeps a scalar in @" << name << ", but that is something else; rename it";
    OpBuilder b(variable); // has the right type for ops that are built before the error is seen
    return b.create<sbp::VariableOp>(op.getLoc(), name, RankedTensorType::get({}, element));
  }

  /// Returns the type of a learning rate: f32, or f64 where the module has such
  /// a variable already, as for a model in f64, whose rates f32 would round.
  Type rateType(StringRef name) {
    sbp::VariableOp known = function.find(name);
    const bool isWide = known && getElementTypeOrSelf(known.getType()).isF64();
    return isWide ? opBuilder.getF64Type() : opBuilder.getF32Type();
  }

  /// Returns a learning rate as its variable holds it.
  double asHeld(StringRef name, double rate) {
    return rateType(name).isF64() ? rate : static_cast<double>(static_cast<float>(rate));
  }

  void checkLearningRate(StringRef name, double initial) {
    sbp::VariableOp known = function.find(name);
    auto init = known ? dyn_cast_or_null<sbp::ConstantInitAttr>(known.getInitAttr()) : sbp::ConstantInitAttr();
    if (init && asHeld(name, init.getValue().getValueAsDouble()) != asHeld(name, initial)) // NaN is no initial rate
      fail() << "starts @" << name << " at " << initial << ", but it is initialized with "
             << init.getValue().getValueAsDouble()
             << "; a module has one learning rate, and one for each of nn.minimize's groups: put variables that need "
                "another one into a group, or assign @"
             << name << " before each update";
  }

  /// Returns the value in the type in which formulas compute: f16, which cannot
  /// hold an epsilon of 1e-8, becomes f32.
  Value computed(Value value) {
    const bool isF16 = getElementTypeOrSelf(value.getType()).isF16();
    return isF16 ? opBuilder.create<nn::CastOp>(op.getLoc(), value, opBuilder.getF32Type()) : value;
  }

  Value fenced(Value value) { return opBuilder.create<sbp::FenceOp>(op.getLoc(), value, op.getScope()); }

  sbp::VariableOp stateVariable(StringRef role) {
    std::string name = (variable.getSymName() + "." + role).str();
    if (Operation *taken = function.symbols.lookup(name)) {
      auto known = dyn_cast<sbp::VariableOp>(taken);
      bool isOurs = known && known.getStateOf() == variable.getSymName() && known.getRole() == role &&
                    nn::undecided(known.getType()) == nn::undecided(variable.getType());
      if (isOurs)
        return known;
      fail() << "keeps its state in @" << name << ", but that is " << (known ? "another" : "no")
             << " variable; rename it";
      return variable; // has the right type for ops that are built before the error is seen
    }
    OpBuilder b(variable->getContext());
    b.setInsertionPointAfter(variable);
    auto zero = sbp::ConstantInitAttr::get(b.getContext(), b.getF64FloatAttr(0.0));
    auto made =
        b.create<sbp::VariableOp>(variable.getLoc(), name, variable.getType(), zero, variable.getGroupOrPrefix());
    made.setStateOf(variable.getSymName());
    made.setRole(role);
    function.symbols.insert(made);
    return made;
  }

  nn::UpdateOp op;
  sbp::VariableOp variable;
  FunctionUpdates &function;
  OpBuilder opBuilder;
  std::unique_ptr<nn::OptimizerModel> model;
  Value held, before, slope; ///< the parameter as stored; parameter and gradient as formulas take them
  std::map<std::string, Value> states, heldStates; ///< by role: the values now, and the stored values before the update
  bool isWrong = false;
};

struct ExpandOptimizers : splitcast::impl::ExpandOptimizersPassBase<ExpandOptimizers> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    UpdateSets sets(getOperation());
    ScheduleCounters counters(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      FunctionUpdates shared(function, symbols, sets, counters);
      for (auto op : llvm::make_early_inc_range(function.getOps<nn::UpdateOp>()))
        if (failed(VariableUpdate(op, shared.find(op.getVariable()), shared).expand()))
          return signalPassFailure();
    }
  }
};

} // namespace
