//===- ErrorsSuite.cc - Wrong calls, late ranks, lost ranks ----------------===//
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

// Ranks that disagree about a block's size are told so, and with whom, instead of computing with half a message.
CONFORMANCE(DifferentPrograms) {
  auto control = createCommunicator(context);
  auto communicator = createCommunicator(context, {absl::Seconds(2)});
  GuardedBuffer data(kBufferBytes);
  Blocks blocks(context.size(), 64);
  blocks[0] = context.rank() == 0 ? 128 : 64;
  absl::Status status = waitFor(communicator->allGather(data.buffer(), blocks, stream, {"all-gather of 'w'"}));
  if (context.rank() == 0) {
    CONFORM_EQ(status, absl::OkStatus());
  } else {
    CONFORM_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    CONFORM(contains(status, "and rank 0 do not run the same collective")) << status;
  }
  CONFORM_EQ(control->barrier({"after"}), absl::OkStatus());
}

} // namespace splitcast::runtime::conformance
