//===- SolverSearch.h - The least score by trying everything ---------------===//
//
// Every row that an op may have is found from Factors.h, given all that its operands may be; and all combinations of
// rows are scored, one by one.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_SOLVERSEARCH_H
#define SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_SOLVERSEARCH_H

#include "dialects/sbp/algebra/Solver.h"

namespace splitcast::sbp {

/// Per op, its rows. Ops that are free in `walked` have that row alone.
std::vector<std::vector<OpRow>> allRows(const Problem &problem, const Assignment &walked);

/// The least score over all combinations of the rows; nothing when these are more than `most`.
std::optional<Score> leastScore(const Problem &problem, const std::vector<std::vector<OpRow>> &rows, size_t most);

} // namespace splitcast::sbp

#endif // SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_SOLVERSEARCH_H
