//===- VariableSources.h - What variables begin with -----------------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_VARIABLESOURCES_H
#define SPLITCAST_COMPILER_LAUNCH_VARIABLESOURCES_H

#include "compiler/launch/LaunchFlags.h"
#include "compiler/launch/Session.h"

namespace splitcast {

/// The file that variables are loaded from before the first step, if any.
struct VariableSources {
  std::string variables; ///< of all that a job saved
  std::string weights;   ///< without what optimizers keep
  std::string known;     ///< whatever it has
  std::vector<runtime::Renaming> renamings;

  /// --load-variables, --load-weights, --load-known and --rename.
  void addTo(Flags &flags);
  /// InvalidArgument: more than one thing says where variables come from; `resume` is a directory of checkpoints, or
  /// empty.
  absl::Status check(const std::string &resume) const;
  /// All ranks call it. Rank 0 says which tensors were not used, and which variables were not loaded.
  absl::Status load(Session &session, int64_t rank) const;

private:
  absl::Status loadKnown(Session &session, int64_t rank) const;
};

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_VARIABLESOURCES_H
