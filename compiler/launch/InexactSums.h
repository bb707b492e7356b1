//===- InexactSums.h - Says when a reproducible step has rounded something away ----------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_INEXACTSUMS_H
#define SPLITCAST_COMPILER_LAUNCH_INEXACTSUMS_H

#include "runtime/executor/Variables.h"

#include "absl/status/status.h"

#include <string>

namespace splitcast {

/// Watches the variable in which reproducible steps count the elements of sums from which they rounded something away
/// ('sbp-exact-sums'). Only modules that sum numbers of f64 have it.
class InexactSums {
public:
  /// Reads the variable of this rank after a run of `function`. Prints a line to stderr when the count is first not 0,
  /// and again whenever it has doubled.
  ///   Errors  those of the device, which reads the variable.
  absl::Status lookAfter(const std::string &function, runtime::Variables &variables);

private:
  double printed = 0; ///< the count of the last line
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_INEXACTSUMS_H
