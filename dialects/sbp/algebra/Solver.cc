#include "dialects/sbp/algebra/Solver.h"

#include "dialects/sbp/algebra/SolverRepeats.h"
#include "dialects/sbp/algebra/SolverTree.h"

#include <algorithm>

namespace splitcast::sbp {

using namespace solver;

namespace {

/// The most sweeps over all ops. There are fewer if a sweep does not lower the
/// score.
constexpr int kMostSweeps = 4;
/// The most forests in a sweep. Each takes first those ops that have been in
/// none.
constexpr int kMostForests = 6;

/// Lowers the score of the assignment that the walk found: repeatedly solves a
/// forest of ops exactly while all other ops keep their rows, and takes the
/// result if it is better.
class Descent {
public:
  Descent(Tables &tables, const std::vector<RowIds> &walked, SolverStatistics &statistics)
      : tables(tables), statistics(statistics), candidates(tables, walked), forests(tables, candidates, statistics),
        rows(walked.size(), 0), score(tables.score(walked)) {
    for (size_t op = 0; op < rows.size(); ++op) {
      statistics.rows += candidates.kindOf(op).rows.size();
      if (candidates.kindOf(op).rows.size() > 1)
        open.push_back(op);
    }
  }

  void run() {
    statistics.isOptimal = open.empty();
    for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
      const Score before = score;
      runSweep();
      if (statistics.isOptimal || !(score < before))
        return;
      std::reverse(open.begin(), open.end());
    }
  }

  std::vector<RowIds> chosen() const { return rowsOf(rows); }
  const OpKind &kindOf(int op) const { return candidates.kindOf(op); }
  const Score &scoreNow() const { return score; }

private:
  std::vector<RowIds> rowsOf(const std::vector<int> &numbers) const {
    std::vector<RowIds> result;
    result.reserve(numbers.size());
    for (size_t op = 0; op < numbers.size(); ++op)
      result.push_back(candidates.kindOf(op).rows[numbers[op]]);
    return result;
  }

  void runSweep() {
    std::vector<int> left = open, others; // ops that have been in no forest yet, and the others
    for (int i = 0; i < kMostForests && !left.empty(); ++i) {
      std::vector<int> order = left;
      order.insert(order.end(), others.begin(), others.end());
      const std::vector<bool> forest = forests.forestOf(order);
      solveForest(forest);
      std::vector<int> stillLeft;
      for (int op : left)
        (forest[op] ? others : stillLeft).push_back(op);
      left = std::move(stillLeft);
      if (i == 0 && left.empty() && forests.isExact()) {
        statistics.isOptimal = true;
        return;
      }
    }
  }

  void solveForest(const std::vector<bool> &forest) {
    ++statistics.blocks;
    std::vector<int> newRows = rows;
    forests.solve(forest, newRows);
    const Score newScore = tables.score(rowsOf(newRows));
    statistics.refused += score < newScore;
    if (!(newScore < score))
      return;
    ++statistics.improving;
    rows = std::move(newRows);
    score = newScore;
  }

  Tables &tables;
  SolverStatistics &statistics;
  const Candidates candidates;
  ForestSolver forests;
  std::vector<int> rows; ///< per op: the number of its row
  std::vector<int> open; ///< ops that have a choice
  Score score;
};

} // namespace

static Solution solveOriginals(const Problem &problem) {
  Tables tables(problem);
  std::vector<RowIds> rows;
  Solution solution;
  solution.failure = walkRows(tables, rows);
  if (solution.failure)
    return solution;
  Descent descent(tables, rows, solution.statistics);
  descent.run();
  solution.assignment = tables.assignment(descent.chosen());
  return solution;
}

Solution solve(const Problem &problem) { return onOriginals(problem, solveOriginals); }

} // namespace splitcast::sbp
