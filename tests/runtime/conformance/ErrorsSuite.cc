//===- ErrorsSuite.cc - Wrong calls, late ranks, lost ranks ----------------===//
#include "runtime/api/SessionCommunicator.h"
#include "tests/runtime/conformance/SuiteSupport.h"

#include <chrono>

namespace splitcast::runtime::conformance {
namespace {

NullStream stream;

absl::Status waitFor(const absl::StatusOr<Event> &event) { return event.ok() ? (*event)->wait() : event.status(); }

/// A communicator call with small, correct arguments; returns what it, or its event, said.
struct Call {
  std::string what;
  std::function<absl::Status(Communicator &)> make;
};

constexpr int64_t kElements = 1500; // of f32: an all-reduce in two rounds, and messages that MPI sends eagerly
constexpr int64_t kBufferBytes = 1 << 16;

std::vector<Call> allCalls(GuardedBuffer &data, GuardedBuffer &scratch) {
  auto reduced = [&](Communicator &c, int64_t elements, const std::string &what) {
    return waitFor(c.allReduce(data.buffer(), elements, ElementType::F32, scratch.buffer(), stream, {what}));
  };
  std::vector<Call> calls = {
      {"all-reduce of 'large'", [=](Communicator &c) { return reduced(c, kElements, "all-reduce of 'large'"); }},
      {"all-reduce of 'small'", [=](Communicator &c) { return reduced(c, 10, "all-reduce of 'small'"); }},
      {"all-gather of 'w'",
       [&](Communicator &c) {
         return waitFor(c.allGather(data.buffer(), Blocks(c.size(), 40), stream, {"all-gather of 'w'"}));
       }},
      {"reduce-scatter of 'g'",
       [&](Communicator &c) {
         return waitFor(c.reduceScatter(data.buffer(), Blocks(c.size(), 40), ElementType::F64,
                                        data.buffer().slice(c.rank() * 320, 320), scratch.buffer(), stream,
                                        {"reduce-scatter of 'g'"}));
       }},
      {"all-to-all of 'x'",
       [&](Communicator &c) {
         Blocks blocks(c.size(), 40);
         return waitFor(c.allToAll(data.buffer(), blocks, scratch.buffer(), blocks, stream, {"all-to-all of 'x'"}));
       }},
      {"barrier at the end", [](Communicator &c) { return c.barrier({"barrier at the end"}); }},
      {"exchange of hashes", [](Communicator &c) { return c.exchange("hash", {"exchange of hashes"}).status(); }},
      {"split by axis",
       [](Communicator &c) {
         Blocks all(c.size());
         std::iota(all.begin(), all.end(), 0);
         return c.split(all, {"split by axis"}).status();
       }},
  };
  return calls;
}

bool contains(const absl::Status &status, const std::string &text) {
  return std::string(status.message()).find(text) != std::string::npos;
}

/// After `failure` every call gives the same status, at once.
void expectDead(RankContext &context, Communicator &communicator, const std::vector<Call> &calls,
                const absl::Status &failure) {
  for (const Call &call : calls)
    CONFORM_EQ(call.make(communicator), failure);
}

} // namespace

// Each wrong call is InvalidArgument on the ranks that make it, says what is wrong, sends nothing, and leaves a
// communicator that works.
CONFORMANCE(WrongCallsChangeNothing) {
  auto communicator = createCommunicator(context);
  const int64_t size = context.size(), rank = context.rank();
  const Blocks even(size, 100), bytes(size, 400);
  GuardedBuffer data(size * 400), scratch(kBufferBytes);
  GuardedBuffer block(400);
  Buffer output = block.buffer();
  auto reduceScatter = [&](Buffer buffer, const Blocks &blocks, ElementType type, Buffer workspace) {
    return communicator->reduceScatter(buffer, blocks, type, output, workspace, stream, {"here"}).status();
  };
  Buffer good = data.buffer(), roomy = scratch.buffer();
  Blocks tooFew(size - 1, 100), negative = even;
  negative.back() = -1;
  auto invalid = [&](const absl::Status &status, const std::string &text) {
    CONFORM_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    CONFORM(contains(status, "here: ") && contains(status, text));
  };
  const std::optional<ccl::Traffic> before = context.sent();
  invalid(reduceScatter(good, tooFew, ElementType::F32, roomy), "one per rank");
  invalid(reduceScatter(good, negative, ElementType::F32, roomy), "block of -1");
  invalid(reduceScatter(good.slice(0, size * 400 - 1), even, ElementType::F32, roomy), "less than its blocks");
  invalid(reduceScatter(good, even, ElementType::I32, roomy), "only floats can be summed, not i32");
  output.bytes = 399;
  invalid(reduceScatter(good, even, ElementType::F32, roomy), "the output has 399 bytes");
  output.bytes = 400;
  invalid(reduceScatter({good.data + 2, good.bytes - 2}, Blocks(size, 10), ElementType::F32, roomy), "not aligned");
  invalid(communicator->allGather({nullptr, 400 * size}, bytes, stream, {"here"}).status(), "no address");
  invalid(communicator->allReduce(good, -1, ElementType::F32, roomy, stream, {"here"}).status(), "block of -1");
  Blocks uneven = bytes;
  uneven[rank] -= 1;
  invalid(communicator->allToAll(good, bytes, roomy, uneven, stream, {"here"}).status(), "for itself");
  if (size > 1) {
    Buffer tooSmall = roomy.slice(0, ccl::reduceScatterWorkspace(bytes, rank) - 1);
    invalid(reduceScatter(good, even, ElementType::F32, tooSmall), "the workspace has");
    Buffer smallest = roomy.slice(0, ccl::allReduceWorkspace(100, 4, size, rank) - 1);
    invalid(communicator->allReduce(good, 100, ElementType::F32, smallest, stream, {"here"}).status(),
            "the workspace has");
  }
  CONFORM(hasSent(context, before, {}));
  for (const Call &call : allCalls(data = GuardedBuffer(kBufferBytes), scratch))
    CONFORM_EQ(call.make(*communicator), absl::OkStatus());
}

// Groups that do not fit together are InvalidArgument on every rank, and the communicator lives.
CONFORMANCE(WrongGroups) {
  auto communicator = createCommunicator(context);
  const int64_t size = context.size(), rank = context.rank();
  Blocks all(size);
  std::iota(all.begin(), all.end(), 0);
  Blocks twice = all;
  twice.push_back(0);
  Blocks outside = all;
  outside.push_back(size);
  Blocks withoutMe;
  for (int64_t r = 0; r < size; ++r)
    if (r != rank)
      withoutMe.push_back(r);
  std::vector<Blocks> wrong = {twice, outside, withoutMe, {}};
  if (size > 1)
    wrong.push_back(rank == 0 ? Blocks{0} : all); // overlapping: the others count on rank 0
  for (const Blocks &group : wrong)
    CONFORM_EQ(communicator->split(group, {"split"}).status().code(), absl::StatusCode::kInvalidArgument);
  CONFORM_EQ(communicator->split(all, {"split"}).status(), absl::OkStatus());
}

// The last rank never makes the call. All others learn, after the timeout and not long after, which collective it was
// and which rank, and nothing of each other; then their communicators are dead.
CONFORMANCE(SilentRank) {
  const int64_t silent = context.size() - 1;
  GuardedBuffer data(kBufferBytes), scratch(kBufferBytes);
  const std::vector<Call> calls = allCalls(data, scratch);
  auto control = createCommunicator(context);
  // All kinds at 3 ranks, for the time it takes.
  for (size_t i = 0; i < (context.size() == 3 ? calls.size() : 1); ++i) {
    auto communicator = createCommunicator(context, {absl::Milliseconds(300)});
    CONFORM_EQ(control->barrier({"before"}), absl::OkStatus());
    if (context.rank() != silent) {
      auto begin = std::chrono::steady_clock::now();
      absl::Status status = calls[i].make(*communicator);
      double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      CONFORM_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
      CONFORM(contains(status, calls[i].what + ": rank " + std::to_string(context.rank()) + " has waited 300ms"))
          << status;
      CONFORM(contains(status, " for rank " + std::to_string(silent) + " with no answer")) << status;
      CONFORM(seconds >= 0.3 && seconds < 5) << seconds;
      expectDead(context, *communicator, calls, status);
    }
    CONFORM_EQ(control->barrier({"after"}), absl::OkStatus());
  }
}

// In a group the late rank is named by its number in the whole.
CONFORMANCE(SilentRankOfGroup) {
  auto control = createCommunicator(context);
  auto communicator = createCommunicator(context, {absl::Milliseconds(300)});
  Blocks reversed;
  for (int64_t r = context.size() - 1; r >= 0; --r)
    reversed.push_back(r);
  auto group = communicator->split(reversed, {"split"});
  CONFORM_EQ(group.status(), absl::OkStatus());
  if (group.ok() && context.rank() != 0) {
    absl::Status status = (*group)->barrier({"barrier of the group"});
    CONFORM_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
    CONFORM(contains(status, " for rank 0 with no answer")) << status;
  }
  CONFORM_EQ(control->barrier({"after"}), absl::OkStatus());
}

// A collective in flight that nobody waits for is named when a later one is waited for: it is the one that is late.
CONFORMANCE(EarlierCollectiveIsNamed) {
  const int64_t silent = context.size() - 1;
  auto control = createCommunicator(context);
  auto communicator = createCommunicator(context, {absl::Milliseconds(300)});
  GuardedBuffer data(kBufferBytes);
  if (context.rank() != silent) {
    auto first = communicator->allGather(data.buffer(), Blocks(context.size(), 10), stream, {"the first"});
    auto second = communicator->allGather(data.buffer(), Blocks(context.size(), 10), stream, {"the second"});
    absl::Status status = waitFor(second);
    CONFORM_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
    CONFORM(contains(status, "the first: ")) << status;
    CONFORM_EQ(waitFor(first), status);
  }
  CONFORM_EQ(control->barrier({"after"}), absl::OkStatus());
}

// The last rank dies. All others learn which collective it was and which rank, and so does it; then all are dead.
CONFORMANCE(LostRank) {
  const int64_t lost = context.size() - 1;
  auto communicator = createCommunicator(context);
  GuardedBuffer data(kBufferBytes), scratch(kBufferBytes);
  const std::vector<Call> calls = allCalls(data, scratch);
  CONFORM_EQ(communicator->barrier({"before"}), absl::OkStatus());
  if (context.rank() == lost)
    context.die();
  absl::Status status = calls.front().make(*communicator);
  CONFORM_EQ(status.code(), absl::StatusCode::kUnavailable);
  CONFORM(contains(status, calls.front().what + ": rank " + std::to_string(context.rank()))) << status;
  if (context.rank() != lost)
    CONFORM(contains(status, " has lost rank " + std::to_string(lost) + " ")) << status;
  expectDead(context, *communicator, calls, status);
}

// Ranks that disagree about a block's size are told so, all of them, instead of computing with half a message.
CONFORMANCE(DifferentPrograms) {
  auto control = createCommunicator(context);
  auto communicator = createCommunicator(context, {absl::Seconds(20)});
  GuardedBuffer data(kBufferBytes);
  Blocks blocks(context.size(), 64);
  blocks[0] = context.rank() == 0 ? 128 : 64;
  absl::Status status = waitFor(communicator->allGather(data.buffer(), blocks, stream, {"all-gather of 'w'"}));
  if (context.size() == 1) {
    CONFORM_EQ(status, absl::OkStatus());
  } else {
    CONFORM_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    CONFORM(contains(status, "rank 0 ") && contains(status, " do not run the same collective")) << status;
    CONFORM(contains(status, "the same call with other sizes")) << status;
  }
  CONFORM_EQ(control->barrier({"after"}), absl::OkStatus());
}

// One rank sends each other one byte more than it expects, in an all-to-all, in which ranks do not know all sizes.
CONFORMANCE(DifferentLengths) {
  auto control = createCommunicator(context);
  auto communicator = createCommunicator(context, {absl::Seconds(20)});
  GuardedBuffer data(kBufferBytes), scratch(kBufferBytes);
  Blocks receives(context.size(), 64), sends(context.size(), 64);
  for (int64_t r = 1; r < context.size() && context.rank() == 0; ++r)
    sends[r] = 65;
  absl::Status status =
      waitFor(communicator->allToAll(data.buffer(), sends, scratch.buffer(), receives, stream, {"all-to-all"}));
  if (context.size() > 1 && context.rank() > 0)
    CONFORM_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  // Rank 0 got what it expected. It learns of the others' error in its next call.
  if (context.rank() == 0)
    status = communicator->barrier({"barrier"});
  CONFORM_EQ(status.code(), context.size() > 1 ? absl::StatusCode::kFailedPrecondition : absl::StatusCode::kOk);
  CONFORM_EQ(control->barrier({"after"}), absl::OkStatus());
}

namespace {

/// The error that says that rank `odd` is in another call than all others, which each rank gets, whatever it did.
void expectUnlike(RankContext &context, const absl::Status &status, const std::string &odd, const std::string &others) {
  if (context.size() == 1) {
    CONFORM_EQ(status, absl::OkStatus());
    return;
  }
  CONFORM_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  const std::string last = "rank " + std::to_string(context.size() - 1);
  CONFORM(contains(status, last + " is at " + odd)) << status;
  CONFORM(contains(status, " is at " + others)) << status;
}

/// A session's place; see SessionCommunicator.h.
std::shared_ptr<const Activity> at(uint32_t session, uint32_t run, std::vector<uint64_t> alike = {}) {
  auto activity = std::make_shared<Activity>();
  activity->session = session;
  activity->run = run;
  activity->function = "train";
  activity->alike = std::move(alike);
  activity->values = [digest = activity->alike] { return digest.empty() ? "" : "rate " + std::to_string(digest[0]); };
  return activity;
}

} // namespace

// The last rank makes another call than all others: of each kind beside each, those that send no bytes, too.
CONFORMANCE(UnlikeCalls) {
  auto control = createCommunicator(context);
  GuardedBuffer data(kBufferBytes), scratch(kBufferBytes);
  const std::vector<Call> calls = allCalls(data, scratch);
  const bool isLast = context.rank() == context.size() - 1;
  for (size_t i = 0; i < calls.size(); ++i)
    for (size_t j = 0; j < calls.size(); ++j) {
      if (i == j || (context.size() != 3 && j != (i + 3) % calls.size()))
        continue;
      auto communicator = createCommunicator(context);
      const absl::Status status = calls[isLast ? i : j].make(*communicator);
      expectUnlike(context, status, calls[i].what, calls[j].what);
      if (context.size() > 1)
        CONFORM_EQ(communicator->barrier({"later"}), status);
      CONFORM_EQ(control->barrier({"after"}), absl::OkStatus());
    }
}

// Two calls with the same words are two, by their lines.
CONFORMANCE(SitesAreLines) {
  auto control = createCommunicator(context);
  auto communicator = createCommunicator(context);
  const absl::Status status = context.rank() == context.size() - 1 ? communicator->exchange("1", {"notes"}).status()
                                                                   : communicator->exchange("2", {"notes"}).status();
  expectUnlike(context, status, "notes", "notes");
  CONFORM_EQ(control->barrier({"after"}), absl::OkStatus());
}

// The same call of another session, of another run, or with another value where all must give the same, in messages of
// two sizes: short ones, and those that MPI sends apart from their frames. (What MPI does not send eagerly would have
// to be given up, after which a process cannot finalize MPI.)
CONFORMANCE(UnlikeSessions) {
  auto control = createCommunicator(context);
  const bool isLast = context.rank() == context.size() - 1;
  const std::vector<uint64_t> rate(context.size(), 7), other(context.size(), 8);
  struct Case {
    std::shared_ptr<const Activity> last, others;
    std::string saysOfLast, saysOfOthers;
  };
  const Case cases[] = {
      {at(2, 1), at(1, 1), "run 1 of session 2, of @train", "run 1 of session 1, of @train"},
      {at(1, 4), at(1, 5), "run 4 of session 1, of @train", "run 5 of session 1, of @train"},
      {at(1, 3, other), at(1, 3, rate), "run 3 of session 1, of @train with rate 8", "of @train with rate 7"},
      {nullptr, at(1, 3), "all-gather of 'w'", "run 3 of session 1"},
  };
  for (const Case &each : cases)
    for (int64_t bytes : {8, 4000}) {
      auto communicator = createCommunicator(context);
      const auto during = isLast ? each.last : each.others;
      auto ofSession = during ? createSessionCommunicator(*communicator, during) : nullptr;
      GuardedBuffer data(bytes * context.size());
      const absl::Status status =
          waitFor((ofSession ? *ofSession : *communicator)
                      .allGather(data.buffer(), Blocks(context.size(), bytes), stream, {"all-gather of 'w'"}));
      expectUnlike(context, status, during || !isLast ? "all-gather of 'w'" : each.saysOfLast, "all-gather of 'w'");
      if (context.size() > 1)
        CONFORM(contains(status, each.saysOfLast) && contains(status, each.saysOfOthers)) << status;
      CONFORM_EQ(control->barrier({"after"}), absl::OkStatus());
    }
}

// Equal sessions, runs and values meet; so do values that only some ranks have in common.
CONFORMANCE(LikeSessions) {
  auto communicator = createCommunicator(context);
  std::vector<uint64_t> alike(context.size());
  for (int64_t r = 0; r < context.size(); ++r)
    alike[r] = r % 2 == context.rank() % 2 ? 100 + r % 2 : 5;
  auto session = createSessionCommunicator(*communicator, at(communicator->nextSession(), 1, alike));
  GuardedBuffer data(kBufferBytes), scratch(kBufferBytes);
  for (const Call &call : allCalls(data, scratch))
    CONFORM_EQ(call.make(*session), absl::OkStatus());
  CONFORM_EQ(session->agreeOnRun({"start of a run"}), absl::OkStatus());
  CONFORM_EQ(static_cast<int64_t>(communicator->nextSession()), 2);
}

// Two ranks of a group disagree. Ranks of other groups, which wait in calls of all ranks, learn it, too.
CONFORMANCE(OtherGroupsLearnOfADisagreement) {
  auto control = createCommunicator(context);
  auto communicator = createCommunicator(context);
  Blocks group;
  const int64_t mine = std::min<int64_t>(context.rank(), 2); // ranks 0 and 1 each have their own, the others one
  for (int64_t r = 0; r < context.size(); ++r)
    if (std::min<int64_t>(r, 2) == mine)
      group.push_back(r);
  auto part = communicator->split(group, {"split"});
  CONFORM_EQ(part.status(), absl::OkStatus());
  const bool isLast = context.rank() == context.size() - 1;
  absl::Status status;
  if (part.ok() && mine == 2)
    status = (*part)->barrier({isLast ? "the odd one" : "barrier of the group"});
  if (status.ok())
    status = communicator->barrier({"barrier of all"});
  if (context.size() < 4) {
    CONFORM_EQ(status, absl::OkStatus());
  } else {
    CONFORM_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    CONFORM(contains(status, "is at the odd one") && contains(status, "is at barrier of the group")) << status;
  }
  CONFORM_EQ(control->barrier({"after"}), absl::OkStatus());
}

} // namespace splitcast::runtime::conformance
