//===- ExactParts.h - Carried variables that mean something only together -------===//
//
// The parts of an exact sum (nn.exact_part) that a rank has are those of its own addends, and a part of a sum is not
// the sum of the parts. So where whole values are compared with what ranks have, the three are compared as the number
// that they make.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_EXACTPARTS_H
#define SPLITCAST_TESTS_DIFFERENTIAL_EXACTPARTS_H

#include "tests/differential/Oracle.h"

#include <array>

namespace splitcast::differential {

/// The names of the variables that carry parts 0, 1 and 2 of one sum.
using CarriedParts = std::array<std::string, 3>;

/// Of all sums of a module as 'sbp-split-steps' leaves it.
std::vector<CarriedParts> carriedPartsOf(mlir::ModuleOp module);

/// The outcome with one variable for each three, under the name of the first: part0 + part1 + part2.
Outcome joinParts(Outcome outcome, const std::vector<CarriedParts> &all);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_EXACTPARTS_H
