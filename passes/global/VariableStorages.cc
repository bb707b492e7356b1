#include "passes/global/VariableStorages.h"

using namespace mlir;

namespace splitcast {

static std::string rangeOf(StringRef bucket, StringRef role) { return ("bucket @" + bucket + " " + role).str(); }

std::string storageOf(sbp::VariableOp variable) {
  if (sbp::SlotAttr slot = variable.getSlotAttr())
    return rangeOf(slot.getBucket().getValue(), variable.getRole().value_or(sbp::kParameterRole));
  return ("@" + variable.getSymName()).str();
}

std::vector<int64_t> coordinatesOf(sbp::VariableOp variable) {
  std::vector<int64_t> coordinates;
  for (const sbp::Sbp &entry : variable.getLogical().toAlgebra())
    coordinates.push_back(entry.isAt() ? entry.dim : -1);
  return coordinates;
}

static std::string storageOf(StringRef name, const SymbolTable &symbols) {
  auto variable = symbols.lookup<sbp::VariableOp>(name);
  return variable ? storageOf(variable) : ("@" + name).str();
}

std::string storageOf(Operation *op, const SymbolTable &symbols) {
  if (auto read = dyn_cast<sbp::ReadOp>(op))
    return storageOf(read.getVariable(), symbols);
  if (auto assign = dyn_cast<sbp::AssignOp>(op))
    return storageOf(assign.getVariable(), symbols);
  if (auto read = dyn_cast<sbp::BucketReadOp>(op))
    return rangeOf(read.getBucket(), read.getRole());
  if (auto assign = dyn_cast<sbp::BucketAssignOp>(op))
    return rangeOf(assign.getBucket(), assign.getRole());
  return {};
}

bool isAssignment(Operation *op) { return isa<sbp::AssignOp, sbp::BucketAssignOp>(op); }

} // namespace splitcast
