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
    CarriedParts parts = {carriedIn(sum.getPart0()), carriedIn(sum.getPart1()), carriedIn(sum.getPart2())};
    if (llvm::none_of(parts, [](const std::string &name) { return name.empty(); }))
      found.insert(parts);
  });
  return {found.begin(), found.end()};
}

Outcome joinParts(Outcome outcome, const std::vector<CarriedParts> &all) {
  for (const auto &[first, second, third] : all) {
    auto sum = outcome.variables.find(first);
    if (sum == outcome.variables.end())
      continue;
    for (const std::string &name : {second, third}) {
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
