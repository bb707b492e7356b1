#include "runtime/host/communicator/HostCommunicatorQueue.h"

#include "runtime/api/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <chrono>
#include <sched.h>

namespace splitcast::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// How many collectives of a queue are driven at a time. The later ones have
/// posted their first messages, too, but are not urgent.
constexpr size_t kDrivenCollectives = 4;
/// After so many polls without progress, a few tens of microseconds, the thread
/// yields.
constexpr int kSpins = 100;

class HostEvent final : public EventState {
public:
  HostEvent(std::shared_ptr<CollectiveQueue> queue, std::shared_ptr<Operation> operation)
      : queue(std::move(queue)), operation(std::move(operation)) {}
  absl::Status wait() override { return queue->wait(*operation); }

private:
  std::shared_ptr<CollectiveQueue> queue;
  std::shared_ptr<Operation> operation;
};

} // namespace

CollectiveQueue::CollectiveQueue(std::unique_ptr<Transport> transport, HostCommunicatorOptions options,
                                 std::vector<int64_t> names, std::shared_ptr<Siblings> siblings)
    : messages(std::move(transport)), limits(options), rankNames(std::move(names)), family(std::move(siblings)) {
  limits.maxInFlight = std::clamp(limits.maxInFlight, int64_t{1}, kTags / 4);
  family->push_back(this);
}

CollectiveQueue::~CollectiveQueue() {
  for (auto &operation : inFlight)
    operation->abandon();
  family->erase(std::find(family->begin(), family->end(), this));
}

//===----------------------------------------------------------------------===//
// Progress
//===----------------------------------------------------------------------===//

bool CollectiveQueue::advance(Operation &operation) {
  absl::StatusOr<bool> moved = operation.advance(*messages);
  if (!moved.ok())
    (void)die(messageError(operation, moved.status()));
  return moved.ok() && *moved;
}

bool CollectiveQueue::drive() {
  bool moved = false;
  for (size_t i = 0; i < std::min(inFlight.size(), kDrivenCollectives); ++i)
    if (!inFlight[i]->finished())
      moved |= advance(*inFlight[i]);
  while (!inFlight.empty() && inFlight.front()->finished()) {
    inFlight.front()->completed = true;
    inFlight.pop_front();
  }
  return moved;
}

absl::StatusOr<Event> CollectiveQueue::start(std::unique_ptr<Operation> operation) {
  SPLITCAST_RETURN_IF_ERROR(failure);
  if (absl::Status health = messages->health(); !health.ok())
    return die(healthError(*operation, health));
  if (static_cast<int64_t>(inFlight.size()) >= limits.maxInFlight) {
    std::shared_ptr<Operation> oldest = inFlight.front();
    SPLITCAST_RETURN_IF_ERROR(wait(*oldest));
  }
  std::shared_ptr<Operation> started = std::move(operation);
  inFlight.push_back(started);
  advance(*started);
  drive();
  SPLITCAST_RETURN_IF_ERROR(failure);
  return std::make_shared<HostEvent>(shared_from_this(), std::move(started));
}

absl::Status CollectiveQueue::run(std::unique_ptr<Operation> operation) {
  absl::StatusOr<Event> event = start(std::move(operation));
  return event.ok() ? (*event)->wait() : event.status();
}

absl::Status CollectiveQueue::wait(const Operation &operation) {
  std::chrono::nanoseconds timeout = absl::ToChronoNanoseconds(limits.timeout);
  Clock::time_point lastMoved = Clock::now();
  for (int idle = 0; !operation.completed; ++idle) {
    SPLITCAST_RETURN_IF_ERROR(failure);
    // The time is read before the poll. If the process was stopped in between,
    // it polls once more before it gives up.
    Clock::time_point now = Clock::now();
    bool moved = drive();
    for (size_t i = 0; i < family->size(); ++i)
      if ((*family)[i] != this)
        moved |= (*family)[i]->drive();
    if (moved) {
      idle = 0;
      lastMoved = Clock::now();
      continue;
    }
    if (operation.completed || !failure.ok() || idle < kSpins)
      continue;
    if (absl::Status health = messages->health(); !health.ok())
      return die(healthError(*inFlight.front(), health));
    if (now - lastMoved > timeout)
      return die(timeoutError(*inFlight.front()));
    sched_yield();
  }
  return absl::OkStatus();
}

absl::Status CollectiveQueue::die(absl::Status status) {
  failure = std::move(status);
  for (auto &operation : inFlight)
    operation->abandon();
  inFlight.clear();
  return failure;
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

std::string CollectiveQueue::nameRanks(const std::vector<int64_t> &ranks) const {
  std::vector<int64_t> named;
  for (int64_t rank : ranks)
    named.push_back(rankNames[rank]);
  return absl::StrCat(named.size() == 1 ? "rank " : "ranks ", absl::StrJoin(named, ", "));
}

absl::Status CollectiveQueue::messageError(const Operation &operation, const absl::Status &status) const {
  std::string here = absl::StrCat(operation.what, ": rank ", rankNames[messages->rank()]);
  std::string there = absl::StrCat("rank ", rankNames[operation.failedPeer()]);
  // InvalidArgument is reserved for calls that had no effect.
  if (absl::IsInvalidArgument(status))
    return absl::FailedPreconditionError(
        absl::StrCat(here, " and ", there, " do not run the same collective (", status.message(),
                     "); start all ranks with the same program, options and files, and let all of "
                     "them run functions and save, load, read and write variables "
                     "in the same order"));
  if (absl::IsResourceExhausted(status))
    return absl::ResourceExhaustedError(
        absl::StrCat(here, " has no room for what ", there, " sends (", status.message(),
                     "); raise the limits of this process, or use --transport=messages"));
  return absl::Status(status.code(), absl::StrCat(here, " has lost ", there, " (", status.message(),
                                                  "); find out why that process ended, and restart the job"));
}

absl::Status CollectiveQueue::healthError(const Operation &operation, const absl::Status &health) const {
  std::vector<int64_t> late = operation.waitsFor();
  std::string waiting = late.empty() ? "" : absl::StrCat(", while it waited for ", nameRanks(late));
  return absl::Status(health.code(), absl::StrCat(operation.what, ": rank ", rankNames[messages->rank()],
                                                  " had to stop (", health.message(), ")", waiting));
}

absl::Status CollectiveQueue::timeoutError(const Operation &operation) const {
  return absl::DeadlineExceededError(
      absl::StrCat(operation.what, ": rank ", rankNames[messages->rank()], " has waited ",
                   absl::FormatDuration(limits.timeout), " for ", nameRanks(operation.waitsFor()),
                   " with no answer; check what that process is doing, or raise the timeout"));
}

} // namespace splitcast::runtime
