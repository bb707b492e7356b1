#include "tests/differential/ExactParts.h"

#include "dialects/nn/Nn.h"

#include "llvm/ADT/MapVector.h"

#include <set>

using namespace mlir;

namespace splitcast::differential {

namespace {

/// The carried variable to which this run assigns a part, or its sum with those of earlier runs; "" if none.
std::string carriedFrom(Value part) {
  while (part) {
    Value next;
    for (Operation *user : part.getUsers()) {
      if (auto assign = dyn_cast<sbp::AssignOp>(user))
        return assign.getVariable().str();
      if (isa<sbp::FenceOp, nn::AddOp>(user))
        next = user->getResult(0);
    }
    part = next;
  }
  return "";
}

} // namespace

std::vector<CarriedParts> carriedPartsOf(ModuleOp module) {
  llvm::MapVector<Value, CarriedParts> parts; ///< by what is summed
  module.walk([&](nn::ExactPartOp part) {
    CarriedParts &of = parts[part.getInput()];
    of.resize(part.getOf());
    of[part.getPart()] = carriedFrom(part.getResult());
  });
  std::set<CarriedParts> found;
  for (const auto &[summed, names] : parts)
    if (llvm::none_of(names, [](const std::string &name) { return name.empty(); }))
      found.insert(names);
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
