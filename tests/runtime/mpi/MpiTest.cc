//===- MpiTest.cc - The wire, the launcher, and ranks that end -------------===//
//
// The binary runs itself under mpirun: with an argument it is one rank of the role named, and reports in files of the
// directory named.
//
//===----------------------------------------------------------------------===//
#include "runtime/host/communicator/HostCommunicator.h"
#include "runtime/mpi/MpiRuntime.h"
#include "runtime/pull/PullTransport.h"
#include "tests/runtime/conformance/NullStream.h"
#include "tests/runtime/mpi/CountingMpi.h"
#include "tests/runtime/mpi/Mpirun.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <cerrno>
#include <csignal>
#include <fstream>
#include <gtest/gtest.h>
#include <mpi.h>
#include <thread>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

NullStream stream;

//===----------------------------------------------------------------------===//
// As one of several ranks
//===----------------------------------------------------------------------===//

/// What a rank reports, in the file of that name and rank.
std::string reportPath(const std::string &directory, const std::string &name, int64_t rank) {
  return directory + "/" + name + std::to_string(rank);
}

void report(const std::string &directory, const std::string &name, int64_t rank, const std::string &text) {
  std::ofstream(reportPath(directory, name, rank)) << text;
}

absl::Status waitFor(const absl::StatusOr<Event> &event) { return event.ok() ? (*event)->wait() : event.status(); }

std::string difference(const char *what, const ccl::Traffic &before, const ccl::Traffic &expected) {
  ccl::Traffic after = sentOverMpi();
  int64_t bytes = after.bytes - before.bytes, messages = after.messages - before.messages;
  if (bytes == expected.bytes && messages == expected.messages)
    return "";
  return std::string(what) + ": " + std::to_string(bytes) + " bytes in " + std::to_string(messages) +
         " messages, not " + std::to_string(expected.bytes) + " in " + std::to_string(expected.messages) + "\n";
}

/// Sends one of each collective and compares what MPI was given with the algebra: "" or the differences.
std::string compareTraffic(Communicator &c) {
  const int64_t size = c.size(), rank = c.rank();
  std::vector<int64_t> elements, bytes;
  for (int64_t r = 0; r < size; ++r) {
    elements.push_back(r == 1 ? 0 : 300'000 * r + 17);
    bytes.push_back(elements.back() * 4);
  }
  std::vector<std::byte> data(1 << 24), other(1 << 24), workspace(1 << 24);
  Buffer in{data.data(), 1 << 24}, out{other.data(), 1 << 24}, work{workspace.data(), 1 << 24};
  std::string wrong;
  auto compare = [&](const char *what, const ccl::Traffic &expected, const auto &start) {
    ccl::Traffic before = sentOverMpi();
    absl::Status status = waitFor(start());
    wrong += status.ok() ? difference(what, before, expected) : std::string(status.message()) + "\n";
  };
  compare("all-gather", ccl::allGatherTraffic(bytes, rank), [&] { return c.allGather(in, bytes, stream, {"g"}); });
  compare("reduce-scatter", ccl::reduceScatterTraffic(bytes, rank),
          [&] { return c.reduceScatter(in, elements, ElementType::F32, out, work, stream, {"s"}); });
  for (int64_t count : {1000, 1'000'001})
    compare("all-reduce", ccl::allReduceTraffic(count, 4, size, rank),
            [&] { return c.allReduce(in, count, ElementType::F32, work, stream, {"r"}); });
  std::vector<int64_t> sends, receives;
  for (int64_t r = 0; r < size; ++r) {
    sends.push_back(700'000 * (rank + r));
    receives.push_back(700'000 * (r + rank));
  }
  compare("all-to-all", ccl::allToAllTraffic(sends, rank),
          [&] { return c.allToAll(in, sends, out, receives, stream, {"a"}); });
  return wrong;
}

int runTraffic(MpiRuntime &runtime, const std::string &directory) {
  auto transport = runtime.createTransport();
  if (!transport.ok())
    return 1;
  auto communicator = createHostCommunicator(*std::move(transport), {absl::Seconds(10)});
  std::string wrong = compareTraffic(*communicator);
  if (otherMpiCalls() != 0)
    wrong += "MPI was asked for more than messages\n";
  report(directory, "traffic", runtime.rank(),
         wrong + "compared on " + std::to_string(runtime.localRank()) + " of " + std::to_string(runtime.localSize()));
  return 0;
}

/// The exit status of ranks that may not read each other's memory.
constexpr int kForbidden = 77;

/// Null where the system forbids ranks to read each other's memory.
std::shared_ptr<PeerMemory> connectPeers(MpiRuntime &runtime) {
  auto memory = PeerMemory::connect(*createHostCommunicator(*runtime.createTransport(), {}), true);
  return memory.ok() && (*memory)->whatFailed().empty() ? *std::move(memory) : nullptr;
}

std::unique_ptr<Communicator> createPullCommunicator(MpiRuntime &runtime, const std::shared_ptr<PeerMemory> &memory,
                                                     const HostCommunicatorOptions &options) {
  auto messages = *runtime.createTransport();
  return createHostCommunicator(createPullTransport(std::move(messages), *runtime.createTransport(), memory), options);
}

/// What is wrong with an all-gather from and to `data`, 5 MiB for each rank; MPI may be given so many bytes and
/// messages for each chunk.
std::string gather(Communicator &communicator, std::byte *data, int64_t mostBytes, int64_t messages) {
  const int64_t block = 5 << 20, rank = communicator.rank(), size = communicator.size();
  std::fill_n(data, block * size, std::byte(7 + rank));
  const ccl::Traffic was = sentOverMpi();
  absl::Status status = waitFor(communicator.allGather({data, block * size}, std::vector<int64_t>(size, block), stream,
                                                       {"all-gather of blocks"}));
  const ccl::Traffic now = sentOverMpi();
  bool isRight = status.ok();
  for (int64_t i = 0; i < block * size; ++i)
    isRight = isRight && data[i] == std::byte(7 + i / block);
  const int64_t chunks = block / ccl::kChunkBytes * (size - 1);
  if (!isRight)
    return "wrong values; " + status.ToString();
  if (now.bytes - was.bytes >= mostBytes * chunks || now.messages - was.messages != messages * chunks)
    return absl::StrCat(now.bytes - was.bytes, " bytes given in ", now.messages - was.messages, " messages; ");
  return "";
}

/// What is wrong with one in which rank 0 has another length than the others expect: all are told.
std::string gatherOthers(Communicator &communicator, Communicator &control, std::byte *data) {
  const int64_t rank = communicator.rank(), size = communicator.size();
  std::vector<int64_t> blocks(size, 1 << 18);
  blocks[0] = rank == 0 ? 1 << 19 : 1 << 18;
  const absl::Status status =
      waitFor(communicator.allGather({data, size << 19}, blocks, stream, {"all-gather of others"}));
  (void)control.barrier({"after"}); // until then others read this rank's memory
  return absl::IsFailedPrecondition(status) && absl::StrContains(status.message(), "with other sizes")
             ? ""
             : "rank " + std::to_string(rank) + " said " + status.ToString();
}

/// Of what lies in shared memory, MPI is given some bytes for each chunk, and answers, of none. What lies elsewhere
/// follows as a message.
int runPulls(MpiRuntime &runtime, const std::string &directory) {
  auto control = createHostCommunicator(*runtime.createTransport(), {absl::Seconds(30)});
  const std::shared_ptr<PeerMemory> memory = connectPeers(runtime);
  if (!memory)
    return kForbidden;
  const int64_t bytes = (5 << 20) * runtime.size();
  auto communicator = createPullCommunicator(runtime, memory, {absl::Seconds(10)});
  std::byte *shared = memory->memory()->allocate(bytes)->data;
  std::vector<std::byte> own(bytes);
  std::string wrong = gather(*communicator, shared, 100, 2);
  wrong += gather(*communicator, own.data(), ccl::kChunkBytes + 100, 2);
  // Once memory was released, what others had mapped of it is not what they find at its address.
  (void)control->barrier({"before"});
  memory->memory()->release({shared, bytes});
  shared = memory->memory()->allocate(bytes)->data;
  wrong += gather(*communicator, shared, 100, 2);
  wrong += gatherOthers(*communicator, *control, shared);
  report(directory, "pulls", runtime.rank(), wrong.empty() ? "read" : wrong);
  return 0;
}

/// Of another length than is expected, and not in shared memory. Ranks that fail give up what they send each other, and
/// MPI says so as they end.
int runFollowing(MpiRuntime &runtime, const std::string &directory) {
  auto control = createHostCommunicator(*runtime.createTransport(), {absl::Seconds(30)});
  const std::shared_ptr<PeerMemory> memory = connectPeers(runtime);
  if (!memory)
    return kForbidden;
  auto communicator = createPullCommunicator(runtime, memory, {absl::Seconds(10)});
  std::vector<std::byte> own(runtime.size() << 19);
  const std::string wrong = gatherOthers(*communicator, *control, own.data());
  report(directory, "following", runtime.rank(), wrong.empty() ? "told" : wrong);
  return 0;
}

/// All-gathers until rank 1 gets `signal` before the third. The others report what they are told, and abort.
int runFault(MpiRuntime &runtime, const std::string &directory, bool pulls, int signal, absl::Duration timeout) {
  report(directory, "pid", runtime.rank(), std::to_string(getpid()));
  auto transport = runtime.createTransport();
  if (!transport.ok())
    return 1;
  const std::shared_ptr<PeerMemory> memory = pulls ? connectPeers(runtime) : nullptr;
  if (pulls && !memory)
    return kForbidden;
  auto communicator = pulls ? createPullCommunicator(runtime, memory, {timeout})
                            : createHostCommunicator(*std::move(transport), {timeout});
  std::vector<std::byte> own(pulls ? 0 : 3 << 21);
  std::byte *data = pulls ? memory->memory()->allocate(3 << 21)->data : own.data();
  for (int64_t step = 0; step < 5; ++step) {
    if (step == 2 && runtime.rank() == 1)
      raise(signal);
    CallSite site{"all-gather of bucket 'w' (collective " + std::to_string(step) + ")"};
    absl::Status status = waitFor(
        communicator->allGather({data, 3 << 21}, std::vector<int64_t>(communicator->size(), 1 << 21), stream, site));
    if (!status.ok()) {
      report(directory, "status", runtime.rank(), status.ToString());
      // Aborting wakes the stopped rank: the other's time must have run out, too, on a machine that is busy.
      if (signal == SIGSTOP)
        std::this_thread::sleep_for(std::chrono::seconds(4));
      runtime.abortJob(3);
    }
  }
  return 0;
}

int runRole(const std::string &role, const std::string &directory) {
  auto runtime = MpiRuntime::create();
  if (!runtime.ok())
    return 1;
  if (role == "traffic")
    return runTraffic(**runtime, directory);
  if (role == "pulls")
    return runPulls(**runtime, directory);
  if (role == "following")
    return runFollowing(**runtime, directory);
  const bool pulls = absl::StartsWith(role, "pulls, ");
  if (absl::EndsWith(role, "killed"))
    return runFault(**runtime, directory, pulls, SIGKILL, absl::Seconds(30));
  if (absl::EndsWith(role, "stopped"))
    return runFault(**runtime, directory, pulls, SIGSTOP, absl::Seconds(1));
  return 2;
}

//===----------------------------------------------------------------------===//
// As the test
//===----------------------------------------------------------------------===//

// What MPI_Isend is given, counted by MPI's profiling interface, is what the algebra says; nothing else of MPI sends.
TEST(Mpi, TrafficIsTheAlgebras) {
  for (int64_t ranks : {2, 3}) {
    std::string directory = makeTestDirectory();
    MpirunResult result = runUnderMpirun(ranks, {"traffic", directory}, 30);
    EXPECT_EQ(result.exitCode, 0) << result.output;
    for (int64_t rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(readText(reportPath(directory, "traffic", rank)),
                "compared on " + std::to_string(rank) + " of " + std::to_string(ranks));
  }
}

TEST(Mpi, LongMessagesAreReadWhereTheyLie) {
  std::string directory = makeTestDirectory();
  MpirunResult result = runUnderMpirun(3, {"pulls", directory}, 30);
  if (result.exitCode == kForbidden)
    GTEST_SKIP() << "processes may not read each other's memory here";
  EXPECT_EQ(result.exitCode, 0) << result.output;
  for (int64_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(readText(reportPath(directory, "pulls", rank)), "read");
  runUnderMpirun(3, {"following", directory}, 30);
  for (int64_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(readText(reportPath(directory, "following", rank)), "told");
}

/// Whether the process is gone, or is so within a second.
bool isGone(const std::string &pid) {
  for (int i = 0; i < 100 && !pid.empty(); ++i) {
    if (kill(std::stoi(pid), 0) != 0 && errno == ESRCH)
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// Runs the role at 3 ranks: the job fails in time, both others have said what `expected` lists, and no process is
/// left.
void expectFault(const std::string &role, const std::vector<std::string> &expected) {
  std::string directory = makeTestDirectory();
  MpirunResult result = runUnderMpirun(3, {role, directory}, 20);
  if (result.exitCode == kForbidden)
    GTEST_SKIP() << "processes may not read each other's memory here";
  EXPECT_GT(result.exitCode, 0) << "after " << result.seconds << " s: " << result.output;
  EXPECT_LT(result.seconds, 15);
  for (int64_t other : {0, 2}) {
    std::string status = readText(reportPath(directory, "status", other));
    for (const std::string &text : expected)
      EXPECT_NE(status.find(text), std::string::npos) << "rank " << other << " said '" << status << "', not " << text;
  }
  for (int64_t rank = 0; rank < 3; ++rank)
    EXPECT_TRUE(isGone(readText(reportPath(directory, "pid", rank)))) << "rank " << rank << " is still there";
}

// mpirun ends the job when a rank is killed; the others still say for whom they waited, and in which collective.
TEST(Mpi, KilledRankIsNamed) {
  for (const char *role : {"killed", "pulls, killed"})
    expectFault(role, {"UNAVAILABLE", "all-gather of bucket 'w' (collective 2)", "told to end by SIGTERM",
                       "while it waited for rank 1"});
}

// Nobody but the communicator notices a rank that is stopped.
TEST(Mpi, StoppedRankIsNamed) {
  for (const char *role : {"stopped", "pulls, stopped"})
    expectFault(role, {"DEADLINE_EXCEEDED", "all-gather of bucket 'w' (collective 2)", "has waited 1s for rank 1 "});
}

// Without a launcher there is one rank, which works, and MPI is not even started.
TEST(Mpi, AloneWithoutLauncher) {
  auto runtime = MpiRuntime::create();
  ASSERT_TRUE(runtime.ok()) << runtime.status();
  EXPECT_EQ((*runtime)->size(), 1);
  EXPECT_EQ((*runtime)->localSize(), 1);
  int started = 1;
  MPI_Initialized(&started);
  EXPECT_EQ(started, 0);
  auto communicator = createHostCommunicator(*(*runtime)->createTransport(), {});
  EXPECT_EQ(compareTraffic(*communicator), "");
  EXPECT_EQ(*communicator->exchange("me", {"exchange"}), std::vector<std::string>{"me"});
  auto again = communicator->split({0}, {"split"});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ((*again)->barrier({"barrier"}), absl::OkStatus());
  EXPECT_EQ(MpiRuntime::create().status().code(), absl::StatusCode::kFailedPrecondition);
}

/// 0 if a process that is told to end says so at its next collective, with the signal's name.
int endsAfterSignal() {
  auto runtime = MpiRuntime::create();
  if (runtime.ok()) {
    auto communicator = createHostCommunicator(*(*runtime)->createTransport(), {});
    if (!communicator->barrier({"before"}).ok())
      return 1;
    raise(SIGTERM);
    absl::Status status = communicator->barrier({"barrier of step 4"});
    bool named = status.message().find("barrier of step 4: ") == 0 &&
                 status.message().find("SIGTERM") != absl::string_view::npos;
    return absl::IsUnavailable(status) && named ? 0 : 2;
  }
  return 3;
}

/// 0 if ranks that were started by a launcher MPI does not know are refused, instead of each running alone.
int refusesUnknownLauncher() {
  setenv("PMI_RANK", "0", 1);
  setenv("PMI_SIZE", "2", 1);
  auto runtime = MpiRuntime::create();
  return runtime.status().code() == absl::StatusCode::kFailedPrecondition ? 0 : 1;
}

// In processes of their own, since signals and MPI_Init cannot be undone.
TEST(MpiDeathTest, SignalEndsAtTheNextCollective) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(endsAfterSignal()), ::testing::ExitedWithCode(0), "");
}

TEST(MpiDeathTest, UnknownLauncherIsRefused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(_exit(refusesUnknownLauncher()), ::testing::ExitedWithCode(0), "");
}

} // namespace
} // namespace splitcast::runtime

int main(int argc, char **argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc == 3)
    return splitcast::runtime::runRole(argv[1], argv[2]);
  return RUN_ALL_TESTS();
}
