#include "dialects/sbp/algebra/SolverTables.h"

#include "dialects/sbp/algebra/Sizes.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace splitcast::sbp {

bool operator==(const Score &a, const Score &b) {
  return std::tie(a.illegal, a.undone, a.cost, a.boxings, a.unsplitResults) ==
         std::tie(b.illegal, b.undone, b.cost, b.boxings, b.unsplitResults);
}

bool operator<(const Score &a, const Score &b) {
  return std::tie(a.illegal, a.undone, a.cost, a.boxings, a.unsplitResults) <
         std::tie(b.illegal, b.undone, b.cost, b.boxings, b.unsplitResults);
}

Score operator+(const Score &a, const Score &b) {
  return {a.illegal + b.illegal, a.undone + b.undone,
          checkedSum(a.cost, b.cost).value_or(std::numeric_limits<int64_t>::max()), a.boxings + b.boxings,
          a.unsplitResults + b.unsplitResults};
}

bool isElementwise(const LoopSpec &spec) {
  if (spec.results.empty())
    return false;
  for (const Factor &factor : spec.factors)
    if (factor.kind != FactorKind::Parallel)
      return false;
  for (const TensorFactors &operand : spec.operands)
    for (const std::vector<int> &dim : operand)
      if (dim.size() > 1)
        return false;
  const TensorFactors &first = spec.results.front();
  return std::all_of(first.begin(), first.end(), [](const std::vector<int> &dim) { return dim.size() == 1; });
}

Sbp operandOfElementwise(const LoopSpec &spec, size_t index, const Sbp &result) {
  const TensorFactors &operand = spec.operands[index], &loops = spec.results.front();
  if (result.isFlat() && operand.empty())
    return Sbp::broadcast();
  if (!result.isSplit())
    return result;
  const auto at = std::find(operand.begin(), operand.end(), loops[result.dim]);
  if (at == operand.end())
    return Sbp::broadcast();
  Sbp entry = result;
  entry.dim = at - operand.begin();
  return entry;
}

int64_t iterationsOf(LoopSpec spec, const std::vector<AxisReason> &axes, const Placement &placement) {
  int64_t slotRanks = 1;
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis].reason == OpSignature::Reason::FlatElementwise)
      slotRanks *= placement.axes[axis].size;
    splitLoops(spec, {{}, {}, axes[axis].reason, axes[axis].factor, axes[axis].unit, axes[axis].ends},
               placement.axes[axis].size);
  }
  int64_t iterations = 1;
  for (const Factor &factor : spec.factors)
    iterations = checkedProduct(iterations, factor.extent).value_or(std::numeric_limits<int64_t>::max());
  return (iterations - 1) / slotRanks + 1;
}

Score scoreOf(const Problem &problem, const std::vector<OpChoice> &ops) {
  solver::Tables tables(problem);
  return tables.score(tables.rowsOf(ops));
}

namespace solver {

size_t KeyHash::operator()(const Key &key) const {
  uint64_t hash = key.size();
  for (int64_t value : key) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

size_t ChangeHash::operator()(const Change &change) const {
  uint64_t hash = static_cast<uint64_t>(change.shape) * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(change.from);
  hash = (hash ^ (hash >> 29)) * 0xbf58476d1ce4e5b9u + static_cast<uint64_t>(change.to);
  return hash ^ (hash >> 32);
}

std::pair<int, bool> KeyNumbers::numberOf(Key key) {
  auto [at, isNew] = numbers.try_emplace(std::move(key), static_cast<int>(numbers.size()));
  return {at->second, isNew};
}

/// Adds the ends of an entry to its key. Few entries have ends: the complement
/// of the kind marks them, so that keys of the others need no number for it.
static void addEnds(const Ends &ends, size_t kindAt, Key &key) {
  if (ends.empty())
    return;
  key[kindAt] = ~key[kindAt];
  key.push_back(static_cast<int64_t>(ends.size()));
  key.insert(key.end(), ends.begin(), ends.end());
}

int Signatures::idOf(const NdSbp &sbp) {
  Key key;
  key.reserve(4 * sbp.size());
  for (const Sbp &entry : sbp) {
    const size_t kindAt = key.size();
    key.push_back(static_cast<int64_t>(entry.kind));
    if (entry.isSplit())
      key.insert(key.end(), {entry.dim, entry.unit});
    if (entry.isAt())
      key.push_back(entry.dim);
    if (entry.isFlat())
      key.insert(key.end(), {buckets.try_emplace(entry.slot.bucket, buckets.size()).first->second, entry.slot.offset,
                             entry.slot.total});
    addEnds(entry.isFlat() ? entry.slot.ends : entry.ends, kindAt, key);
  }
  auto [id, isNew] = numbers.numberOf(std::move(key));
  if (isNew)
    all.push_back(sbp);
  return id;
}

int Signatures::summed(int id) { return idOf(sbp::summed(all[id], all[id].size())); }

bool keepsSlots(const NdSbp &from, const NdSbp &to) {
  for (size_t flat = 0; flat < from.size(); ++flat)
    for (size_t axis = 0; from[flat].isFlat() && to[flat].isFlat() && axis < from.size(); ++axis) {
      const bool isSummed = axis > flat && from[axis].isPartial() && to[axis].isBroadcast();
      if (axis != flat && from[axis] != to[axis] && !isSummed)
        return false;
    }
  return true;
}

namespace {

void append(Key &key, const std::vector<int> &values) {
  key.push_back(values.size());
  key.insert(key.end(), values.begin(), values.end());
}

void append(Key &key, const std::vector<TensorFactors> &tensors) {
  key.push_back(tensors.size());
  for (const TensorFactors &tensor : tensors) {
    key.push_back(tensor.size());
    for (const std::vector<int> &dim : tensor)
      append(key, dim);
  }
}

Key keyOf(const LoopSpec &spec) {
  Key key = {spec.anyShape, spec.exactSums, static_cast<int64_t>(spec.factors.size())};
  for (const Factor &factor : spec.factors)
    key.insert(key.end(), {factor.extent, static_cast<int64_t>(factor.kind), factor.grain.elements});
  append(key, spec.operands);
  append(key, spec.results);
  for (const LinearSet &set : spec.linear) {
    append(key, set.operands);
    append(key, set.results);
  }
  return key;
}

} // namespace

Tables::Tables(const Problem &problem)
    : problem(problem), broadcast(signatures.idOf(NdSbp(problem.placement.axes.size()))), uses(problem.tensors.size()),
      demands(problem.tensors.size()) {
  for (size_t tensor = 0; tensor < problem.tensors.size(); ++tensor) {
    const TensorInfo &info = problem.tensors[tensor];
    Key key = info.shape;
    key.insert(key.end(), {info.elementBytes, info.keepsSplits});
    shapes.push_back(shapeNumbers.numberOf(std::move(key)).first);
    source.push_back(tensor);
  }
  // Follow each chain of `sameAs` once, and note its end for every tensor on
  // it.
  for (size_t tensor = 0; tensor < source.size(); ++tensor) {
    int end = tensor;
    while (source[end] == end && problem.tensors[end].sameAs >= 0)
      end = problem.tensors[end].sameAs;
    end = source[end];
    for (int at = tensor; at != end && source[at] == at; at = problem.tensors[at].sameAs)
      source[at] = end;
  }
  for (size_t op = 0; op < problem.ops.size(); ++op) {
    specs.push_back(specNumbers.numberOf(keyOf(problem.ops[op].spec)).first);
    const std::vector<int> &operands = problem.ops[op].operands;
    for (size_t operand = 0; operand < operands.size(); ++operand)
      uses[operands[operand]].push_back({static_cast<int>(op), static_cast<int>(operand)});
  }
  for (size_t demand = 0; demand < problem.demands.size(); ++demand)
    demands[problem.demands[demand].tensor].push_back(demand);
  noteWantedLater();
  noteMeetings();
}

void Tables::noteWantedLater() {
  later.resize(problem.tensors.size());
  for (const Demand &demand : problem.demands)
    later[demand.tensor] = demand.wanted;
  auto note = [&](int tensor, int of) {
    if (later[tensor].empty() && problem.tensors[tensor].shape == problem.tensors[of].shape)
      later[tensor] = later[of];
  };
  std::vector<std::vector<int>> sameAs(
      problem.tensors.size()); // by tensor: the tensors that are the same behind a fence
  for (size_t tensor = 0; tensor < problem.tensors.size(); ++tensor)
    if (problem.tensors[tensor].sameAs >= 0)
      sameAs[problem.tensors[tensor].sameAs].push_back(static_cast<int>(tensor));
  for (size_t op = problem.ops.size(); op-- > 0;)
    for (int result : problem.ops[op].results) {
      for (int behind : sameAs[result])
        note(result, behind);
      for (int operand : problem.ops[op].operands)
        if (isElementwise(problem.ops[op].spec))
          note(operand, result);
    }
}

/// The most elementwise ops that are followed from a broadcast to the tensor
/// that it meets.
static constexpr int kMostHops = 4;

void Tables::noteMeetings() {
  std::vector<int> makers(problem.tensors.size(), -1); // by tensor: the op that makes it, or -1
  std::vector<std::vector<int>> behind(problem.tensors.size());
  for (size_t op = 0; op < problem.ops.size(); ++op)
    for (int result : problem.ops[op].results)
      makers[result] = static_cast<int>(op);
  for (size_t tensor = 0; tensor < problem.tensors.size(); ++tensor)
    behind[source[tensor]].push_back(static_cast<int>(tensor));
  auto countOf = [&](int tensor) { return numElements(problem.tensors[tensor].shape); };
  met.assign(problem.tensors.size(), -1);
  for (const SignatureOp &op : problem.ops) {
    if (!isElementwise(op.spec) || op.results.size() != 1)
      continue;
    int64_t taken = 0;
    for (int operand : op.operands)
      taken = cappedSum(taken, countOf(operand));
    if (const int result = op.results.front(); countOf(result) > taken)
      met[result] = meetingOf(result, makers, behind);
  }
}

/// Returns the tensor, if it exists before `op`; else the tensor from which
/// elementwise ops compute it and which exists before `op`; -1 if there is
/// none.
int Tables::madeBefore(int tensor, int op, const std::vector<int> &makers) const {
  for (int hop = 0; makers[tensor] >= op; ++hop) {
    const SignatureOp &maker = problem.ops[makers[tensor]];
    if (hop == kMostHops || makers[tensor] == op || !isElementwise(maker.spec))
      return -1;
    const auto same = std::find_if(maker.operands.begin(), maker.operands.end(), [&](int operand) {
      return problem.tensors[operand].shape == problem.tensors[tensor].shape;
    });
    if (same == maker.operands.end())
      return -1;
    tensor = source[*same];
  }
  return tensor;
}

int Tables::meetingOf(int tensor, const std::vector<int> &makers, const std::vector<std::vector<int>> &behind) const {
  const int maker = makers[tensor];
  for (int hop = 0; hop < kMostHops; ++hop) {
    int user = -1; // the first op that uses the tensor
    for (int alias : behind[source[tensor]])
      for (const Use &use : uses[alias])
        user = user < 0 ? use.op : std::min(user, use.op);
    if (user < 0 || !isElementwise(problem.ops[user].spec))
      return -1;
    const Shape &shape = problem.tensors[tensor].shape;
    for (int other : problem.ops[user].operands)
      if (source[other] != source[tensor] && problem.tensors[other].shape == shape)
        if (const int made = madeBefore(source[other], maker, makers); made >= 0)
          return made;
    tensor = problem.ops[user].results.front();
    if (problem.tensors[tensor].shape != shape)
      return -1;
  }
  return -1;
}

const NdSbp &Tables::pinned(int op, int result) const {
  static const NdSbp open;
  const std::vector<NdSbp> &all = problem.ops[op].pinned;
  return all.empty() ? open : all[result];
}

const Score &Tables::boxing(int tensor, int from, int to) {
  auto [at, isNew] = prices.try_emplace(Change{shapes[tensor], from, to});
  Score &price = at->second;
  if (!isNew || from == to)
    return price;
  const NdSbp &before = signatures[from], &after = signatures[to];
  price.boxings = 1;
  price.undone = undoesSplit(tensor, before, after);
  if (!isLegalBoxing(before, after) || !keepsSlots(before, after))
    price.illegal = 1;
  else
    price.cost = problem.cost(problem.tensors[tensor].shape, problem.tensors[tensor].elementBytes, before, after,
                              problem.placement);
  return price;
}

bool Tables::undoesSplit(int tensor, const NdSbp &from, const NdSbp &to) const {
  for (size_t axis = 0; problem.tensors[tensor].keepsSplits && axis < from.size(); ++axis)
    if ((from[axis].isSplit() || from[axis].isAt()) && to[axis] != from[axis] && problem.placement.axes[axis].size > 1)
      return true;
  return false;
}

int64_t Tables::costAlong(int64_t axis, int tensor, const NdSbp &from, const NdSbp &to) {
  if (problem.placement.axes[axis].size == 1) // every entry means the same bytes there
    return 0;
  const TensorInfo &info = problem.tensors[tensor];
  auto [at, isNew] = costs.try_emplace(Change{shapes[tensor], signatures.idOf(from), signatures.idOf(to)});
  if (isNew)
    at->second = problem.cost(info.shape, info.elementBytes, from, to, problem.placement);
  return at->second;
}

int Tables::wantedBy(int demand, int seen) {
  const Demand &each = problem.demands[demand];
  if (each.wanted.empty())
    return signatures.summed(seen);
  if (!each.orAs.empty() && signatures.idOf(each.orAs) == seen)
    return seen;
  return signatures.idOf(each.wanted);
}

int Tables::seenAs(int op, int result, int made) {
  const NdSbp &wanted = pinned(op, result);
  return wanted.empty() || made == kFree ? made : signatures.idOf(wanted);
}

Score Tables::ownScore(int op, const RowIds &row) {
  Score score;
  for (size_t result = 0; result < row.results.size(); ++result) {
    const int made = row.results[result];
    if (made == kFree)
      continue;
    score = score + boxing(problem.ops[op].results[result], made, seenAs(op, result, made));
    const NdSbp &sbp = signatures[made];
    auto isCut = [](const Sbp &entry) { return entry.isSplit() || entry.isFlat(); };
    score.unsplitResults += std::none_of(sbp.begin(), sbp.end(), isCut);
  }
  return score;
}

std::vector<int> Tables::seen(const std::vector<RowIds> &rows) {
  std::vector<int> seen(problem.tensors.size(), kFree);
  for (size_t tensor = 0; tensor < seen.size(); ++tensor)
    if (!problem.tensors[tensor].given.empty())
      seen[tensor] = signatures.idOf(problem.tensors[tensor].given);
  for (size_t op = 0; op < rows.size(); ++op)
    for (size_t result = 0; result < rows[op].results.size(); ++result)
      seen[problem.ops[op].results[result]] = seenAs(op, result, rows[op].results[result]);
  for (size_t tensor = 0; tensor < seen.size(); ++tensor)
    if (source[tensor] != static_cast<int>(tensor))
      seen[tensor] = seen[source[tensor]] == kFree ? broadcast : seen[source[tensor]];
  return seen;
}

Score Tables::score(const std::vector<RowIds> &rows) {
  const std::vector<int> seen = this->seen(rows);
  Score score;
  for (size_t op = 0; op < rows.size(); ++op)
    score = score + ownScore(op, rows[op]);
  for (size_t tensor = 0; tensor < seen.size(); ++tensor)
    score = score + usesScore(tensor, seen[tensor], rows);
  return score;
}

Score Tables::usesScore(int tensor, int seen, const std::vector<RowIds> &rows) {
  Score score;
  if (seen == kFree) {
    // A free tensor may have any signature, except P.
    for (int demand : demands[tensor]) {
      const NdSbp &asked = problem.demands[demand].wanted;
      score.illegal += std::any_of(asked.begin(), asked.end(), [](const Sbp &entry) { return entry.isPartial(); });
    }
    return score;
  }
  std::vector<int> wanted;
  for (const Use &use : uses[tensor])
    wanted.push_back(rows[use.op].operands[use.operand]);
  for (int demand : demands[tensor])
    wanted.push_back(wantedBy(demand, seen));
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  for (int each : wanted)
    score = score + boxing(tensor, seen, each);
  return score;
}

Assignment Tables::assignment(const std::vector<RowIds> &rows) {
  Assignment result;
  result.score = score(rows);
  for (int id : seen(rows))
    result.tensors.push_back(id == kFree ? NdSbp() : signatures[id]);
  for (const RowIds &row : rows) {
    OpChoice choice;
    for (int id : row.operands)
      choice.row.operands.push_back(id == kFree ? NdSbp() : signatures[id]);
    for (int id : row.results)
      choice.row.results.push_back(id == kFree ? NdSbp() : signatures[id]);
    choice.axes = row.axes;
    choice.isFree = row.results.size() == 1 && row.results.front() == kFree;
    result.ops.push_back(std::move(choice));
  }
  return result;
}

std::vector<RowIds> Tables::rowsOf(const std::vector<OpChoice> &ops) {
  std::vector<RowIds> rows;
  for (const OpChoice &choice : ops) {
    RowIds row;
    for (const NdSbp &sbp : choice.row.operands)
      row.operands.push_back(sbp.empty() ? kFree : signatures.idOf(sbp));
    for (const NdSbp &sbp : choice.row.results)
      row.results.push_back(sbp.empty() ? kFree : signatures.idOf(sbp));
    row.axes = choice.axes;
    rows.push_back(std::move(row));
  }
  return rows;
}

} // namespace solver
} // namespace splitcast::sbp
