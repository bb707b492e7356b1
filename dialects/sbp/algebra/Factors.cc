#include "dialects/sbp/algebra/Factors.h"

#include <algorithm>
#include <optional>

namespace splitcast::sbp {

int LoopSpec::addFactor(int64_t extent, FactorKind kind) {
  factors.push_back({extent, kind});
  return factors.size() - 1;
}

namespace {

/// How a tensor's dimensions carry a factor.
struct Carry {
  enum class Kind { No, Leading, Inner } kind = Kind::No;
  int64_t dim = -1;
  bool needsDivision = false; ///< the dimension has further factors inside: pieces must not cut them
};

Carry carryOf(const LoopSpec &spec, const TensorFactors &tensor, int factor) {
  for (size_t dim = 0; dim < tensor.size(); ++dim) {
    const std::vector<int> &factors = tensor[dim];
    auto at = std::find(factors.begin(), factors.end(), factor);
    if (at == factors.end())
      continue;
    auto isTrivial = [&](int f) { return spec.factors[f].extent == 1; };
    if (!std::all_of(factors.begin(), at, isTrivial))
      return {Carry::Kind::Inner, static_cast<int64_t>(dim), false};
    return {Carry::Kind::Leading, static_cast<int64_t>(dim), !std::all_of(at + 1, factors.end(), isTrivial)};
  }
  return {};
}

std::vector<Sbp> broadcasts(size_t count) { return std::vector<Sbp>(count, Sbp::broadcast()); }

std::optional<OpSignature> splitFactor(const LoopSpec &spec, int factor, int64_t axisSize) {
  const Factor &split = spec.factors[factor];
  if (split.kind == FactorKind::Whole)
    return std::nullopt;
  OpSignature row{broadcasts(spec.operands.size()), broadcasts(spec.results.size()), OpSignature::Reason::FactorSplit,
                  factor};
  bool carried = false, needsDivision = false, legal = true;
  auto place = [&](const TensorFactors &tensor, Sbp &entry) {
    Carry carry = carryOf(spec, tensor, factor);
    legal &= carry.kind != Carry::Kind::Inner;
    needsDivision |= carry.needsDivision;
    if (carry.kind == Carry::Kind::Leading)
      entry = Sbp::split(carry.dim);
    return carry.kind != Carry::Kind::No;
  };
  for (size_t i = 0; i < spec.operands.size(); ++i)
    carried |= place(spec.operands[i], row.operands[i]);
  for (size_t i = 0; i < spec.results.size(); ++i) {
    if (place(spec.results[i], row.results[i])) {
      carried = true;
      continue;
    }
    legal &= split.kind == FactorKind::Sum;
    row.results[i] = Sbp::partial();
  }
  if (!legal || !carried || (needsDivision && split.extent % axisSize != 0))
    return std::nullopt;
  return row;
}

} // namespace

std::vector<OpSignature> deriveSignatures(const LoopSpec &spec, int64_t axisSize) {
  OpSignature replicated{broadcasts(spec.operands.size()), broadcasts(spec.results.size()),
                         OpSignature::Reason::Replicated, -1};
  std::vector<OpSignature> rows = {replicated};
  for (size_t factor = 0; factor < spec.factors.size(); ++factor)
    if (std::optional<OpSignature> row = splitFactor(spec, factor, axisSize))
      rows.push_back(*row);
  for (const LinearSet &set : spec.linear) {
    OpSignature row = replicated;
    row.reason = OpSignature::Reason::Linear;
    for (int operand : set.operands)
      row.operands[operand] = Sbp::partial();
    for (size_t result = 0; result < row.results.size(); ++result)
      if (set.results.empty() || std::count(set.results.begin(), set.results.end(), static_cast<int>(result)))
        row.results[result] = Sbp::partial();
    rows.push_back(row);
  }
  return rows;
}

OpSignature flatSignature(const LoopSpec &spec, const Slot &slot) {
  OpSignature row{{}, {}, OpSignature::Reason::FlatElementwise, -1};
  if (!spec.anyShape || spec.results.empty() || spec.results.front().empty())
    return {};
  const TensorFactors &loops = spec.results.front();
  for (const TensorFactors &result : spec.results)
    if (result != loops)
      return {};
  for (const Factor &factor : spec.factors)
    if (factor.kind != FactorKind::Parallel)
      return {};
  for (const TensorFactors &operand : spec.operands) {
    bool isScalar = operand.empty();
    if (operand != loops && !isScalar)
      return {};
    row.operands.push_back(isScalar ? Sbp::broadcast() : Sbp::flat(slot));
  }
  row.results.assign(spec.results.size(), Sbp::flat(slot));
  return row;
}

bool isLegal(const LoopSpec &spec, int64_t axisSize, const std::vector<Sbp> &operands,
             const std::vector<Sbp> &results) {
  auto matches = [&](const OpSignature &row) { return row.operands == operands && row.results == results; };
  for (const OpSignature &row : deriveSignatures(spec, axisSize))
    if (matches(row))
      return true;
  for (const Sbp &entry : results)
    if (entry.isFlat())
      return matches(flatSignature(spec, entry.slot));
  return false;
}

} // namespace splitcast::sbp
