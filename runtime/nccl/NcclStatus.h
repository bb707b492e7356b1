//===- NcclStatus.h - NCCL's errors as statuses ----------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_NCCL_NCCLSTATUS_H
#define SPLITCAST_RUNTIME_NCCL_NCCLSTATUS_H

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nccl.h"

#include <string>

namespace splitcast::runtime {

/// Returns OK, also if the call is still in progress, or Unavailable with `what`, NCCL's name of the error, and what
/// NCCL last logged for the communicator (for any, if it is null).
inline absl::Status ncclStatus(ncclResult_t result, const std::string &what, ncclComm_t communicator) {
  if (result == ncclSuccess || result == ncclInProgress)
    return absl::OkStatus();
  const char *said = ncclGetLastError(communicator);
  return absl::UnavailableError(
      absl::StrCat(what, ": NCCL: ", ncclGetErrorString(result), said && *said ? absl::StrCat(": ", said) : ""));
}

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_NCCL_NCCLSTATUS_H
