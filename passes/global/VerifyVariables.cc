// Verifies what variables require of each other: states of one variable,
// members of one bucket, and names that the plan needs.
#include "passes/global/Passes.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace splitcast;

namespace {

InFlightDiagnostic differ(sbp::VariableOp variable, sbp::VariableOp other, const Twine &how) {
  InFlightDiagnostic diag = variable.emitOpError() << "@" << variable.getSymName() << " " << how;
  diag.attachNote(other.getLoc()) << "@" << other.getSymName() << " is declared here";
  return diag;
}

/// Returns the axis along which the storage of a variable is a slot, or -1.
int64_t flatAxisOf(sbp::VariableOp variable) {
  sbp::NdAttr storage = variable.getStorageOrLogical();
  if (!storage)
    return -1;
  ArrayRef<sbp::EntryAttr> entries = storage.getEntries();
  auto flat = llvm::find_if(entries, [](sbp::EntryAttr entry) { return entry.getSlot() != nullptr; });
  return flat == entries.end() ? -1 : flat - entries.begin();
}

StringRef bucketOf(sbp::VariableOp variable) { return variable.getSlotAttr().getBucket().getValue(); }

int64_t slotBegin(sbp::VariableOp variable) { return variable.getSlotAttr().getOffset(); }

/// Returns the end of the elements of the bucket that a piece of the variable
/// may take.
int64_t slotEnd(sbp::VariableOp variable) {
  sbp::NdAttr storage = variable.getStorageOrLogical();
  sbp::Shape shape = sbp::shapeOf(variable.getType());
  int64_t elements = storage ? sbp::maxBoxElements(shape, storage.toAlgebra(), storage.getPlacement().toAlgebra())
                             : sbp::numElements(shape);
  return slotBegin(variable) + elements;
}

LogicalResult verifyAlike(sbp::VariableOp first, sbp::VariableOp member) {
  Type element = member.getTensorType().getElementType();
  if (element != first.getTensorType().getElementType())
    return differ(member, first,
                  "lies in bucket '" + bucketOf(member) + "' with @" + first.getSymName() +
                      ", whose elements are of another type; put it into a bucket of its own");
  if (flatAxisOf(member) != flatAxisOf(first))
    return differ(member, first,
                  "lies in bucket '" + bucketOf(member) + "' with @" + first.getSymName() +
                      ", which is not split along the same axis; store both alike");
  return success();
}

/// Verifies that slots do not overlap. Sorted by offset, only neighbours have
/// to be compared.
LogicalResult verifyDisjoint(ArrayRef<sbp::VariableOp> members) {
  std::vector<std::pair<int64_t, size_t>> byOffset;
  for (auto [index, member] : llvm::enumerate(members))
    if (slotEnd(member) > slotBegin(member)) // an empty slot overlaps nothing
      byOffset.push_back({slotBegin(member), index});
  llvm::sort(byOffset);
  for (size_t next = 1; next < byOffset.size(); ++next) {
    sbp::VariableOp last = members[byOffset[next - 1].second], member = members[byOffset[next].second];
    if (slotEnd(last) > slotBegin(member))
      return differ(member, last,
                    "lies in bucket '" + bucketOf(member) + "' from element " + Twine(slotBegin(member)) +
                        " on, where @" + last.getSymName() + " lies up to element " + Twine(slotEnd(last)) +
                        "; give it another slot");
  }
  return success();
}

LogicalResult verifyBuckets(ModuleOp module) {
  llvm::MapVector<Attribute, sbp::VariableOp> buckets; ///< by bucket: its first member
  llvm::MapVector<std::pair<Attribute, Attribute>, SmallVector<sbp::VariableOp>> storages; ///< by bucket and role
  for (auto variable : module.getOps<sbp::VariableOp>()) {
    sbp::SlotAttr slot = variable.getSlotAttr();
    if (!slot)
      continue;
    sbp::VariableOp first = buckets.insert({slot.getBucket(), variable}).first->second;
    if (first.getSlotAttr().getTotal() != slot.getTotal())
      return differ(variable, first,
                    "lies in bucket '" + bucketOf(variable) + "' of " + Twine(slot.getTotal()) +
                        " elements, which has " + Twine(first.getSlotAttr().getTotal()) + " for @" +
                        first.getSymName() + "; a bucket has one size");
    if (first.getSlotAttr().getEnds() != slot.getEnds())
      return differ(variable, first,
                    "lies in bucket '" + bucketOf(variable) + "', whose chunks end elsewhere than for @" +
                        first.getSymName() + "; give all its slots the same ends");
    SmallVector<sbp::VariableOp> &members = storages[{slot.getBucket(), variable.getRoleAttr()}];
    members.push_back(variable);
    if (failed(verifyAlike(members.front(), variable)))
      return failure();
  }
  for (const auto &[key, members] : storages)
    if (failed(verifyDisjoint(members)))
      return failure();
  return success();
}

/// Returns the names that 'sbp-localize' may give to storages.
llvm::StringSet<> storageNames(ModuleOp module) {
  llvm::StringSet<> names;
  for (auto variable : module.getOps<sbp::VariableOp>()) {
    names.insert(("storage." + variable.getSymName()).str());
    if (variable.getSlotAttr())
      names.insert(("bucket." + bucketOf(variable) + "." + variable.getRole().value_or(sbp::kParameterRole)).str());
  }
  return names;
}

/// Verifies that no symbol has a name that a plan needs for its own symbols
/// (dialects/exec/Exec.h).
LogicalResult verifyNames(ModuleOp module) {
  const llvm::StringSet<> storages = storageNames(module);
  for (Operation &op : *module.getBody()) {
    if (!isa<sbp::VariableOp, sbp::ScheduleOp, func::FuncOp>(op))
      continue;
    StringRef name = SymbolTable::getSymbolName(&op).getValue();
    if (storages.contains(name) || llvm::is_contained({"kernels", "persistent", "arena"}, name))
      return op.emitOpError() << "@" << name << " has a name that the compiler gives to "
                              << (storages.contains(name) ? "a storage of variables" : "a part of the plan")
                              << "; rename it";
  }
  return success();
}

LogicalResult verifyRoles(ModuleOp module) {
  DenseMap<std::pair<Attribute, Attribute>, sbp::VariableOp> states;
  for (auto variable : module.getOps<sbp::VariableOp>()) {
    if (!variable.getStateOf())
      continue;
    auto [known, isNew] = states.try_emplace({variable.getStateOfAttr(), variable.getRoleAttr()}, variable);
    if (!isNew)
      return differ(variable, known->second,
                    "is state of @" + *variable.getStateOf() + " with role \"" + *variable.getRole() + "\", as @" +
                        known->second.getSymName() + " is; give each a role of its own");
  }
  return success();
}

} // namespace

LogicalResult splitcast::verifyVariables(ModuleOp module) {
  return success(succeeded(verifyRoles(module)) && succeeded(verifyBuckets(module)) && succeeded(verifyNames(module)));
}
