//===- VariableSources.h - Where variables are loaded from -----------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_VARIABLESOURCES_H
#define SPLITCAST_COMPILER_LAUNCH_VARIABLESOURCES_H

#include "compiler/launch/LaunchFlags.h"
#include "compiler/launch/SavedRates.h"
#include "compiler/launch/Session.h"

namespace splitcast {

/// The file that variables are loaded from before the first step, if any.
struct VariableSources {
  std::string variables; ///< the file of Session::loadVariables: all that a job saved
  std::string weights;   ///< the file of Session::loadWeights: without the state of optimizers
  std::string known;     ///< the file of Session::loadKnown: only what it and the module have in common
  std::vector<runtime::Renaming> renamings;
  SavedRates rates; ///< whose learning rates count, also those of checkpoints

  /// Adds --load-variables, --load-weights, --load-known, --rename and --rates.
  void addTo(Flags &flags);
  /// Checks that at most one source is given. `resume` is a directory of checkpoints, or empty.
  ///   Errors  InvalidArgument: there is more than one source, or --rename without --load-weights.
  absl::Status check(const std::string &resume) const;
  /// All ranks call it. Rank 0 prints to stderr which tensors were not used, and which variables were not loaded.
  /// Without a file it does nothing. Errors are those of the session's methods.
  absl::Status load(Session &session, int64_t rank) const;

private:
  absl::Status loadKnown(Session &session, int64_t rank) const;
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_VARIABLESOURCES_H
