//===- ExactParts.h - Compares exact sums that are carried as three parts -------===//
//
// Each rank has the parts (nn.exact_part) of the sum of its own addends, and a part of the whole sum is not the sum of
// the ranks' parts. So to compare whole values with those of ranks, the three parts are added first.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_EXACTPARTS_H
#define SPLITCAST_TESTS_DIFFERENTIAL_EXACTPARTS_H

#include "tests/differential/Oracle.h"

#include <array>

namespace splitcast::differential {

/// The names of the variables that carry parts 0, 1 and 2 of one sum.
using CarriedParts = std::array<std::string, 3>;

/// Returns the variables of all sums in a module after 'sbp-split-steps'.
std::vector<CarriedParts> carriedPartsOf(mlir::ModuleOp module);

/// Replaces each three variables by their sum, part0 + part1 + part2, under the name of the first.
Outcome joinParts(Outcome outcome, const std::vector<CarriedParts> &all);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_EXACTPARTS_H
