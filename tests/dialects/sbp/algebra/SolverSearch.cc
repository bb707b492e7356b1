#include "tests/dialects/sbp/algebra/SolverSearch.h"

#include "tests/dialects/sbp/algebra/SolverGraphs.h"

#include <algorithm>
#include <map>

namespace splitcast::sbp {

namespace {

const NdSbp &pinnedOf(const SignatureOp &op, size_t result) {
  static const NdSbp open;
  return op.pinned.empty() ? open : op.pinned[result];
}

bool isSame(const OpRow &a, const OpRow &b) { return a.operands == b.operands && a.results == b.results; }

/// What tensors may be, in turn.
class Rows {
public:
  Rows(const Problem &problem, const Assignment &walked) : problem(problem), may(problem.tensors.size()) {
    for (size_t tensor = 0; tensor < may.size(); ++tensor)
      if (!problem.tensors[tensor].given.empty())
        may[tensor] = {problem.tensors[tensor].given};
    for (size_t op = 0; op < problem.ops.size(); ++op) {
      for (int operand : problem.ops[op].operands)
        follow(operand, walked);
      all.push_back({walked.ops[op].row});
      if (!walked.ops[op].isFree)
        all.back() = rowsOf(problem.ops[op]);
      leaveOutMoreWork(all.back(), walked.ops[op].row);
      for (const OpRow &row : all.back())
        for (size_t i = 0; i < row.results.size(); ++i)
          if (!walked.ops[op].isFree)
            add(may[problem.ops[op].results[i]],
                pinnedOf(problem.ops[op], i).empty() ? row.results[i] : pinnedOf(problem.ops[op], i));
    }
  }

  std::vector<std::vector<OpRow>> all;

private:
  static void add(std::vector<NdSbp> &list, const NdSbp &sbp) {
    if (std::find(list.begin(), list.end(), sbp) == list.end())
      list.push_back(sbp);
  }

  void follow(int tensor, const Assignment &walked) {
    int source = tensor;
    while (problem.tensors[source].sameAs >= 0)
      source = problem.tensors[source].sameAs;
    if (source != tensor)
      may[tensor] = walked.tensors[source].empty() ? std::vector<NdSbp>{walked.tensors[tensor]} : may[source];
  }

  void leaveOutMoreWork(std::vector<OpRow> &rows, const OpRow &walked) {
    if (problem.mayAddWork || rows.size() == 1)
      return;
    auto isWalked = [&](const OpRow &row) { return isSame(row, walked); };
    auto at = std::find_if(rows.begin(), rows.end(), isWalked);
    const int64_t most = iterations[at - rows.begin()];
    std::vector<OpRow> kept;
    for (size_t i = 0; i < rows.size(); ++i)
      if (iterations[i] <= most)
        kept.push_back(rows[i]);
    rows = std::move(kept);
  }

  /// For each combination of what the operands may be, the rows that these bring along.
  std::vector<OpRow> rowsOf(const SignatureOp &op) {
    std::vector<OpRow> rows;
    iterations.clear();
    std::vector<size_t> at(op.operands.size(), 0);
    for (bool isLast = false; !isLast;) {
      std::vector<NdSbp> operands;
      for (size_t i = 0; i < at.size(); ++i)
        operands.push_back(may[op.operands[i]].empty() ? NdSbp() : may[op.operands[i]][at[i]]);
      addRows(op, operands, rows);
      isLast = true;
      for (size_t i = 0; i < at.size() && isLast; ++i) {
        isLast = ++at[i] >= may[op.operands[i]].size();
        if (isLast)
          at[i] = 0;
      }
    }
    return rows;
  }

  /// Depth first over the axes, the open ends on a stack.
  void addRows(const SignatureOp &op, const std::vector<NdSbp> &operands, std::vector<OpRow> &rows) {
    struct End {
      LoopSpec spec;
      OpRow row;
      size_t axis;
      int64_t slotRanks;
    };
    std::vector<End> open = {
        {op.spec, {std::vector<NdSbp>(operands.size()), std::vector<NdSbp>(op.results.size())}, 0, 1}};
    while (!open.empty()) {
      End end = open.back();
      open.pop_back();
      if (end.axis == problem.placement.axes.size()) {
        auto isKnown = [&](const OpRow &row) { return isSame(row, end.row); };
        if (isAllowed(op, operands, end.row) && std::none_of(rows.begin(), rows.end(), isKnown)) {
          rows.push_back(end.row);
          int64_t count = 1;
          for (const Factor &factor : end.spec.factors)
            count *= factor.extent;
          iterations.push_back((count + end.slotRanks - 1) / end.slotRanks);
        }
        continue;
      }
      for (const OpSignature &row : along(op, end.spec, end.axis, operands)) {
        End next = end;
        splitLoops(next.spec, row, problem.placement.axes[end.axis].size);
        for (size_t i = 0; i < operands.size(); ++i)
          next.row.operands[i].push_back(row.operands[i]);
        for (size_t i = 0; i < op.results.size(); ++i)
          next.row.results[i].push_back(row.results[i]);
        if (row.reason == OpSignature::Reason::FlatElementwise)
          next.slotRanks *= problem.placement.axes[end.axis].size;
        ++next.axis;
        open.push_back(std::move(next));
      }
    }
  }

  std::vector<OpSignature> along(const SignatureOp &op, const LoopSpec &spec, size_t axis,
                                 const std::vector<NdSbp> &operands) const {
    std::vector<Sbp> brought, pinned;
    for (const NdSbp &sbp : operands)
      brought.push_back(sbp.empty() ? Sbp() : sbp[axis]);
    for (size_t i = 0; i < op.results.size(); ++i)
      pinned.push_back(pinnedOf(op, i).empty() ? Sbp() : pinnedOf(op, i)[axis]);
    std::vector<OpSignature> rows = deriveSignatures(spec, problem.placement.axes[axis].size, brought, pinned);
    for (const Sbp &entry : brought)
      if (entry.isFlat())
        if (OpSignature row = flatSignature(spec, entry.slot); !row.results.empty())
          rows.push_back(row);
    return rows;
  }

  /// Whether it can be boxed to from these operands: from others, others find it.
  bool isAllowed(const SignatureOp &op, const std::vector<NdSbp> &operands, const OpRow &row) const {
    for (size_t i = 0; i < operands.size(); ++i)
      for (size_t axis = 0; axis < row.operands[i].size(); ++axis)
        if (row.operands[i][axis].isPartial() &&
            (!op.takesPartial || operands[i].empty() || !operands[i][axis].isPartial()))
          return false;
    for (size_t i = 0; i < operands.size(); ++i)
      if (!operands[i].empty() && !slotsFit(operands[i], row.operands[i]))
        return false;
    for (size_t i = 0; i < row.results.size(); ++i)
      if (!pinnedOf(op, i).empty() && !isLegalBoxing(row.results[i], pinnedOf(op, i)))
        return false;
    return true;
  }

  const Problem &problem;
  std::vector<std::vector<NdSbp>> may; ///< per tensor; nothing for a free one
  std::vector<int64_t> iterations;     ///< of the rows of the last op, on the rank that runs most
};

/// Scores combinations, with the signatures as numbers so that there can be many.
class Search {
public:
  explicit Search(const Problem &problem) : problem(problem) {}

  int idOf(const NdSbp &sbp) {
    auto [at, isNew] = ids.try_emplace(toString(sbp), all.size());
    if (isNew)
      all.push_back(sbp);
    return at->second;
  }

  Score least(const std::vector<std::vector<OpRow>> &rows) {
    const int none = idOf({});
    std::vector<std::vector<std::vector<int>>> operands(rows.size()), results(rows.size());
    for (size_t op = 0; op < rows.size(); ++op)
      for (const OpRow &row : rows[op]) {
        operands[op].emplace_back();
        results[op].emplace_back();
        for (const NdSbp &sbp : row.operands)
          operands[op].back().push_back(idOf(sbp));
        for (const NdSbp &sbp : row.results)
          results[op].back().push_back(idOf(sbp));
      }
    std::optional<Score> best;
    std::vector<size_t> at(rows.size(), 0);
    for (bool isLast = false; !isLast;) {
      Score score = scoreOf(at, operands, results, none);
      if (!best || score < *best)
        best = score;
      isLast = true;
      for (size_t op = 0; op < at.size() && isLast; ++op) {
        isLast = ++at[op] == rows[op].size();
        if (isLast)
          at[op] = 0;
      }
    }
    return *best;
  }

private:
  using Ids = std::vector<std::vector<std::vector<int>>>;

  Score scoreOf(const std::vector<size_t> &at, const Ids &operands, const Ids &results, int none) {
    const size_t count = problem.tensors.size();
    std::vector<int> seen(count, none);
    std::vector<std::vector<int>> wanted(count);
    Score score;
    for (size_t tensor = 0; tensor < count; ++tensor)
      if (!problem.tensors[tensor].given.empty())
        seen[tensor] = idOf(problem.tensors[tensor].given);
    for (size_t op = 0; op < at.size(); ++op) {
      const std::vector<int> &made = results[op][at[op]];
      for (size_t i = 0; i < made.size(); ++i) {
        const int tensor = problem.ops[op].results[i];
        seen[tensor] = made[i];
        auto isCut = [](const Sbp &entry) { return entry.isSplit() || entry.isFlat(); };
        if (made[i] != none)
          score.unsplitResults += std::none_of(all[made[i]].begin(), all[made[i]].end(), isCut);
        if (const NdSbp &pinned = pinnedOf(problem.ops[op], i); !pinned.empty()) {
          seen[tensor] = idOf(pinned);
          score = score + price(tensor, made[i], seen[tensor]);
        }
      }
      for (size_t i = 0; i < operands[op][at[op]].size(); ++i)
        wanted[problem.ops[op].operands[i]].push_back(operands[op][at[op]][i]);
    }
    for (size_t tensor = 0; tensor < count; ++tensor)
      if (int source = problem.tensors[tensor].sameAs; source >= 0)
        seen[tensor] = seen[source] == none ? idOf(NdSbp(problem.placement.axes.size())) : seen[source];
    addDemands(seen, none, wanted);
    for (size_t tensor = 0; tensor < count; ++tensor) {
      std::sort(wanted[tensor].begin(), wanted[tensor].end());
      wanted[tensor].erase(std::unique(wanted[tensor].begin(), wanted[tensor].end()), wanted[tensor].end());
      for (int each : wanted[tensor])
        if (seen[tensor] != none)
          score = score + price(tensor, seen[tensor], each);
    }
    return score;
  }

  void addDemands(const std::vector<int> &seen, int none, std::vector<std::vector<int>> &wanted) {
    for (const Demand &demand : problem.demands) {
      const int is = seen[demand.tensor];
      if (is == none || (!demand.wanted.empty() && !demand.orAs.empty() && idOf(demand.orAs) == is))
        continue;
      NdSbp summed = all[is];
      for (Sbp &entry : summed)
        if (entry.isPartial())
          entry = Sbp::broadcast();
      wanted[demand.tensor].push_back(idOf(demand.wanted.empty() ? summed : demand.wanted));
    }
  }

  Score price(int tensor, int from, int to) {
    if (from == to)
      return {};
    auto [at, isNew] = prices.try_emplace({tensor, from, to});
    const TensorInfo &info = problem.tensors[tensor];
    const int64_t undone = losesSplit(problem, tensor, all[from], all[to]);
    if (isNew && isLegalBoxing(all[from], all[to]) && slotsFit(all[from], all[to]))
      at->second = {0, undone, problem.cost(info.shape, info.elementBytes, all[from], all[to], problem.placement), 1,
                    0};
    else if (isNew)
      at->second = {1, undone, 0, 1, 0};
    return at->second;
  }

  const Problem &problem;
  std::map<std::string, int> ids;
  std::vector<NdSbp> all;
  std::map<std::vector<int>, Score> prices;
};

} // namespace

std::vector<std::vector<OpRow>> allRows(const Problem &problem, const Assignment &walked) {
  return Rows(problem, walked).all;
}

std::optional<Score> leastScore(const Problem &problem, const std::vector<std::vector<OpRow>> &rows, size_t most) {
  size_t combinations = 1;
  for (const std::vector<OpRow> &each : rows)
    if ((combinations *= each.size()) > most)
      return std::nullopt;
  return Search(problem).least(rows);
}

} // namespace splitcast::sbp
