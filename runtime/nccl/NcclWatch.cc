#include "runtime/nccl/NcclWatch.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace splitcast::runtime {

NcclWatch::~NcclWatch() {
  forgetDone();
  if (!communicator)
    return;
  if (underWay.empty() && ncclCommFinalize(communicator) == ncclSuccess)
    ncclCommDestroy(communicator);
  else
    ncclCommAbort(communicator);
}

absl::Status NcclWatch::fail(const absl::Status &status) {
  failure = status;
  if (communicator)
    ncclCommAbort(communicator);
  communicator = nullptr;
  return failure;
}

void NcclWatch::forgetDone() {
  while (!underWay.empty() && isCudaEventDone(underWay.front().event)) {
    underWay.pop_front();
    lastProgress = absl::Now();
  }
}

void NcclWatch::add(const Event &event, const std::string &what) {
  forgetDone();
  if (underWay.empty())
    lastProgress = absl::Now();
  underWay.push_back({event, what});
}

absl::Status NcclWatch::settle(const std::string &what) {
  const absl::Time end = absl::Now() + timeout;
  ncclResult_t state = ncclInProgress;
  while (failure.ok() && state == ncclInProgress) {
    if (ncclCommGetAsyncError(communicator, &state) != ncclSuccess)
      state = ncclSystemError;
    if (state == ncclInProgress && absl::Now() > end)
      return fail(absl::DeadlineExceededError(
          absl::StrCat(what, ": some rank has not answered within ", absl::FormatDuration(timeout))));
    if (state == ncclInProgress)
      absl::SleepFor(absl::Microseconds(50));
  }
  if (!failure.ok() || state == ncclSuccess)
    return failure;
  return fail(absl::UnavailableError(absl::StrCat(what, ": NCCL: ", ncclGetErrorString(state))));
}

std::string NcclWatch::suspect() const {
  if (!underWay.empty())
    return underWay.front().what;
  return absl::StrCat("one of ", captured.size(), " collectives from ", captured.front(), " to ", captured.back(),
                      " (SPLITCAST_CUDA_GRAPHS=0 tells which)");
}

absl::Status NcclWatch::check(absl::Duration waited) {
  if (!failure.ok())
    return failure;
  forgetDone();
  if (underWay.empty() && captured.empty())
    return absl::OkStatus();
  ncclResult_t state = ncclSuccess;
  ncclResult_t asked = ncclCommGetAsyncError(communicator, &state);
  if (asked != ncclSuccess || (state != ncclSuccess && state != ncclInProgress))
    return fail(absl::UnavailableError(
        absl::StrCat(suspect(), ": NCCL: ", ncclGetErrorString(asked != ncclSuccess ? asked : state))));
  if ((underWay.empty() ? waited : absl::Now() - lastProgress) > timeout)
    return fail(absl::DeadlineExceededError(
        absl::StrCat(suspect(), ": some rank has not answered within ", absl::FormatDuration(timeout))));
  return absl::OkStatus();
}

} // namespace splitcast::runtime
