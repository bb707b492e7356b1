//===- SolverSearch.h - Finds the least score by exhaustive search ---------===//
//
// It finds all rows that each op may have with Factors.h, for all signatures that its operands may have, and computes
// the score of every combination of rows.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_SOLVERSEARCH_H
#define SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_SOLVERSEARCH_H

#include "dialects/sbp/algebra/Solver.h"

namespace splitcast::sbp {

/// Returns the rows of each op. Ops that are free in `walked` have only the row that they have there.
std::vector<std::vector<OpRow>> allRows(const Problem &problem, const Assignment &walked);

/// Returns the least score of all combinations of rows; nothing if there are more than `most` combinations.
std::optional<Score> leastScore(const Problem &problem, const std::vector<std::vector<OpRow>> &rows, size_t most);

} // namespace splitcast::sbp

#endif // SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_SOLVERSEARCH_H
