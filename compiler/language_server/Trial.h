//===- Trial.h - Work that may crash, in a copy of the process ------------------===//
#ifndef SPLITCAST_COMPILER_LANGUAGE_SERVER_TRIAL_H
#define SPLITCAST_COMPILER_LANGUAGE_SERVER_TRIAL_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>

namespace splitcast {

/// Does the work in a copy of this process (fork), and returns its result. The process must have one thread only.
/// Returns nothing if the copy could not be made, died, or took more than 30 seconds.
std::optional<std::string> tryInCopy(llvm::function_ref<std::string()> work);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LANGUAGE_SERVER_TRIAL_H
