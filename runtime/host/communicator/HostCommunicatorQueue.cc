#include "runtime/host/communicator/HostCommunicatorQueue.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/process/Patience.h"

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
/// After so much time without progress the thread yields.
constexpr std::chrono::microseconds kSpinTime{50};
/// How often a rank that waits without progress looks for notices, at the most.
constexpr std::chrono::milliseconds kLookInterval{5};
/// To look costs as much as there are ranks, and all of them look: among many,
/// the interval is so much for each, so that looks take no more of the machine.
constexpr std::chrono::milliseconds kLookIntervalOfRank{1};
/// A rank that sleeps wakes up for that, but also to see whether the process is
/// told to end.
constexpr std::chrono::nanoseconds kLongestSleep = std::chrono::milliseconds{100};
/// What a rank sent before it ended arrives within this time.
constexpr std::chrono::milliseconds kEndedPatience{1000};
/// How long a rank that disagrees with another waits for the other's words.
constexpr std::chrono::milliseconds kWordsPatience{15000};

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
                                 std::vector<int64_t> names, std::shared_ptr<Family> family)
    : messages(std::move(transport)), limits(std::move(options)), rankNames(std::move(names)),
      relatives(std::move(family)) {
  limits.maxInFlight = std::clamp(limits.maxInFlight, int64_t{1}, kTags / 4);
  relatives->queues.push_back(this);
}

CollectiveQueue::~CollectiveQueue() {
  for (auto &operation : inFlight)
    operation->abandon();
  std::vector<CollectiveQueue *> &queues = relatives->queues;
  queues.erase(std::find(queues.begin(), queues.end(), this));
}

//===----------------------------------------------------------------------===//
// Progress
//===----------------------------------------------------------------------===//

bool CollectiveQueue::advance(Operation &operation) {
  absl::StatusOr<bool> moved = operation.advance(*messages);
  if (absl::IsInvalidArgument(moved.status()) || absl::IsFailedPrecondition(moved.status()))
    (void)disagree(operation, moved.status());
  else if (!moved.ok() && !lookForNotices()) // a rank that is lost may have said why it ended
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
  const Activity *during = started->site.during.get();
  Frame frame;
  frame.site = static_cast<uint32_t>(mixed(started->site.tag, operationsStarted++));
  frame.shape = static_cast<uint32_t>(started->shape);
  if (during) {
    frame.site = static_cast<uint32_t>(mixed(digestOf(during->function), frame.site));
    frame.session = during->session;
    frame.run = during->run;
  }
  started->stamp(frame, rankNames);
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
  Patience patience(limits.timeout);
  const std::chrono::nanoseconds lookInterval = std::min<std::chrono::nanoseconds>(
      std::max(kLookInterval, messages->size() * kLookIntervalOfRank), absl::ToChronoNanoseconds(limits.timeout));
  Clock::time_point lastMoved = Clock::now(), lastLook = lastMoved;
  while (!operation.completed) {
    SPLITCAST_RETURN_IF_ERROR(failure);
    bool moved = drive();
    for (size_t i = 0; i < relatives->queues.size(); ++i)
      if (relatives->queues[i] != this)
        moved |= relatives->queues[i]->drive();
    if (moved) {
      lastMoved = Clock::now();
      patience.restart();
      continue;
    }
    if (operation.completed || !failure.ok() || Clock::now() - lastMoved < kSpinTime)
      continue;
    if (absl::Status health = messages->health(); !health.ok())
      return die(healthError(*inFlight.front(), health));
    const Clock::time_point now = Clock::now();
    if (now - lastLook > lookInterval) {
      lastLook = now;
      if (lookForNotices())
        continue;
      if (std::optional<absl::Status> ended = endedError(*inFlight.front()); ended && now - lastMoved > kEndedPatience)
        return die(*std::move(ended));
    }
    if (patience.isOver())
      return die(timeoutError(*inFlight.front()));
    messages->idle(absl::FromChrono(now - lastMoved), absl::FromChrono(std::min(lookInterval, kLongestSleep)));
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
// Disagreement
//===----------------------------------------------------------------------===//

/// Ends the family because the peer of the operation is at another call.
absl::Status CollectiveQueue::disagree(const Operation &operation, const absl::Status &status) {
  const int64_t with = rankNames[operation.failedPeer()];
  const std::string clause = absl::IsFailedPrecondition(status)
                                 ? std::string(status.message())
                                 : absl::StrCat("do not run the same collective (", status.message(), ")");
  const Notice mine{number(), with, operation.describe(), clause};
  for (CollectiveQueue *queue : relatives->queues)
    queue->notices.send(*queue->messages, mine);
  return endFamily(unlikeError(operation, mine));
}

/// Returns where a rank is, in its own words. It finds out, too, that it
/// disagrees, unless it waits for nothing now.
std::string CollectiveQueue::wordsOf(int64_t rank, const Operation &operation) {
  if (rank == number())
    return operation.describe();
  const Clock::time_point begin = Clock::now();
  while (Clock::now() - begin < kWordsPatience && messages->health().ok()) {
    for (CollectiveQueue *queue : {this, relatives->queues.front()}) {
      (void)queue->notices.receive(*queue->messages);
      if (std::optional<std::string> words = queue->notices.wordsOf(rank))
        return *std::move(words);
    }
    sched_yield();
  }
  return "a call that it has not told";
}

/// Ends the family if a rank has sent a notice, which is passed on to the ranks
/// of the other queues: its sender need not know them. Others may wait for the
/// words of this rank, whether or not the notice is about it: they may have met
/// a wrong message of it, too.
bool CollectiveQueue::lookForNotices() {
  for (CollectiveQueue *queue : {this, relatives->queues.front()}) {
    const std::optional<Notice> arrived = queue->notices.receive(*queue->messages);
    if (!arrived)
      continue;
    const int64_t with = arrived->with == number() ? arrived->from : Notice::kNobody;
    const Notice mine{number(), with, inFlight.front()->describe(), arrived->clause};
    for (CollectiveQueue *other : relatives->queues) {
      if (other != queue)
        other->notices.send(*other->messages, *arrived);
      other->notices.send(*other->messages, mine);
    }
    (void)endFamily(unlikeError(*inFlight.front(), *arrived));
    return true;
  }
  return false;
}

absl::Status CollectiveQueue::endFamily(const absl::Status &status) {
  for (CollectiveQueue *queue : relatives->queues)
    if (queue->failure.ok())
      (void)queue->die(status);
  return status;
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
  std::string here = absl::StrCat(operation.site.what, ": rank ", number());
  std::string there = absl::StrCat("rank ", rankNames[operation.failedPeer()]);
  if (absl::IsResourceExhausted(status))
    return absl::ResourceExhaustedError(
        absl::StrCat(here, " has no room for what ", there, " sends (", status.message(),
                     "); raise the limits of this process, or use --transport=messages"));
  return absl::Status(status.code(), absl::StrCat(here, " has lost ", there, " (", status.message(),
                                                  "); find out why that process ended, and restart the job"));
}

absl::Status CollectiveQueue::unlikeError(const Operation &operation, const Notice &notice) {
  return absl::FailedPreconditionError(absl::StrCat(
      operation.site.what, ": rank ", notice.from, " and rank ", notice.with, " ", notice.clause, ": rank ",
      notice.from, " is at ", notice.call, "; rank ", notice.with, " is at ", wordsOf(notice.with, operation),
      "; start all ranks with the same program, options and files, and let all of them make sessions, run functions "
      "and save, load, read and write variables in the same order, with the same values for inputs of which they have "
      "the same part"));
}

absl::Status CollectiveQueue::healthError(const Operation &operation, const absl::Status &health) const {
  std::vector<int64_t> late = operation.waitsFor();
  std::string waiting = late.empty() ? "" : absl::StrCat(", while it waited for ", nameRanks(late));
  return absl::Status(health.code(), absl::StrCat(operation.site.what, ": rank ", rankNames[messages->rank()],
                                                  " had to stop (", health.message(), ")", waiting));
}

/// Returns an error if the operation waits for a rank that has ended.
std::optional<absl::Status> CollectiveQueue::endedError(const Operation &operation) const {
  if (!limits.hasEnded)
    return std::nullopt;
  for (int64_t rank : operation.waitsFor())
    if (limits.hasEnded(rankNames[rank]))
      return absl::FailedPreconditionError(absl::StrCat(
          operation.site.what, ": rank ", number(), " is at ", operation.describe(), ", but rank ", rankNames[rank],
          " has ended its program; let all ranks run functions and save, load, read and write variables "
          "in the same order and equally often"));
  return std::nullopt;
}

absl::Status CollectiveQueue::timeoutError(const Operation &operation) const {
  return absl::DeadlineExceededError(absl::StrCat(
      operation.site.what, ": rank ", rankNames[messages->rank()], " has waited ", absl::FormatDuration(limits.timeout),
      " for ", nameRanks(operation.waitsFor()), operation.relays ? ", or for ranks for which these wait," : "",
      " with no answer; check what that process is doing, or raise the timeout"));
}

} // namespace splitcast::runtime
