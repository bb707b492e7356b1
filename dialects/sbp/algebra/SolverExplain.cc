// Computes what the rows that were not chosen would cost.
#include "dialects/sbp/algebra/SolverCandidates.h"

#include <algorithm>

namespace splitcast::sbp {

using namespace solver;

namespace {

class Explanation {
public:
  Explanation(const Problem &problem, const Assignment &assignment)
      : tables(problem), rows(tables.rowsOf(assignment.ops)), candidates(tables, rows), seen(tables.seen(rows)),
        score(assignment.score) {}

  std::vector<RunnerUp> of(int op, size_t most) {
    const OpKind &kind = candidates.kindOf(op); // whose first row is the assigned one
    std::vector<std::pair<Score, size_t>> others;
    for (size_t row = 1; row < kind.rows.size(); ++row)
      others.emplace_back(scoreWith(op, row), row);
    std::sort(others.begin(), others.end());
    others.resize(std::min(others.size(), most));
    std::vector<RunnerUp> result;
    for (const auto &[score, row] : others)
      result.push_back({inSignatures(kind.rows[row]), kind.rows[row].axes, score});
    return result;
  }

private:
  /// Returns the score of the assignment with another row for this op. Only the
  /// boxings of its own tensors change.
  Score scoreWith(int op, size_t row) {
    const OpKind &kind = candidates.kindOf(op);
    const RowIds kept = rows[op];
    Score with = kind.own[row], without = kind.own.front();
    for (size_t port = 0; port < kind.ports.size(); ++port) {
      const int tensor = candidates.tensorsOf(op)[port];
      without = without + tables.usesScore(tensor, seen[tensor], rows);
    }
    rows[op] = kind.rows[row];
    for (size_t port = 0; port < kind.ports.size(); ++port) {
      const int tensor = candidates.tensorsOf(op)[port];
      const Port &here = kind.ports[port];
      with = with + tables.usesScore(tensor, here.isMaker ? here.options[here.ofRow[row]].front() : seen[tensor], rows);
    }
    rows[op] = kept;
    return {score.illegal + with.illegal - without.illegal, score.undone + with.undone - without.undone,
            score.cost + (with.cost - without.cost), score.boxings + with.boxings - without.boxings,
            score.unsplitResults + with.unsplitResults - without.unsplitResults};
  }

  OpRow inSignatures(const RowIds &row) const {
    OpRow result;
    for (int id : row.operands)
      result.operands.push_back(id == kFree ? NdSbp() : tables.signatures[id]);
    for (int id : row.results)
      result.results.push_back(id == kFree ? NdSbp() : tables.signatures[id]);
    return result;
  }

  Tables tables;
  std::vector<RowIds> rows;
  const Candidates candidates;
  const std::vector<int> seen;
  const Score score;
};

} // namespace

std::vector<std::vector<RunnerUp>> runnersUp(const Problem &problem, const Assignment &assignment,
                                             const std::vector<int> &ops, size_t most) {
  Explanation explanation(problem, assignment);
  std::vector<std::vector<RunnerUp>> result;
  for (int op : ops)
    result.push_back(explanation.of(op, most));
  return result;
}

} // namespace splitcast::sbp
