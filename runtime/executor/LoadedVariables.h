//===- LoadedVariables.h - Which variables were not loaded ----------------------------===//
#ifndef SPLITCAST_RUNTIME_EXECUTOR_LOADEDVARIABLES_H
#define SPLITCAST_RUNTIME_EXECUTOR_LOADEDVARIABLES_H

#include <string>
#include <vector>

namespace splitcast::runtime {

/// What was not loaded from the source of a module's variables (a file, another session), by name.
struct LoadedVariables {
  /// Variables that stay as they were. The source lacks them, or they are counts or rates and it has no state.
  std::vector<std::string> kept;
  std::vector<std::string> unused; ///< names of the source that are no variable of the module
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_EXECUTOR_LOADEDVARIABLES_H
