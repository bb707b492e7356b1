//===- LoadedVariables.h - What was not loaded ----------------------------------------===//
#ifndef SPLITCAST_RUNTIME_EXECUTOR_LOADEDVARIABLES_H
#define SPLITCAST_RUNTIME_EXECUTOR_LOADEDVARIABLES_H

#include <string>
#include <vector>

namespace splitcast::runtime {

/// What a module's variables and where they were loaded from (a file, another session) do not have in common, by name.
struct LoadedVariables {
  std::vector<std::string> kept;   ///< variables that are not there: they stay as they were
  std::vector<std::string> unused; ///< what is there and is no variable of the module
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_EXECUTOR_LOADEDVARIABLES_H
