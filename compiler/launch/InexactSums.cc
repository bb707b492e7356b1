#include "compiler/launch/InexactSums.h"

#include "dialects/nn/ExactGrid.h"
#include "passes/global/ScalarVariables.h"

#include <algorithm>
#include <cstdio>

namespace splitcast {

absl::Status InexactSums::lookAfter(const std::string &function, runtime::Variables &variables) {
  const absl::StatusOr<const runtime::VariableInfo *> variable = variables.find(kInexactSumsName.str());
  if (!variable.ok())
    return absl::OkStatus();
  double count = 0;
  if (absl::Status status = variables.readPieces(**variable, &count); !status.ok())
    return status;
  if (count < std::max(1.0, 2 * printed))
    return absl::OkStatus();
  printed = count;
  fprintf(stderr,
          "note: @%s is reproducible, but has rounded digits of f64 below 2^%d away in %.0f elements of sums so far "
          "(the variable '%s'); compute in f32, of which nothing is rounded away, or with a larger loss\n",
          function.c_str(), nn::ExactGrid::kLowestExponent, count, kInexactSumsName.str().c_str());
  return absl::OkStatus();
}

} // namespace splitcast
