#include "dialects/sbp/algebra/Factors.h"

#include <algorithm>
#include <optional>
#include <set>

namespace splitcast::sbp {

int LoopSpec::addFactor(int64_t extent, FactorKind kind) {
  factors.push_back({extent, kind});
  return factors.size() - 1;
}

namespace {

/// Where a factor occurs in the dimensions of a tensor: nowhere, as the
/// outermost loop of a dimension (Leading), or within another loop (Inner).
struct Carry {
  enum class Kind { No, Leading, Inner } kind = Kind::No;
  int64_t dim = -1;
  int64_t inner = 1;        ///< elements of the dimension per iteration of a leading factor
  bool innerIsEqual = true; ///< whether `inner` is the same on every rank
};

Carry carryOf(const LoopSpec &spec, const TensorFactors &tensor, int factor) {
  for (size_t dim = 0; dim < tensor.size(); ++dim) {
    const std::vector<int> &factors = tensor[dim];
    auto at = std::find(factors.begin(), factors.end(), factor);
    if (at == factors.end())
      continue;
    Carry carry{Carry::Kind::Leading, static_cast<int64_t>(dim)};
    for (auto outer = factors.begin(); outer != at; ++outer)
      if (spec.factors[*outer].extent != 1)
        carry.kind = Carry::Kind::Inner;
    for (auto inner = at + 1; inner != factors.end(); ++inner) {
      carry.inner *= spec.factors[*inner].extent;
      carry.innerIsEqual &= spec.factors[*inner].grain.elements == spec.factors[*inner].extent;
    }
    return carry;
  }
  return {};
}

std::vector<Sbp> broadcasts(size_t count) { return std::vector<Sbp>(count, Sbp::broadcast()); }

/// Returns the row in which each rank gets whole units of the factor's
/// iterations; nothing if there is none, or if it is the row of unit 1.
std::optional<OpSignature> splitFactor(const LoopSpec &spec, int factor, int64_t axisSize, int64_t unit) {
  const Factor &split = spec.factors[factor];
  if (split.kind == FactorKind::Whole || !split.grain.canSplitBy(unit))
    return std::nullopt;
  bool isEven = split.grain.splitsEvenly(unit, axisSize);
  if (isEven && unit != 1)
    return std::nullopt;
  OpSignature row{broadcasts(spec.operands.size()), broadcasts(spec.results.size()), OpSignature::Reason::FactorSplit,
                  factor, unit};
  bool carried = false, legal = true;
  auto place = [&](const TensorFactors &tensor, Sbp &entry) {
    Carry carry = carryOf(spec, tensor, factor);
    legal &= carry.kind != Carry::Kind::Inner;
    if (carry.kind == Carry::Kind::Leading) {
      // The pieces of a dimension without elements are equal, too.
      legal &= isEven || carry.innerIsEqual;
      entry = Sbp::split(carry.dim, isEven || carry.inner == 0 ? 1 : unit * carry.inner);
    }
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
  if (!legal || !carried)
    return std::nullopt;
  return row;
}

/// Returns the row in which the pieces of a factor have these ends; nothing if
/// there is none.
std::optional<OpSignature> splitFactorTo(const LoopSpec &spec, int factor, const Ends &ends) {
  const Factor &split = spec.factors[factor];
  if (split.kind == FactorKind::Whole || split.grain.elements != split.extent || split.extent != ends.back())
    return std::nullopt;
  OpSignature row{broadcasts(spec.operands.size()),
                  broadcasts(spec.results.size()),
                  OpSignature::Reason::FactorSplit,
                  factor,
                  1,
                  ends};
  bool legal = true;
  auto place = [&](const TensorFactors &tensor, Sbp &entry) {
    const Carry carry = carryOf(spec, tensor, factor);
    if (carry.kind == Carry::Kind::No)
      return false;
    legal &= carry.kind == Carry::Kind::Leading && carry.inner == 1;
    entry = Sbp::splitTo(carry.dim, ends);
    return true;
  };
  for (size_t i = 0; i < spec.operands.size(); ++i)
    place(spec.operands[i], row.operands[i]);
  for (size_t i = 0; i < spec.results.size(); ++i)
    if (!place(spec.results[i], row.results[i])) {
      legal &= split.kind == FactorKind::Sum;
      row.results[i] = Sbp::partial();
    }
  return legal ? std::optional(row) : std::nullopt;
}

/// Factors, each with a unit by which, or with ends at which, it is to be
/// split.
using FactorUnits = std::set<std::pair<int, int64_t>>;
using FactorEnds = std::set<std::pair<int, Ends>>;

/// Adds the units and ends by which the tensors' entries split factors, where
/// they do not split them evenly. `entries` may be shorter than `tensors`.
void addUnits(const LoopSpec &spec, const std::vector<TensorFactors> &tensors, const std::vector<Sbp> &entries,
              FactorUnits &units, FactorEnds &ends) {
  for (size_t i = 0; i < std::min(tensors.size(), entries.size()); ++i) {
    const Sbp &entry = entries[i];
    if (!entry.isSplit() || entry.isPlain() || entry.dim >= static_cast<int64_t>(tensors[i].size()))
      continue;
    for (int factor : tensors[i][entry.dim]) {
      const Carry carry = carryOf(spec, tensors[i], factor);
      if (!entry.ends.empty())
        ends.insert({factor, entry.ends});
      else if (carry.kind == Carry::Kind::Leading && carry.inner > 0 && entry.unit % carry.inner == 0)
        units.insert({factor, entry.unit / carry.inner});
    }
  }
}

/// Returns the coordinates of the At entries, ascending.
std::set<int64_t> coordinatesOf(const std::vector<Sbp> &operands, const std::vector<Sbp> &results) {
  std::set<int64_t> coordinates;
  for (const std::vector<Sbp> *entries : {&operands, &results})
    for (const Sbp &entry : *entries)
      if (entry.isAt())
        coordinates.insert(entry.dim);
  return coordinates;
}

} // namespace

std::vector<OpSignature> deriveSignatures(const LoopSpec &spec, int64_t axisSize, const std::vector<Sbp> &operands,
                                          const std::vector<Sbp> &results) {
  OpSignature replicated{broadcasts(spec.operands.size()), broadcasts(spec.results.size()),
                         OpSignature::Reason::Replicated, -1};
  std::vector<OpSignature> rows;
  rows.reserve(1 + spec.factors.size() + spec.linear.size());
  rows.push_back(replicated);
  for (size_t factor = 0; factor < spec.factors.size(); ++factor)
    if (std::optional<OpSignature> row = splitFactor(spec, factor, axisSize, 1))
      rows.push_back(*std::move(row));
  FactorUnits units;
  FactorEnds ends;
  addUnits(spec, spec.operands, operands, units, ends);
  addUnits(spec, spec.results, results, units, ends);
  for (auto [factor, unit] : units)
    if (unit != 1)
      if (std::optional<OpSignature> row = splitFactor(spec, factor, axisSize, unit))
        rows.push_back(*std::move(row));
  for (const auto &[factor, to] : ends)
    if (std::optional<OpSignature> row = splitFactorTo(spec, factor, to))
      rows.push_back(*std::move(row));
  for (const LinearSet &set : spec.linear) {
    OpSignature row = replicated;
    row.reason = OpSignature::Reason::Linear;
    for (int operand : set.operands)
      row.operands[operand] = Sbp::partial();
    for (size_t result = 0; result < row.results.size(); ++result)
      if (set.results.empty() || std::count(set.results.begin(), set.results.end(), static_cast<int>(result)))
        row.results[result] = Sbp::partial();
    rows.push_back(std::move(row));
  }
  for (int64_t coordinate : coordinatesOf(operands, results))
    rows.push_back(rowAt(spec, coordinate));
  return rows;
}

OpSignature rowAt(const LoopSpec &spec, int64_t coordinate) {
  return {std::vector<Sbp>(spec.operands.size(), Sbp::at(coordinate)),
          std::vector<Sbp>(spec.results.size(), Sbp::at(coordinate)), OpSignature::Reason::At, -1};
}

void splitLoops(LoopSpec &spec, const OpSignature &row, int64_t axisSize) {
  if (row.factor < 0)
    return;
  Factor &factor = spec.factors[row.factor];
  const Sbp entry = row.ends.empty() ? Sbp::split(0, row.unit) : Sbp::splitTo(0, row.ends);
  factor.grain = factor.grain.afterSplit(entry, axisSize);
  factor.extent = pieceOf(factor.extent, axisSize, longestPiece(entry.ends), entry).count;
  if (!row.ends.empty())
    factor.kind = FactorKind::Whole; // ends belong to the whole length, and to one axis only
}

/// Whether the op has one operand, each element of which is an addend of all
/// results.
static bool sumsAll(const LoopSpec &spec) {
  if (spec.operands.size() != 1)
    return false;
  for (const std::vector<int> &dim : spec.operands.front())
    for (int factor : dim)
      if (spec.factors[factor].kind != FactorKind::Sum)
        return false;
  return true;
}

OpSignature flatSignature(const LoopSpec &spec, const Slot &slot) {
  if (spec.exactSums && sumsAll(spec))
    return {{Sbp::flat(slot)},
            std::vector<Sbp>(spec.results.size(), Sbp::partial()),
            OpSignature::Reason::FlatElementwise,
            -1};
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

std::optional<OpSignature> rowOf(const LoopSpec &spec, int64_t axisSize, const std::vector<Sbp> &operands,
                                 const std::vector<Sbp> &results) {
  auto matches = [&](const OpSignature &row) { return row.operands == operands && row.results == results; };
  for (OpSignature &row : deriveSignatures(spec, axisSize, operands, results))
    if (matches(row))
      return std::move(row);
  for (const std::vector<Sbp> *entries : {&results, &operands})
    for (const Sbp &entry : *entries)
      if (entry.isFlat()) {
        OpSignature row = flatSignature(spec, entry.slot);
        return matches(row) ? std::optional(row) : std::nullopt;
      }
  return std::nullopt;
}

bool isLegal(const LoopSpec &spec, int64_t axisSize, const std::vector<Sbp> &operands,
             const std::vector<Sbp> &results) {
  return rowOf(spec, axisSize, operands, results).has_value();
}

} // namespace splitcast::sbp
