//===- ExactParts.h - Compares exact sums that are carried as parts -------===//
//
// Each rank has the parts (nn.exact_part) of the sum of its own addends, and a part of the whole sum is not the sum of
// the ranks' parts. So to compare whole values with those of ranks, the parts are added first.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_DIFFERENTIAL_EXACTPARTS_H
#define SPLITCAST_TESTS_DIFFERENTIAL_EXACTPARTS_H

#include "tests/differential/Oracle.h"

#include <string>
#include <vector>

namespace splitcast::differential {

/// The names of the variables that carry the parts of one sum, in order.
using CarriedParts = std::vector<std::string>;

/// Returns the variables of all sums in a module after 'sbp-split-steps', also of those that nothing reads.
std::vector<CarriedParts> carriedPartsOf(mlir::ModuleOp module);

/// Replaces the variables of each sum by the sum of their parts, under the name of the first.
Outcome joinParts(Outcome outcome, const std::vector<CarriedParts> &all);

} // namespace splitcast::differential

#endif // SPLITCAST_TESTS_DIFFERENTIAL_EXACTPARTS_H
