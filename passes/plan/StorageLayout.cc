// Decides which storages are carried, by which steps, and the place of each.
#include "passes/plan/StorageLayout.h"

#include "dialects/sbp/algebra/Sizes.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace splitcast {

std::optional<int64_t> alignedEnd(int64_t begin, std::optional<int64_t> bytes) {
  std::optional<int64_t> end = bytes ? sbp::checkedSum(begin, *bytes) : std::nullopt;
  return end ? sbp::checkedAlignUp(*end, sbp::kAlignmentBytes) : std::nullopt;
}

class StorageLayoutBuilder {
public:
  explicit StorageLayoutBuilder(ModuleOp module) : module(module), symbols(module) {}

  FailureOr<StorageLayout> run() {
    findSteps();
    findUses();
    for (auto storage : module.getOps<ccl::StorageOp>())
      if (failed(isCarried(storage) ? placeInArena(storage) : placePersistent(storage)))
        return failure();
    return std::move(layout);
  }

private:
  /// Numbers the steps. All functions that a schedule runs are of one step, and
  /// so are schedules that have a function in common.
  void findSteps() {
    llvm::EquivalenceClasses<Operation *> together;
    for (auto function : module.getOps<func::FuncOp>())
      together.insert(function);
    for (auto schedule : module.getOps<sbp::ScheduleOp>())
      for (auto run : schedule.getBody().front().getOps<sbp::RunOp>())
        if (auto function = symbols.lookup<func::FuncOp>(run.getFunction()))
          together.unionSets(schedule, function);
    DenseMap<Operation *, size_t> numbers; // by the leader of its class
    for (auto function : module.getOps<func::FuncOp>())
      layout.stepOf[function] = numbers.try_emplace(together.getLeaderValue(function), numbers.size()).first->second;
    layout.steps.resize(numbers.size());
  }

  /// Finds the steps that use each storage, and how it is assigned: in parts,
  /// and by functions with arguments.
  void findUses() {
    for (auto function : module.getOps<func::FuncOp>())
      for (Operation &op : function.getBody().front()) {
        if (auto read = dyn_cast<ccl::ReadOp>(op))
          users[read.getStorage()].insert(layout.stepOf[function]);
        auto assign = dyn_cast<ccl::AssignOp>(op);
        if (!assign)
          continue;
        users[assign.getStorage()].insert(layout.stepOf[function]);
        auto storage = symbols.lookup<ccl::StorageOp>(assign.getStorage());
        if (storage && storage.getTensorType().getNumElements() !=
                           cast<RankedTensorType>(assign.getValue().getType()).getNumElements())
          byParts.insert(assign.getStorage());
        if (function.getNumArguments() > 0) // a function without arguments computes from variables alone
          ofInputs.insert(assign.getStorage());
      }
  }

  /// Whether the storage can lie in the arena: all its members are carried, and
  /// each assignment assigns it whole.
  bool isCarried(ccl::StorageOp storage) {
    return !storage.getMembers().empty() && users.contains(storage.getSymName()) &&
           !byParts.contains(storage.getSymName()) &&
           llvm::all_of(storage.getMembers().getAsRange<FlatSymbolRefAttr>(), [&](FlatSymbolRefAttr member) {
             auto variable = symbols.lookup<sbp::VariableOp>(member.getValue());
             return variable && variable.getCarried();
           });
  }

  /// Places a carried storage at the same offset in all steps that use it,
  /// behind the carried storages of each.
  LogicalResult placeInArena(ccl::StorageOp storage) {
    int64_t begin = 0;
    for (size_t step : users[storage.getSymName()])
      begin = std::max(begin, layout.steps[step].end);
    FailureOr<int64_t> end = place(storage, exec::kArenaName, begin);
    const exec::Role role = ofInputs.contains(storage.getSymName()) ? exec::Role::Accumulator : exec::Role::Gathered;
    for (size_t step : users[storage.getSymName()]) {
      layout.steps[step].end = end.value_or(0);
      layout.steps[step].carried.push_back(
          {storage.getSymNameAttr(), layout.ranges.lookup(storage.getSymName()), role});
    }
    return end;
  }

  LogicalResult placePersistent(ccl::StorageOp storage) {
    FailureOr<int64_t> end = place(storage, exec::kPersistentName, layout.persistentEnd);
    layout.persistentEnd = end.value_or(0);
    return end;
  }

  FailureOr<int64_t> place(ccl::StorageOp storage, StringRef space, int64_t begin) {
    RankedTensorType type = storage.getTensorType();
    const std::optional<int64_t> bytes = sbp::checkedBytes(sbp::shapeOf(type), sbp::elementBytes(type));
    const std::optional<int64_t> end = alignedEnd(begin, bytes);
    if (!end)
      return storage.emitOpError() << "@" << storage.getSymName() << " of type " << type
                                   << " would bring the storages of its space to more than " << sbp::kMostBytesText
                                   << "; use more ranks, or smaller variables";
    layout.ranges[storage.getSymName()] =
        exec::RangeAttr::get(module.getContext(), StringAttr::get(module.getContext(), space), begin, *bytes);
    return *end;
  }

  ModuleOp module;
  SymbolTable symbols;
  StorageLayout layout;
  llvm::StringMap<llvm::SmallSetVector<size_t, 2>> users; ///< the steps that use a storage
  llvm::StringSet<> byParts, ofInputs; ///< storages that are assigned in parts, or by functions with arguments
};

FailureOr<StorageLayout> StorageLayout::create(ModuleOp module) { return StorageLayoutBuilder(module).run(); }

ArrayRef<StorageLayout::Carried> StorageLayout::carriedOf(func::FuncOp function) const {
  return steps[stepOf.lookup(function)].carried;
}

int64_t StorageLayout::carriedBytes(func::FuncOp function) const { return steps[stepOf.lookup(function)].end; }

exec::RangeAttr StorageLayout::rangeOf(StringRef storage, int64_t offset, int64_t bytes) const {
  const exec::RangeAttr whole = ranges.lookup(storage);
  return exec::RangeAttr::get(whole.getContext(), whole.getSpace(), whole.getOffset() + offset, bytes);
}

} // namespace splitcast
