// Implements `walk`: goes from op to op and chooses the cheapest row for the
// signatures that the operands already have.
#include "dialects/sbp/algebra/SolverRepeats.h"
#include "dialects/sbp/algebra/SolverTables.h"

#include <algorithm>
#include <tuple>

namespace splitcast::sbp {

using namespace solver;

namespace {

/// The cost of a row along one axis. Less is better, field by field.
struct AxisCost {
  int64_t undone = 0; ///< operands that keep their splits and would lose one
  int64_t cost = 0;
  int64_t changed = 0; ///< operands and pinned results that have to be boxed
  int64_t unsplitResults = 0;
  bool operator<(const AxisCost &other) const {
    return std::tie(undone, cost, changed, unsplitResults) <
           std::tie(other.undone, other.cost, other.changed, other.unsplitResults);
  }
};

/// Chooses the row of one op. `current` has the signatures of its operands,
/// empty for free ones; `boxed` has the signatures that each tensor has been
/// boxed to.
class OpWalk {
public:
  OpWalk(Tables &tables, int op, const std::vector<int> &seen, const std::vector<std::vector<int>> &boxed)
      : tables(tables), op(op), each(tables.problem.ops[op]), placement(tables.problem.placement), boxed(boxed) {
    for (int operand : each.operands)
      current.push_back(seen[operand] == kFree ? NdSbp() : tables.signatures[seen[operand]]);
    if (each.beside >= 0 && seen[each.beside] != kFree)
      beside = tables.signatures[seen[each.beside]];
    for (int result : each.results) {
      const int other = tables.metBy(result);
      met.push_back(other < 0 || seen[other] == kFree ? NdSbp() : tables.signatures[seen[other]]);
    }
    wanted = current;
    for (NdSbp &entries : wanted)
      entries.resize(placement.axes.size());
    results.resize(each.results.size());
  }

  /// Chooses a row. If the op has none along an axis, returns that axis.
  std::optional<int64_t> run(RowIds &chosen) {
    LoopSpec spec = each.spec;
    for (size_t axis = 0; axis < placement.axes.size(); ++axis) {
      std::optional<OpSignature> row = cheapestRow(spec, axis);
      if (!row)
        return axis;
      for (size_t i = 0; i < wanted.size(); ++i)
        wanted[i][axis] = row->operands[i];
      for (size_t i = 0; i < results.size(); ++i)
        results[i].push_back(row->results[i]);
      chosen.axes.push_back({row->reason, row->factor, row->unit, row->ends});
      splitLoops(spec, *row, placement.axes[axis].size);
    }
    for (const NdSbp &sbp : wanted)
      chosen.operands.push_back(tables.signatures.idOf(sbp));
    for (const NdSbp &sbp : results)
      chosen.results.push_back(tables.signatures.idOf(sbp));
    return std::nullopt;
  }

private:
  static Sbp along(size_t axis, const NdSbp &sbp) { return sbp.empty() ? Sbp::broadcast() : sbp[axis]; }

  /// Whether the op has no operands that decide its signature and is to be
  /// beside another tensor. Its result is then made in the signature of that
  /// tensor.
  bool isMadeBeside() const {
    return !beside.empty() && std::all_of(current.begin(), current.end(), [](const NdSbp &sbp) { return sbp.empty(); });
  }

  std::vector<OpSignature> rowsAlong(const LoopSpec &spec, size_t axis) const {
    std::vector<Sbp> operands, pinned;
    for (const NdSbp &sbp : current)
      operands.push_back(along(axis, sbp));
    if (const Sbp place = along(axis, beside); place.isAt())
      return {rowAt(spec, place.dim)};
    for (size_t i = 0; i < results.size(); ++i)
      pinned.push_back(along(axis, tables.pinned(op, i)));
    if (isMadeBeside() && !beside[axis].isPartial())
      pinned.front() = beside[axis];
    std::vector<OpSignature> rows = deriveSignatures(spec, placement.axes[axis].size, operands, pinned);
    if (isMadeBeside())
      for (OpSignature &row : rows)
        if (row.results.front() == pinned.front())
          return {row};
    for (const Sbp &entry : operands)
      if (entry.isFlat())
        if (OpSignature flat = flatSignature(spec, entry.slot); !flat.results.empty())
          rows.push_back(flat);
    return rows;
  }

  std::optional<OpSignature> cheapestRow(const LoopSpec &spec, size_t axis) {
    const std::vector<OpSignature> rows = rowsAlong(spec, axis);
    std::vector<OpSignature> stated;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(stated),
                 [&](const OpSignature &row) { return isStated(row, axis) && isEven(row, spec, axis); });
    if (std::optional<OpSignature> row = cheapestOf(stated, axis))
      return row;
    return cheapestOf(rows, axis);
  }

  /// Whether the row is the one that is stated along the axis.
  bool isStated(const OpSignature &row, size_t axis) const {
    if (!each.stated || each.stated->axis != static_cast<int64_t>(axis))
      return false;
    auto isLike = [](const Sbp &entry, const Sbp &other) {
      return entry.kind == other.kind && (!entry.isSplit() || entry.dim == other.dim);
    };
    for (size_t i = 0; i < row.operands.size(); ++i)
      if (!current[i].empty() && !isLike(row.operands[i], each.stated->operands[i]))
        return false;
    return std::equal(row.results.begin(), row.results.end(), each.stated->results.begin(), isLike);
  }

  /// Whether the row cuts, before the axis along which a row is stated, a dimension that the stated one cuts: which
  /// elements a rank then has would depend on the size of the stated axis.
  bool cutsStated(const OpSignature &row, size_t axis) const {
    if (!each.stated || static_cast<int64_t>(axis) >= each.stated->axis || placement.axes[axis].size == 1)
      return false;
    auto cuts = [](const Sbp &entry, const Sbp &other) { return entry.splitsSameDimAs(other); };
    for (size_t i = 0; i < row.operands.size(); ++i)
      if (cuts(row.operands[i], each.stated->operands[i]))
        return true;
    for (size_t i = 0; i < row.results.size(); ++i)
      if (cuts(row.results[i], each.stated->results[i]))
        return true;
    return false;
  }

  /// Whether the row gives all ranks of the axis pieces of one length.
  bool isEven(const OpSignature &row, const LoopSpec &spec, size_t axis) const {
    return row.factor < 0 ||
           (row.ends.empty() && spec.factors[row.factor].grain.splitsEvenly(row.unit, placement.axes[axis].size));
  }

  std::optional<OpSignature> cheapestOf(const std::vector<OpSignature> &rows, size_t axis) {
    std::optional<OpSignature> best;
    AxisCost bestCost;
    for (const OpSignature &row : rows) {
      if (!isAllowed(row, axis) || !keepsSlotsSoFar(row, axis))
        continue;
      std::optional<AxisCost> cost = costOf(row, axis);
      if (cost && (!best || *cost < bestCost)) {
        best = row;
        bestCost = *cost;
      }
    }
    return best;
  }

  bool isAllowed(const OpSignature &row, size_t axis) const {
    auto isPartial = [](const Sbp &entry) { return entry.isPartial(); };
    if (!each.takesPartial && std::any_of(row.operands.begin(), row.operands.end(), isPartial))
      return false;
    if (cutsStated(row, axis))
      return false;
    return each.limit.kind != RowLimit::Kind::PartialPlaces ||
           (hasPartialPlaces(row.operands, each.limit.row.operands, axis) &&
            hasPartialPlaces(row.results, each.limit.row.results, axis));
  }

  static bool hasPartialPlaces(const std::vector<Sbp> &entries, const std::vector<NdSbp> &limit, size_t axis) {
    for (size_t i = 0; i < entries.size(); ++i)
      if (entries[i].isPartial() != along(axis, limit[i]).isPartial())
        return false;
    return true;
  }

  /// Whether each operand keeps its slots (keepsSlots), as far as the axes up
  /// to this one say.
  bool keepsSlotsSoFar(const OpSignature &row, size_t axis) const {
    auto isFlat = [](const Sbp &entry) { return entry.isFlat(); };
    for (size_t i = 0; i < current.size(); ++i) {
      const auto end = current[i].empty() ? current[i].begin() : current[i].begin() + axis + 1;
      if (std::none_of(current[i].begin(), end, isFlat)) // there is no slot to keep
        continue;
      NdSbp from(current[i].begin(), current[i].begin() + axis + 1), to(wanted[i].begin(), wanted[i].begin() + axis);
      to.push_back(row.operands[i]);
      if (!keepsSlots(from, to))
        return false;
    }
    return true;
  }

  /// Returns the cost of the row along the axis; nothing if an operand or a
  /// pinned result cannot be boxed to it.
  std::optional<AxisCost> costOf(const OpSignature &row, size_t axis) {
    AxisCost cost;
    for (size_t i = 0; i < current.size(); ++i)
      if (!addOperand(i, row.operands[i], axis, cost))
        return std::nullopt;
    // A split result that each rank could compute whole counts as unsplit,
    // since it would be gathered again.
    auto isCut = [](const Sbp &entry) { return entry.isSplit() || entry.isFlat(); };
    const bool isOfPieces = isElementwise(each.spec) || std::any_of(row.operands.begin(), row.operands.end(), isCut);
    for (size_t i = 0; i < results.size(); ++i) {
      const NdSbp &pinned = tables.pinned(op, i), &later = tables.wantedLater(each.results[i]);
      cost.unsplitResults += !isCut(row.results[i]) || !isOfPieces;
      if (row.results[i].isPartial() && !later.empty() && later[axis].isSplit()) {
        NdSbp made = later;
        made[axis] = row.results[i];
        cost.cost += tables.costAlong(axis, each.results[i], made, later);
      }
      cost.cost += costOfMeeting(i, row.results[i], axis);
      if (pinned.empty() || pinned[axis] == row.results[i])
        continue;
      if (pinned[axis].isPartial())
        return std::nullopt;
      NdSbp made = pinned;
      made[axis] = row.results[i];
      cost.cost += tables.costAlong(axis, each.results[i], made, pinned);
      ++cost.changed;
    }
    return cost;
  }

  /// Returns what it costs to box a result that is larger than all operands to
  /// the signature of the tensor that it meets. It is cheaper to split such a
  /// result when it is made: the means over a batch, for example, are a few
  /// numbers until they are broadcast to all samples.
  int64_t costOfMeeting(size_t result, const Sbp &entry, size_t axis) {
    const NdSbp &other = met[result];
    if (other.empty() || !other[axis].isSplit() || !tables.pinned(op, result).empty())
      return 0;
    NdSbp made = other;
    made[axis] = entry;
    return isLegalBoxing(made, other) ? tables.costAlong(axis, each.results[result], made, other) : 0;
  }

  /// Whether an earlier op had this operand boxed to the entry, as far as the
  /// axes up to this one say.
  bool isBoxedTo(size_t i, const Sbp &entry, size_t axis) const {
    const std::vector<int> &ids = boxed[each.operands[i]];
    return std::any_of(ids.begin(), ids.end(), [&](int id) {
      const NdSbp &known = tables.signatures[id];
      return known[axis] == entry && std::equal(known.begin(), known.begin() + axis, wanted[i].begin());
    });
  }

  /// Adds the cost of boxing an operand to the entry. Returns false if there is
  /// no such boxing.
  bool addOperand(size_t i, const Sbp &entry, size_t axis, AxisCost &cost) {
    if (current[i].empty()) // free: it may have any signature, but no addends
      return !entry.isPartial();
    auto hasUnit = [](const Sbp &later) { return later.unit > 1; };
    if (current[i][axis] == entry && std::none_of(current[i].begin() + axis + 1, current[i].end(), hasUnit))
      return true;
    if (isBoxedTo(i, entry, axis)) {
      ++cost.changed;
      return true;
    }
    const int tensor = each.operands[i];
    const Shape &shape = tables.problem.tensors[tensor].shape;
    NdSbp from = wanted[i];
    std::copy(current[i].begin() + axis, current[i].end(), from.begin() + axis);
    NdSbp to = from;
    to[axis] = entry;
    for (size_t later = axis + 1; later < to.size(); ++later)
      if (to[later].unit > 1 &&
          !unitsFit(shape, to, placement)) // the new entry leaves a length that the unit does not divide
        to[later] = Sbp::broadcast();
    if (from == to)
      return true;
    if (!isLegalBoxing(from, to))
      return false;
    cost.undone += tables.undoesSplit(tensor, from, to);
    cost.cost += tables.costAlong(axis, tensor, from, to);
    ++cost.changed;
    return true;
  }

  Tables &tables;
  const int op;
  const SignatureOp &each;
  const Placement &placement;
  const std::vector<std::vector<int>> &boxed;
  NdSbp beside;           ///< empty: the op may be computed wherever that costs least
  std::vector<NdSbp> met; ///< the signature of Tables::metBy, or empty
  std::vector<NdSbp> current, wanted, results;
};

/// Chooses the rows of all ops. Ops for which everything is equal share one
/// choice.
class Walk {
public:
  explicit Walk(Tables &tables) : tables(tables), seen(tables.seen({})), boxed(seen.size()) {}

  std::optional<NoRow> run(std::vector<RowIds> &rows) {
    const Problem &problem = tables.problem;
    for (size_t op = 0; op < problem.ops.size(); ++op) {
      for (int operand : problem.ops[op].operands)
        see(operand);
      if (problem.ops[op].beside >= 0)
        see(problem.ops[op].beside);
      for (int result : problem.ops[op].results)
        if (tables.metBy(result) >= 0)
          see(tables.metBy(result));
      RowIds row;
      if (problem.ops[op].limit.kind == RowLimit::Kind::Row)
        row = limited(op);
      else if (isFree(op))
        row = freeRow(op);
      else if (std::optional<int64_t> axis = choose(op, row))
        return NoRow{static_cast<int>(op), *axis};
      for (size_t i = 0; i < row.results.size(); ++i)
        seen[problem.ops[op].results[i]] = tables.seenAs(op, i, row.results[i]);
      for (size_t i = 0; i < row.operands.size(); ++i)
        noteBoxed(problem.ops[op].operands[i], row.operands[i]);
      rows.push_back(std::move(row));
    }
    return std::nullopt;
  }

private:
  /// Notes that an op had the tensor boxed to `wanted`, which is then free for
  /// later ops. Tensors that keep their splits are left out: every op uses them
  /// as they lie.
  void noteBoxed(int tensor, int wanted) {
    std::vector<int> &known = boxed[tensor];
    if (seen[tensor] != kFree && wanted != seen[tensor] && !tables.problem.tensors[tensor].keepsSplits &&
        std::find(known.begin(), known.end(), wanted) == known.end())
      known.push_back(wanted);
  }

  /// Gives the tensor the signature of its source, if it has another one as its
  /// source. Where the source is free, it becomes B.
  void see(int tensor) {
    const int source = tables.source[tensor];
    if (source != tensor)
      seen[tensor] = seen[source] == kFree ? tables.broadcast : seen[source];
  }

  /// Whether the op can be computed wherever its result is used: its operands
  /// are free, or scalars that are B.
  bool isFree(int op) const {
    const SignatureOp &each = tables.problem.ops[op];
    if (each.results.size() != 1 || !tables.pinned(op, 0).empty() ||
        tables.problem.tensors[each.results.front()].shape.empty())
      return false;
    if (each.limit.kind == RowLimit::Kind::PartialPlaces && !each.limit.row.results.front().empty())
      return false;
    if (each.beside >= 0 && seen[each.beside] != kFree && isAnywhereAt(tables.signatures[seen[each.beside]]))
      return false;
    for (int operand : each.operands)
      if (seen[operand] != kFree &&
          (seen[operand] != tables.broadcast || !tables.problem.tensors[operand].shape.empty()))
        return false;
    return isElementwise(each.spec);
  }

  static bool isAnywhereAt(const NdSbp &sbp) {
    return std::any_of(sbp.begin(), sbp.end(), [](const Sbp &entry) { return entry.isAt(); });
  }

  RowIds freeRow(int op) const {
    RowIds row;
    for (int operand : tables.problem.ops[op].operands)
      row.operands.push_back(seen[operand]);
    row.results = {kFree};
    return row;
  }

  RowIds limited(int op) {
    OpChoice choice;
    choice.row = tables.problem.ops[op].limit.row;
    return tables.rowsOf({choice}).front();
  }

  std::optional<int64_t> choose(int op, RowIds &row) {
    const auto [number, isNew] = kinds.numberOf(keyOf(op));
    if (isNew) {
      known.emplace_back();
      endsAt.push_back(OpWalk(tables, op, seen, boxed).run(known.back()));
    }
    row = known[number];
    return endsAt[number];
  }

  /// Returns everything that the choice depends on.
  Key keyOf(int op) {
    const SignatureOp &each = tables.problem.ops[op];
    Key key = {tables.specOf(op), each.takesPartial, each.limit.kind == RowLimit::Kind::PartialPlaces,
               each.beside < 0 ? kFree : seen[each.beside]};
    for (int operand : each.operands) {
      const std::vector<int> &known = boxed[operand];
      key.insert(key.end(), {tables.shapeOf(operand), seen[operand], static_cast<int64_t>(known.size())});
      key.insert(key.end(), known.begin(), known.end());
    }
    for (size_t i = 0; i < each.results.size(); ++i) {
      const int other = tables.metBy(each.results[i]);
      auto idOf = [&](const NdSbp &sbp) { return sbp.empty() ? kFree : tables.signatures.idOf(sbp); };
      key.insert(key.end(), {tables.shapeOf(each.results[i]), other < 0 ? kFree : seen[other],
                             idOf(tables.wantedLater(each.results[i])), idOf(tables.pinned(op, i))});
    }
    if (each.limit.kind == RowLimit::Kind::PartialPlaces)
      for (const std::vector<NdSbp> *list : {&each.limit.row.operands, &each.limit.row.results})
        for (const NdSbp &sbp : *list)
          key.push_back(sbp.empty() ? kFree : tables.signatures.idOf(sbp));
    key.push_back(each.stated ? each.stated->axis : kFree);
    if (each.stated)
      for (const std::vector<Sbp> *list : {&each.stated->operands, &each.stated->results})
        key.push_back(tables.signatures.idOf(*list));
    return key;
  }

  Tables &tables;
  std::vector<int> seen;               ///< per tensor, once its op was visited
  std::vector<std::vector<int>> boxed; ///< the signatures to which ops so far had it boxed
  KeyNumbers kinds;
  std::vector<RowIds> known;
  std::vector<std::optional<int64_t>> endsAt;
};

} // namespace

std::optional<NoRow> solver::walkRows(Tables &tables, std::vector<RowIds> &rows) { return Walk(tables).run(rows); }

static Solution walkOriginals(const Problem &problem) {
  Tables tables(problem);
  std::vector<RowIds> rows;
  Solution solution;
  solution.failure = walkRows(tables, rows);
  if (!solution.failure)
    solution.assignment = tables.assignment(rows);
  return solution;
}

Solution walk(const Problem &problem) { return onOriginals(problem, walkOriginals); }

} // namespace splitcast::sbp
