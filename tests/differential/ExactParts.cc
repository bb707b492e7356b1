#include "tests/differential/ExactParts.h"

#include "dialects/nn/Nn.h"

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

} // namespace

std::vector<CarriedParts> carriedPartsOf(ModuleOp module) {
  std::set<CarriedParts> found;
  module.walk([&](nn::ExactSumOp sum) {
    CarriedParts parts;
    for (Value part : sum.getParts())
      parts.push_back(carriedIn(part));
    if (llvm::none_of(parts, [](const std::string &name) { return name.empty(); }))
      found.insert(parts);
  });
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
