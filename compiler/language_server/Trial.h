//===- Trial.h - Work that may end the process that does it ---------------------===//
#ifndef SPLITCAST_COMPILER_LANGUAGE_SERVER_TRIAL_H
#define SPLITCAST_COMPILER_LANGUAGE_SERVER_TRIAL_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>
#include <string>

namespace splitcast {

/// Does the work in a copy of this process, which must have one thread, and returns its result. Nothing: the copy could
/// not be made, died, or took more than half a minute.
std::optional<std::string> tryInCopy(llvm::function_ref<std::string()> work);

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LANGUAGE_SERVER_TRIAL_H
