#include "dialects/sbp/algebra/SolverCandidates.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace splitcast::sbp::solver {

namespace {

/// The most rows of an op that are kept after each axis.
constexpr size_t kMostRows = 96;

bool contains(const std::vector<int> &values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

/// Finds the candidate rows of one op, axis by axis.
class RowSearch {
public:
  /// `possible` has, per operand, the signatures that it may have; none for a
  /// free operand. Rows with more iterations than `mostIterations` are left
  /// out.
  RowSearch(Tables &tables, int op, const std::vector<std::vector<int>> &possible, int64_t mostIterations)
      : tables(tables), op(op), each(tables.problem.ops[op]), placement(tables.problem.placement),
        mostIterations(mostIterations) {
    for (const std::vector<int> &ids : possible) {
      this->possible.emplace_back();
      for (int id : ids)
        this->possible.back().push_back(&tables.signatures[id]);
    }
  }

  std::vector<RowIds> run() {
    std::vector<Partial> found = {
        {each.spec, std::vector<NdSbp>(each.operands.size()), std::vector<NdSbp>(each.results.size()), {}, 0, 0}};
    for (size_t axis = 0; axis < placement.axes.size(); ++axis) {
      std::vector<Partial> longer;
      for (const Partial &partial : found)
        for (const OpSignature &row : rowsAlong(partial.spec, axis))
          if (isAllowed(row, axis))
            longer.push_back(extended(partial, row, axis));
      found = mostPromising(std::move(longer));
    }
    std::vector<RowIds> rows;
    for (const Partial &partial : found)
      if (iterationsOf(each.spec, partial.axes, placement) <= mostIterations && isPossible(partial))
        rows.push_back(inNumbers(partial));
    return rows;
  }

private:
  /// A row along the axes so far.
  struct Partial {
    LoopSpec spec; ///< the loops as the axes so far leave them
    std::vector<NdSbp> operands, results;
    std::vector<AxisReason> axes;
    int changed; ///< operand entries that none of the possible signatures has
    int unsplit; ///< result entries that are no split
  };

  /// Returns lists of one entry per operand, from which rows are derived. Each
  /// entry with a unit, with ends or at a coordinate that an operand may have
  /// is in one of the lists.
  std::vector<std::vector<Sbp>> unitLists(size_t axis) const {
    std::vector<std::vector<Sbp>> lists(1, std::vector<Sbp>(possible.size(), Sbp::broadcast()));
    for (size_t i = 0; i < possible.size(); ++i) {
      std::vector<Sbp> units;
      for (const NdSbp *sbp : possible[i])
        if ((((*sbp)[axis].isSplit() && !(*sbp)[axis].isPlain()) || (*sbp)[axis].isAt()) &&
            std::find(units.begin(), units.end(), (*sbp)[axis]) == units.end())
          units.push_back((*sbp)[axis]);
      for (size_t n = 0; n < units.size(); ++n) {
        if (n == lists.size())
          lists.emplace_back(possible.size(), Sbp::broadcast());
        lists[n][i] = units[n];
      }
    }
    return lists;
  }

  std::vector<OpSignature> rowsAlong(const LoopSpec &spec, size_t axis) const {
    std::vector<Sbp> pinned;
    for (size_t i = 0; i < each.results.size(); ++i) {
      const NdSbp &sbp = tables.pinned(op, i);
      pinned.push_back(sbp.empty() ? Sbp::broadcast() : sbp[axis]);
    }
    std::vector<OpSignature> rows;
    auto add = [&](OpSignature row) {
      auto isSame = [&](const OpSignature &known) {
        return known.operands == row.operands && known.results == row.results;
      };
      if (!row.results.empty() && std::none_of(rows.begin(), rows.end(), isSame))
        rows.push_back(std::move(row));
    };
    for (const std::vector<Sbp> &units : unitLists(axis))
      for (OpSignature &row : deriveSignatures(spec, placement.axes[axis].size, units, pinned))
        add(std::move(row));
    for (const std::vector<const NdSbp *> &signatures : possible)
      for (const NdSbp *sbp : signatures)
        if ((*sbp)[axis].isFlat())
          add(flatSignature(spec, (*sbp)[axis].slot));
    return rows;
  }

  bool isAllowed(const OpSignature &row, size_t axis) const {
    const bool isLimited = each.limit.kind == RowLimit::Kind::PartialPlaces;
    auto isPartial = [axis](const NdSbp &sbp) { return !sbp.empty() && sbp[axis].isPartial(); };
    for (size_t i = 0; i < row.operands.size(); ++i) {
      auto isAddend = [&](const NdSbp *sbp) { return isPartial(*sbp); };
      if (row.operands[i].isPartial() &&
          (!each.takesPartial || std::none_of(possible[i].begin(), possible[i].end(), isAddend)))
        return false;
      if (isLimited && row.operands[i].isPartial() != isPartial(each.limit.row.operands[i]))
        return false;
    }
    for (size_t i = 0; i < row.results.size(); ++i) {
      if (isLimited && row.results[i].isPartial() != isPartial(each.limit.row.results[i]))
        return false;
      if (isPartial(tables.pinned(op, i)) && !row.results[i].isPartial())
        return false;
    }
    return true;
  }

  Partial extended(const Partial &partial, const OpSignature &row, size_t axis) const {
    Partial result = partial;
    for (size_t i = 0; i < row.operands.size(); ++i) {
      auto isAs = [&](const NdSbp *sbp) { return (*sbp)[axis] == row.operands[i]; };
      result.changed += !possible[i].empty() && std::none_of(possible[i].begin(), possible[i].end(), isAs);
      result.operands[i].push_back(row.operands[i]);
    }
    for (size_t i = 0; i < row.results.size(); ++i) {
      result.unsplit += !row.results[i].isSplit() && !row.results[i].isFlat();
      result.results[i].push_back(row.results[i]);
    }
    result.axes.push_back({row.reason, row.factor, row.unit, row.ends});
    splitLoops(result.spec, row, placement.axes[axis].size);
    return result;
  }

  static std::vector<Partial> mostPromising(std::vector<Partial> found) {
    if (found.size() <= kMostRows)
      return found;
    std::vector<std::tuple<int, int, size_t>> order;
    for (size_t i = 0; i < found.size(); ++i)
      order.emplace_back(found[i].changed, found[i].unsplit, i);
    std::sort(order.begin(), order.end());
    std::vector<Partial> kept;
    for (size_t i = 0; i < kMostRows; ++i)
      kept.push_back(std::move(found[std::get<size_t>(order[i])]));
    return kept;
  }

  /// Whether each operand can be boxed to the row from a signature that it may
  /// have; and, if the row runs on a slot, whether an operand may have that
  /// slot with the same entries along the other axes.
  bool isPossible(const Partial &row) const {
    bool hasSlot = false, keepsOne = false;
    for (size_t i = 0; i < row.operands.size(); ++i) {
      const NdSbp &to = row.operands[i];
      bool isReached = possible[i].empty();
      for (const NdSbp *from : possible[i]) {
        if (!isLegalBoxing(*from, to) || !keepsSlots(*from, to))
          continue;
        isReached = true;
        for (size_t axis = 0; axis < to.size(); ++axis)
          keepsOne |= to[axis].isFlat() && (*from)[axis] == to[axis];
      }
      if (!isReached)
        return false;
      hasSlot |= std::any_of(to.begin(), to.end(), [](const Sbp &entry) { return entry.isFlat(); });
    }
    return !hasSlot || keepsOne;
  }

  RowIds inNumbers(const Partial &partial) const {
    RowIds row;
    for (const NdSbp &sbp : partial.operands)
      row.operands.push_back(tables.signatures.idOf(sbp));
    for (const NdSbp &sbp : partial.results)
      row.results.push_back(tables.signatures.idOf(sbp));
    row.axes = partial.axes;
    return row;
  }

  Tables &tables;
  const int op;
  const SignatureOp &each;
  const Placement &placement;
  const int64_t mostIterations;
  std::vector<std::vector<const NdSbp *>> possible;
};

} // namespace

/// The tensors among an op's operands that are not free, each once, and the
/// numbers of the operands that are this tensor.
struct Candidates::Operands {
  std::vector<int> tensors;
  std::vector<std::vector<int>> places;
};

Candidates::Candidates(Tables &tables, const std::vector<RowIds> &walked)
    : tables(tables), aliases(tables.source.size()), seenAs(tables.source.size()), setOf(tables.source.size()) {
  const std::vector<int> seen = tables.seen(walked);
  std::vector<bool> isMade(seen.size());
  for (const SignatureOp &op : tables.problem.ops)
    for (int result : op.results)
      isMade[result] = true;
  for (size_t tensor = 0; tensor < seen.size(); ++tensor) {
    const int source = tables.source[tensor];
    if (source != static_cast<int>(tensor))
      aliases[source].push_back(tensor);
    if (seen[tensor] != kFree && (!isMade[source] || seen[source] == kFree))
      seenAs[tensor] = {seen[tensor]};
    setOf[tensor] = setNumbers.numberOf({seenAs[tensor].begin(), seenAs[tensor].end()}).first;
  }
  for (size_t op = 0; op < walked.size(); ++op)
    addOp(op, walked[op]);
}

void Candidates::addOp(int op, const RowIds &walked) {
  const SignatureOp &each = tables.problem.ops[op];
  const Operands operands = operandsOf(op, walked);
  const auto [number, isNew] = numbers.numberOf(keyOf(op, operands, walked));
  if (isNew)
    kinds.push_back(makeKind(op, operands, walked));
  kindNumbers.push_back(number);

  // List the tensors of the ports and the signatures that the results may have.
  tensors.push_back(operands.tensors);
  size_t port = operands.tensors.size();
  for (size_t i = 0; i < each.results.size(); ++i) {
    if (walked.results[i] == kFree)
      continue;
    std::vector<int> made = aliases[each.results[i]];
    made.insert(made.begin(), each.results[i]);
    for (int tensor : made) {
      tensors.back().push_back(tensor);
      for (const std::vector<int> &option : kinds[number].ports[port].options)
        seenAs[tensor].push_back(option.front());
      setOf[tensor] = setNumbers.numberOf({seenAs[tensor].begin(), seenAs[tensor].end()}).first;
      ++port;
    }
  }
}

Candidates::Operands Candidates::operandsOf(int op, const RowIds &walked) const {
  Operands result;
  const std::vector<int> &operands = tables.problem.ops[op].operands;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (seenAs[operands[i]].empty())
      continue;
    const size_t at = std::find(result.tensors.begin(), result.tensors.end(), operands[i]) - result.tensors.begin();
    if (at == result.tensors.size()) {
      result.tensors.push_back(operands[i]);
      result.places.emplace_back();
    }
    result.places[at].push_back(i);
  }
  return result;
}

/// Whether the op keeps the row of the walk because the walk has put it at a
/// coordinate, beside another tensor. That tensor may still get another row.
bool Candidates::staysAt(int op, const RowIds &walked) const {
  return tables.problem.ops[op].beside >= 0 &&
         std::any_of(walked.axes.begin(), walked.axes.end(),
                     [](const AxisReason &axis) { return axis.reason == OpSignature::Reason::At; });
}

/// Returns everything that an op's kind depends on.
Key Candidates::keyOf(int op, const Operands &operands, const RowIds &walked) {
  const SignatureOp &each = tables.problem.ops[op];
  Key key = {tables.specOf(op), each.takesPartial, static_cast<int64_t>(each.limit.kind), staysAt(op, walked)};
  for (int operand : each.operands)
    key.push_back(seenAs[operand].empty() ? kFree : setOf[operand]);
  for (const std::vector<int> &places : operands.places) {
    key.push_back(places.size());
    key.insert(key.end(), places.begin(), places.end());
  }
  for (size_t i = 0; i < each.results.size(); ++i)
    key.insert(key.end(), {tables.shapeOf(each.results[i]), static_cast<int64_t>(aliases[each.results[i]].size()),
                           tables.pinned(op, i).empty() ? kFree : tables.signatures.idOf(tables.pinned(op, i))});
  key.insert(key.end(), walked.operands.begin(), walked.operands.end());
  key.insert(key.end(), walked.results.begin(), walked.results.end());
  if (each.limit.kind == RowLimit::Kind::PartialPlaces)
    for (const std::vector<NdSbp> *list : {&each.limit.row.operands, &each.limit.row.results})
      for (const NdSbp &sbp : *list)
        key.push_back(sbp.empty() ? kFree : tables.signatures.idOf(sbp));
  return key;
}

OpKind Candidates::makeKind(int op, const Operands &operands, const RowIds &walked) {
  const SignatureOp &each = tables.problem.ops[op];
  OpKind kind;
  kind.rows = {walked};
  const bool isFree = walked.results.size() == 1 && walked.results.front() == kFree;
  if (!isFree && !staysAt(op, walked) && each.limit.kind != RowLimit::Kind::Row) {
    std::vector<std::vector<int>> possible;
    for (int operand : each.operands)
      possible.push_back(seenAs[operand]);
    const int64_t most = tables.problem.mayAddWork ? std::numeric_limits<int64_t>::max()
                                                   : iterationsOf(each.spec, walked.axes, tables.problem.placement);
    for (RowIds &row : RowSearch(tables, op, possible, most).run())
      if (row.operands != walked.operands || row.results != walked.results)
        kind.rows.push_back(std::move(row));
  }
  for (const RowIds &row : kind.rows)
    kind.own.push_back(tables.ownScore(op, row));
  addPorts(op, operands, kind);
  return kind;
}

void Candidates::addPorts(int op, const Operands &operands, OpKind &kind) {
  auto addOption = [](Port &port, std::vector<int> option) {
    const size_t at = std::find(port.options.begin(), port.options.end(), option) - port.options.begin();
    if (at == port.options.size())
      port.options.push_back(std::move(option));
    port.ofRow.push_back(at);
  };
  for (const std::vector<int> &places : operands.places) {
    kind.ports.emplace_back();
    for (const RowIds &row : kind.rows) {
      std::vector<int> option;
      for (int place : places)
        if (!contains(option, row.operands[place]))
          option.push_back(row.operands[place]);
      std::sort(option.begin(), option.end());
      addOption(kind.ports.back(), std::move(option));
    }
  }
  const std::vector<int> &results = tables.problem.ops[op].results;
  for (size_t i = 0; i < results.size(); ++i) {
    if (kind.rows.front().results[i] == kFree)
      continue;
    Port port;
    port.isMaker = true;
    for (const RowIds &row : kind.rows)
      addOption(port, {tables.seenAs(op, i, row.results[i])});
    kind.ports.insert(kind.ports.end(), 1 + aliases[results[i]].size(), port);
  }
}

} // namespace splitcast::sbp::solver
