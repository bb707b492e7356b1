//===- OrderSuite.cc - Events, collectives in flight, groups ---------------===//
#include "tests/runtime/conformance/SuiteSupport.h"

#include <chrono>
#include <thread>

namespace splitcast::runtime::conformance {
namespace {

NullStream stream;

void sleepFor(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

/// An all-reduce of `elements` floats whose sum is known, started by the constructor.
class StartedAllReduce {
public:
  StartedAllReduce(RankContext &context, Communicator &communicator, int64_t elements, int64_t salt = 0)
      : elements(elements), size(communicator.size()), salt(salt), data(elements * 4),
        workspace(
            ccl::allReduceWorkspace(elements, 4, communicator.size(), communicator.rank(), communicator.chunkBytes())) {
    for (int64_t i = 0; i < elements; ++i)
      data.as<float>()[i] = integerAt(communicator.rank(), i + salt);
    event = communicator.allReduce(data.buffer(), elements, ElementType::F32, workspace.buffer(), stream,
                                   {"all-reduce " + std::to_string(salt)});
    CONFORM_EQ(event.status(), absl::OkStatus());
  }

  void check(RankContext &context) {
    finish(context, event);
    int64_t wrong = 0;
    for (int64_t i = 0; i < elements; ++i)
      wrong += data.as<float>()[i] != integerSum(size, i + salt);
    CONFORM_EQ(wrong, 0);
  }

  absl::StatusOr<Event> event = absl::UnknownError("not started");

private:
  int64_t elements, size, salt;
  GuardedBuffer data, workspace;
};

using StartedAllReduces = std::vector<std::unique_ptr<StartedAllReduce>>;

constexpr int64_t kChunkFloats = ccl::kChunkBytes / 4;

} // namespace

// Collectives of several sizes may be in flight, more than are driven at a time; the last one's event drives all, and
// waiting for the others after it, and twice, gives the same answer.
CONFORMANCE(SeveralInFlight) {
  auto communicator = createCommunicator(context);
  StartedAllReduces started;
  for (int64_t i = 0; i < 10; ++i)
    started.push_back(std::make_unique<StartedAllReduce>(
        context, *communicator, i % 3 == 0 ? context.size() * 2 * kChunkFloats + 5 : 100 * i, i));
  finish(context, started.back()->event);
  for (auto reduce = started.rbegin(); reduce != started.rend(); ++reduce)
    (*reduce)->check(context);
  started.front()->check(context);
}

// A start beyond the limit of collectives in flight waits for the oldest instead of failing.
CONFORMANCE(MoreThanMayBeInFlight) {
  auto communicator = createCommunicator(context, {absl::Seconds(20), /*maxInFlight=*/2});
  StartedAllReduces started;
  for (int64_t i = 0; i < 7; ++i)
    started.push_back(std::make_unique<StartedAllReduce>(context, *communicator, 5000, i));
  for (auto &reduce : started)
    reduce->check(context);
}

// Tags are used again after 32768 collectives, while ranks may be far apart.
CONFORMANCE(TagsWrapAround) {
  auto communicator = createCommunicator(context);
  const int64_t collectives = context.size() == 2 ? 33000 : 10;
  absl::Status status;
  for (int64_t i = 0; i < collectives && status.ok(); ++i)
    status = communicator->barrier({"barrier"});
  CONFORM_EQ(status, absl::OkStatus());
  StartedAllReduce(context, *communicator, 5000).check(context);
}

// An event may be waited for when its communicator is gone.
CONFORMANCE(EventOutlivesCommunicator) {
  auto communicator = createCommunicator(context);
  StartedAllReduce reduce(context, *communicator, 2 * kChunkFloats * context.size());
  communicator.reset();
  reduce.check(context);
}

// What a host computes between start and wait is not counted by the timeout.
CONFORMANCE(TimeoutRunsInWaitOnly) {
  auto communicator = createCommunicator(context, {absl::Milliseconds(400)});
  StartedAllReduce reduce(context, *communicator, 5000);
  if (context.size() > 1)
    sleepFor(600);
  reduce.check(context);
}

// Every message starts the timeout anew: four collectives, each begun 200 ms late by rank 0, take longer than the
// timeout.
CONFORMANCE(TimeoutRunsFromTheLastProgress) {
  auto communicator = createCommunicator(context, {absl::Milliseconds(600)});
  StartedAllReduces started;
  for (int64_t i = 0; i < 4; ++i) {
    if (context.rank() == 0 && context.size() == 2)
      sleepFor(250);
    started.push_back(std::make_unique<StartedAllReduce>(context, *communicator, 5000, i));
  }
  for (auto reduce = started.rbegin(); reduce != started.rend(); ++reduce)
    (*reduce)->check(context);
}

// Nobody leaves a barrier before everybody has come: the last to come does so after 20 ms per rank.
CONFORMANCE(Barrier) {
  auto communicator = createCommunicator(context);
  auto now = [] { return std::chrono::steady_clock::now().time_since_epoch().count(); };
  CONFORM_EQ(communicator->barrier({"first"}), absl::OkStatus());
  sleepFor(20 * context.rank());
  const int64_t came = now();
  CONFORM_EQ(communicator->barrier({"second"}), absl::OkStatus());
  const int64_t left = now();
  auto times = communicator->exchange(std::to_string(came), {"times"});
  CONFORM_EQ(times.status(), absl::OkStatus());
  if (!times.ok())
    return;
  for (const std::string &other : *times)
    CONFORM(std::stoll(other) <= left); // one machine, one clock
}

// Strings of any length, empty ones and more than a chunk too, arrive in rank order.
CONFORMANCE(Exchange) {
  auto communicator = createCommunicator(context);
  auto textOf = [](int64_t rank, int64_t length) { return std::string(length, static_cast<char>('a' + rank)); };
  for (int64_t scale : {int64_t{0}, int64_t{1}, ccl::kChunkBytes}) {
    auto all = communicator->exchange(textOf(context.rank(), context.rank() * scale), {"exchange"});
    CONFORM_EQ(all.status(), absl::OkStatus());
    if (!all.ok())
      return;
    CONFORM_EQ(static_cast<int64_t>(all->size()), context.size());
    for (int64_t r = 0; r < context.size(); ++r)
      CONFORM((*all)[r] == textOf(r, r * scale));
  }
}

// Even and odd ranks part, in reverse order; both groups and the whole communicate at the same time.
CONFORMANCE(Split) {
  auto communicator = createCommunicator(context);
  Blocks group;
  for (int64_t r = context.size() - 1; r >= 0; --r)
    if (r % 2 == context.rank() % 2)
      group.push_back(r);
  auto part = communicator->split(group, {"split"});
  CONFORM_EQ(part.status(), absl::OkStatus());
  if (!part.ok())
    return;
  CONFORM_EQ((*part)->size(), static_cast<int64_t>(group.size()));
  CONFORM_EQ(group[(*part)->rank()], context.rank());
  StartedAllReduce ofAll(context, *communicator, 5000, 1), ofPart(context, **part, 5000, 2);
  auto members = (*part)->exchange(std::to_string(context.rank()), {"members"});
  CONFORM_EQ(members.status(), absl::OkStatus());
  for (size_t i = 0; members.ok() && i < group.size(); ++i)
    CONFORM_EQ((*members)[i], std::to_string(group[i]));
  ofPart.check(context);
  ofAll.check(context);
}

// Ranks may wait for the collectives of two communicators in different orders.
CONFORMANCE(SiblingsGoOnTogether) {
  auto communicator = createCommunicator(context);
  Blocks all(context.size());
  std::iota(all.begin(), all.end(), 0);
  auto other = communicator->split(all, {"split"});
  CONFORM_EQ(other.status(), absl::OkStatus());
  if (!other.ok())
    return;
  const int64_t elements = 3 * kChunkFloats * context.size();
  StartedAllReduce first(context, *communicator, elements, 1), second(context, **other, elements, 2);
  if (context.rank() % 2 == 0)
    first.check(context);
  second.check(context);
  first.check(context);
}

} // namespace splitcast::runtime::conformance
