//===- StandardOutput.h - Whether what a program printed was written ------------------===//
#ifndef SPLITCAST_COMPILER_LAUNCH_STANDARDOUTPUT_H
#define SPLITCAST_COMPILER_LAUNCH_STANDARDOUTPUT_H

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace splitcast {

/// Call it before a program ends well.
///   Errors  DataLoss: a part of what was printed is lost, such as on a full disk.
inline absl::Status flushOutput() {
  const std::string reason = fflush(stdout) == 0 ? "" : absl::StrCat(" (", strerror(errno), ")");
  if (reason.empty() && ferror(stdout) == 0)
    return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("standard output cannot be written", reason, "; what was printed is not complete"));
}

} // namespace splitcast

#endif // SPLITCAST_COMPILER_LAUNCH_STANDARDOUTPUT_H
