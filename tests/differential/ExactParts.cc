#include "tests/differential/ExactParts.h"

#include "dialects/nn/Nn.h"

#include "llvm/ADT/MapVector.h"

#include <set>

using namespace mlir;

namespace splitcast::differential {

namespace {

/// The carried variable that an operand of nn.exact_sum is, or to which this run adds its own; "" if none.
std::string carriedIn(Value part) {
  while (Operation *op = part.getDefiningOp()) {
    if (auto read = dyn_cast<sbp::ReadOp>(op))
      return read.getVariable().str();
    if (!isa<sbp::FenceOp, nn::AddOp>(op))
      break;
    part = op->getOperand(0);
  }
  return "";
}

/// The carried variable to which this run assigns a part as it is; "" if none.
std::string carriedFrom(Value part) {
  for (Operation *user : part.getUsers())
    if (auto assign = dyn_cast<sbp::AssignOp>(user))
      return assign.getVariable().str();
  return "";
}

} // namespace

std::vector<CarriedParts> carriedPartsOf(ModuleOp module) {
  llvm::MapVector<Value, CarriedParts> made; ///< by what is summed: of sums that nothing need read
  std::set<CarriedParts> found;
  auto note = [&](llvm::ArrayRef<std::string> names) {
    if (llvm::none_of(names, [](const std::string &name) { return name.empty(); }))
      found.insert(CarriedParts(names.begin(), names.end()));
  };
  module.walk([&](Operation *op) {
    if (auto sum = dyn_cast<nn::ExactSumOp>(op))
      note(llvm::map_to_vector(sum.getParts(), carriedIn));
    auto part = dyn_cast<nn::ExactPartOp>(op);
    if (!part)
      return;
    CarriedParts &of = made[part.getInput()];
    of.resize(part.getOf());
    of[part.getPart()] = carriedFrom(part.getResult());
  });
  for (const auto &[summed, names] : made)
    note(names);
  return {found.begin(), found.end()};
}

Outcome joinParts(Outcome outcome, const std::vector<CarriedParts> &all) {
  for (const CarriedParts &parts : all) {
    auto sum = outcome.variables.find(parts.front());
    if (sum == outcome.variables.end())
      continue;
    for (const std::string &name : llvm::ArrayRef(parts).drop_front()) {
      auto part = outcome.variables.find(name);
      if (part == outcome.variables.end())
        continue;
      for (auto [to, from] : llvm::zip_equal(sum->second.floats, part->second.floats))
        to += from;
      outcome.variables.erase(part);
    }
  }
  return outcome;
}

} // namespace splitcast::differential
