#include "dialects/sbp/EntryNames.h"

#include "dialects/sbp/Sbp.h"

#include <map>

using namespace mlir;
using namespace splitcast::sbp;

namespace {

constexpr StringLiteral kNameAttr = "sbp.name";

/// What differs between inputs and results: their words, and where their
/// numbers and names are found.
struct Side {
  const char *what, *prefix;
  ArrayRef<int64_t> (*numbersOf)(RunOp);
  Attribute (*said)(func::FuncOp, unsigned number);
};

const Side kInputs = {"input", "arg", [](RunOp run) { return run.getTakes(); },
                      [](func::FuncOp f, unsigned number) { return f.getArgAttr(number, kNameAttr); }};
const Side kResults = {"result", "result", [](RunOp run) { return run.getGives(); },
                       [](func::FuncOp f, unsigned number) { return f.getResultAttr(number, kNameAttr); }};

StringAttr nameOf(func::FuncOp function, unsigned number, int64_t countedAs, const Side &side) {
  if (auto said = dyn_cast_or_null<StringAttr>(side.said(function, number)))
    return said;
  return StringAttr::get(function.getContext(), side.prefix + std::to_string(countedAs));
}

/// The names of the inputs, or of the results, of one function or schedule. No
/// two of them may have the same name.
class Names {
public:
  Names(Operation *owner, const Side &side) : owner(owner), side(side) {}

  LogicalResult add(int64_t number, func::FuncOp function, unsigned ofFunction) {
    if (Attribute said = side.said(function, ofFunction))
      if (auto text = dyn_cast<StringAttr>(said); !text || text.empty())
        return function.emitOpError() << "@" << function.getSymName() << " names " << side.what << " " << ofFunction
                                      << " " << said << "; a name is a text that is not empty";
    const StringAttr name = nameOf(function, ofFunction, number, side);
    const Port port{function.getSymNameAttr(), ofFunction};
    auto [known, isNew] = numbers.try_emplace(name, number, port);
    if (isNew || known->second.first == number)
      return success();
    InFlightDiagnostic error = owner->emitOpError() << "has " << side.what << "s " << known->second.first << " and "
                                                    << number << " of the name " << name;
    if (known->second.second == port)
      return error << ", which are both " << side.what << " " << ofFunction << " of @" << function.getSymName()
                   << "; run a copy of it for one of them, with a name of its own";
    return error << "; give each its own (" << kNameAttr << ")";
  }

private:
  using Port = std::pair<StringAttr, unsigned>; ///< a function, and the number of its argument or result
  Operation *owner;
  const Side &side;
  DenseMap<StringAttr, std::pair<int64_t, Port>> numbers;
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

/// Verifies the names of schedules. An input or result without a name is named
/// by its number, so it must have one number wherever the function runs.
class ScheduleNames {
public:
  explicit ScheduleNames(const SymbolTable &symbols) : symbols(symbols) {}

  LogicalResult verify(ScheduleOp schedule) {
    Names inputs(schedule, kInputs), results(schedule, kResults);
    for (auto run : schedule.getBody().front().getOps<RunOp>()) {
      auto function = symbols.lookup<func::FuncOp>(run.getFunction());
      if (!function)
        continue;
      scheduled.insert(function);
      if (failed(verifySide(schedule, run, function, kInputs, inputs)) ||
          failed(verifySide(schedule, run, function, kResults, results)))
        return failure();
    }
    return success();
  }

  bool contains(func::FuncOp function) const { return scheduled.contains(function); }

private:
  LogicalResult verifySide(ScheduleOp schedule, RunOp run, func::FuncOp function, const Side &side, Names &names) {
    for (auto [index, number] : llvm::enumerate(side.numbersOf(run))) {
      if (failed(names.add(number, function, index)))
        return failure();
      if (side.said(function, index))
        continue;
      auto [known, isNew] = counted.try_emplace({&side, function.getOperation(), index}, schedule, number);
      if (!isNew && known->second.second != number && known->second.first == schedule)
        return schedule.emitOpError() << "counts " << side.what << " " << index << " of @" << function.getSymName()
                                      << " as " << known->second.second << " and as " << number
                                      << "; run a copy of it for one of them, with a name of its own";
      if (!isNew && known->second.second != number)
        return schedule.emitOpError() << "counts " << side.what << " " << index << " of @" << function.getSymName()
                                      << " as " << number << ", and @" << known->second.first.getSymName() << " as "
                                      << known->second.second << "; give it a name (" << kNameAttr << ")";
    }
    return success();
  }

  const SymbolTable &symbols;
  DenseSet<Operation *> scheduled;
  std::map<std::tuple<const Side *, Operation *, size_t>, std::pair<ScheduleOp, int64_t>> counted;
};

} // namespace

EntryNames::EntryNames(func::FuncOp function) : function(function) {
  auto module = function->getParentOfType<ModuleOp>();
  if (!module)
    return;
  for (auto schedule : module.getOps<ScheduleOp>())
    for (auto run : schedule.getBody().front().getOps<RunOp>())
      if (run.getFunction() == function.getSymName()) {
        takes.assign(run.getTakes().begin(), run.getTakes().end());
        gives.assign(run.getGives().begin(), run.getGives().end());
        return;
      }
}

StringAttr EntryNames::ofInput(unsigned number) {
  return nameOf(function, number, number < takes.size() ? takes[number] : number, kInputs);
}

StringAttr EntryNames::ofResult(unsigned number) {
  return nameOf(function, number, number < gives.size() ? gives[number] : number, kResults);
}

LogicalResult splitcast::sbp::verifyEntryNames(ModuleOp module) {
  const SymbolTable symbols(module);
  ScheduleNames schedules(symbols);
  for (auto schedule : module.getOps<ScheduleOp>())
    if (failed(schedules.verify(schedule)))
      return failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (!schedules.contains(function) && failed(verifyFunction(function)))
      return failure();
  return success();
}
