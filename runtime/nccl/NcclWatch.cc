#include "runtime/nccl/NcclWatch.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/nccl/NcclStatus.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <utility>

namespace splitcast::runtime {

NcclWatch::~NcclWatch() {
  finishUnderWay();
  if (communicator) {
    ncclResult_t ended = ncclCommFinalize(communicator);
    if ((ended == ncclSuccess || ended == ncclInProgress) && settle("closing an NCCL communicator").ok())
      ncclCommDestroy(std::exchange(communicator, nullptr));
    else if (communicator) // settle() has not aborted it
      (void)fail(ncclStatus(ended, "closing an NCCL communicator", communicator));
  }
  if (aborting.joinable())
    aborting.join();
  isGone.Notify();
  if (guarding.joinable())
    guarding.join();
}

/// Aborts the communicator in a separate thread. The abort makes the kernels
/// end at once, but it returns only when no CUDA graph holds a collective of
/// the communicator any more. That is after this call, whose caller is told of
/// the error first.
absl::Status NcclWatch::fail(const absl::Status &status) {
  failure = status;
  if (options.onStuck)
    guarding = std::thread([this] {
      if (!isGone.WaitForNotificationWithTimeout(options.patience))
        options.onStuck(failure);
    });
  if (!communicator)
    return failure;
  int device = 0; // a thread begins with device 0
  (void)cudaGetDevice(&device);
  aborting = std::thread([dead = std::exchange(communicator, nullptr), device] {
    (void)cudaSetDevice(device);
    ncclCommAbort(dead);
  });
  return failure;
}

void NcclWatch::abandon(const absl::Status &status) {
  if (failure.ok())
    (void)fail(status);
}

void NcclWatch::forgetDone() {
  while (!underWay.empty() && isCudaEventDone(underWay.front().event)) {
    underWay.pop_front();
    progress.restart();
  }
  captured.erase(std::remove_if(captured.begin(), captured.end(),
                                [](const CapturedGraph &graph) { return graph.replays.expired(); }),
                 captured.end());
}

void NcclWatch::addCaptured(const std::string &what) {
  const std::shared_ptr<const CudaReplays> replays = replaysOfCapture();
  if (captured.empty() || captured.back().replays.lock() != replays)
    captured.push_back({replays, {}});
  captured.back().collectives.push_back(what);
}

const NcclWatch::CapturedGraph *NcclWatch::replayed() const {
  for (const CapturedGraph &graph : captured)
    if (const std::shared_ptr<const CudaReplays> replays = graph.replays.lock(); replays && !replays->areDone())
      return &graph;
  return nullptr;
}

void NcclWatch::finishUnderWay() {
  captured.clear(); // their replays were waited for by those who launched them
  progress.restart();
  for (forgetDone(); !underWay.empty() && check(absl::ZeroDuration()).ok(); forgetDone())
    absl::SleepFor(absl::Microseconds(50));
}

void NcclWatch::add(const Event &event, const std::string &what) {
  forgetDone();
  if (underWay.empty())
    progress.restart();
  underWay.push_back({event, what});
}

absl::Status NcclWatch::settle(const std::string &what) {
  Patience patience(timeout);
  ncclResult_t state = ncclInProgress;
  while (failure.ok() && state == ncclInProgress) {
    if (ncclCommGetAsyncError(communicator, &state) != ncclSuccess)
      state = ncclSystemError;
    if (state == ncclInProgress && patience.isOver())
      return fail(absl::DeadlineExceededError(
          absl::StrCat(what, ": some rank has not answered within ", absl::FormatDuration(timeout))));
    if (state == ncclInProgress)
      absl::SleepFor(absl::Microseconds(50));
  }
  if (!failure.ok() || state == ncclSuccess)
    return failure;
  return fail(ncclStatus(state, what, communicator));
}

std::string NcclWatch::suspect() const {
  if (!underWay.empty())
    return underWay.front().what;
  const CapturedGraph *graph = replayed();
  const std::vector<std::string> &all = (graph ? *graph : captured.back()).collectives;
  return absl::StrCat("one of ", all.size(), " collectives from ", all.front(), " to ", all.back(),
                      " (set SPLITCAST_CUDA_GRAPHS=0 to see which)");
}

absl::Status NcclWatch::check(absl::Duration waited) {
  SPLITCAST_RETURN_IF_ERROR(failure);
  forgetDone();
  if (underWay.empty() && captured.empty())
    return absl::OkStatus();
  ncclResult_t state = ncclSuccess;
  ncclResult_t asked = ncclCommGetAsyncError(communicator, &state);
  if (asked != ncclSuccess || (state != ncclSuccess && state != ncclInProgress))
    return fail(ncclStatus(asked != ncclSuccess ? asked : state, suspect(), communicator));
  const bool isLate = underWay.empty() ? waited > timeout && replayed() : progress.isOver();
  if (isLate)
    return fail(absl::DeadlineExceededError(
        absl::StrCat(suspect(), ": some rank has not answered within ", absl::FormatDuration(timeout))));
  return absl::OkStatus();
}

} // namespace splitcast::runtime
