#include "dialects/sbp/EntryNames.h"

#include "dialects/sbp/Sbp.h"

#include <map>

using namespace mlir;
using namespace splitcast::sbp;

namespace {

constexpr StringLiteral kNameAttr = "sbp.name";

/// What tells inputs from results.
struct Side {
  const char *what, *prefix;
  ArrayRef<int64_t> (*numbersOf)(RunOp);
  Attribute (*said)(func::FuncOp, unsigned number);
};

const Side kInputs = {"input", "arg", [](RunOp run) { return run.getTakes(); },
                      [](func::FuncOp f, unsigned number) { return f.getArgAttr(number, kNameAttr); }};
const Side kResults = {"result", "result", [](RunOp run) { return run.getGives(); },
                       [](func::FuncOp f, unsigned number) { return f.getResultAttr(number, kNameAttr); }};

/// As the first schedule counts it that runs the function, or as that does itself.
int64_t countedAs(func::FuncOp function, unsigned number, const Side &side) {
  if (auto module = function->getParentOfType<ModuleOp>())
    for (auto schedule : module.getOps<ScheduleOp>())
      for (auto run : schedule.getBody().front().getOps<RunOp>())
        if (ArrayRef<int64_t> numbers = side.numbersOf(run);
            run.getFunction() == function.getSymName() && number < numbers.size())
          return numbers[number];
  return number;
}

StringAttr nameOf(func::FuncOp function, unsigned number, const Side &side) {
  if (auto said = dyn_cast_or_null<StringAttr>(side.said(function, number)))
    return said;
  return StringAttr::get(function.getContext(), side.prefix + std::to_string(countedAs(function, number, side)));
}

/// Of one function or schedule.
class Names {
public:
  Names(Operation *owner, const Side &side) : owner(owner), side(side) {}

  LogicalResult add(int64_t number, func::FuncOp function, unsigned ofFunction) {
    if (Attribute said = side.said(function, ofFunction))
      if (auto text = dyn_cast<StringAttr>(said); !text || text.empty())
        return function.emitOpError() << "@" << function.getSymName() << " names " << side.what << " " << ofFunction
                                      << " " << said << "; a name is a text that is not empty";
    const StringAttr name = nameOf(function, ofFunction, side);
    auto [known, isNew] = numbers.try_emplace(name, number);
    if (!isNew && known->second != number)
      return owner->emitOpError() << "has " << side.what << "s " << known->second << " and " << number
                                  << " of the name " << name << "; give each its own (" << kNameAttr << ")";
    return success();
  }

private:
  Operation *owner;
  const Side &side;
  DenseMap<StringAttr, int64_t> numbers;
};

LogicalResult verifyFunction(func::FuncOp function) {
  Names inputs(function, kInputs), results(function, kResults);
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (failed(inputs.add(i, function, i)))
      return failure();
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (failed(results.add(i, function, i)))
      return failure();
  return success();
}

LogicalResult verifySchedule(ScheduleOp schedule, const SymbolTable &symbols) {
  Names inputs(schedule, kInputs), results(schedule, kResults);
  for (auto run : schedule.getBody().front().getOps<RunOp>()) {
    auto function = symbols.lookup<func::FuncOp>(run.getFunction());
    if (!function)
      continue;
    for (auto [index, number] : llvm::enumerate(run.getTakes()))
      if (failed(inputs.add(number, function, index)))
        return failure();
    for (auto [index, number] : llvm::enumerate(run.getGives()))
      if (failed(results.add(number, function, index)))
        return failure();
  }
  return success();
}

} // namespace

StringAttr splitcast::sbp::nameOfInput(func::FuncOp function, unsigned number) {
  return nameOf(function, number, kInputs);
}

StringAttr splitcast::sbp::nameOfResult(func::FuncOp function, unsigned number) {
  return nameOf(function, number, kResults);
}

LogicalResult splitcast::sbp::verifyEntryNames(ModuleOp module) {
  const SymbolTable symbols(module);
  DenseSet<StringAttr> scheduled;
  for (auto schedule : module.getOps<ScheduleOp>()) {
    if (failed(verifySchedule(schedule, symbols)))
      return failure();
    for (auto run : schedule.getBody().front().getOps<RunOp>())
      scheduled.insert(run.getFunctionAttr().getAttr());
  }
  for (auto function : module.getOps<func::FuncOp>())
    if (!scheduled.contains(function.getSymNameAttr()) && failed(verifyFunction(function)))
      return failure();
  return success();
}
