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

absl::Status NcclWatch::check() {
  if (!failure.ok())
    return failure;
  forgetDone();
  if (underWay.empty())
    return absl::OkStatus();
  const std::string &what = underWay.front().what;
  ncclResult_t state = ncclSuccess;
  ncclResult_t asked = ncclCommGetAsyncError(communicator, &state);
  if (asked != ncclSuccess || (state != ncclSuccess && state != ncclInProgress))
    return fail(absl::UnavailableError(
        absl::StrCat(what, ": NCCL: ", ncclGetErrorString(asked != ncclSuccess ? asked : state))));
  if (absl::Now() - lastProgress > timeout)
    return fail(absl::DeadlineExceededError(
        absl::StrCat(what, ": some rank has not answered within ", absl::FormatDuration(timeout))));
  return absl::OkStatus();
}

} // namespace splitcast::runtime
