//===- CommunicatorBench.cc - How fast collectives move 100 MB -------------===//
//
//   mpirun -n 2 --mca mpi_yield_when_idle 1 bazel-bin/tests/runtime/mpi/communicator_bench
//
// Prints, of each collective over 100 MB in all, median and best of 20 by MPI's own, by ours over messages, and by ours
// where ranks read each other's memory, in turns; of an all-gather also where they have one copy. Then it prints the
// microseconds of small calls: the median and the best of 20 batches of 1000.
//
//===----------------------------------------------------------------------===//
#include "dialects/ccl/algebra/Traffic.h"
#include "dialects/sbp/algebra/Sizes.h"
#include "runtime/host/communicator/HostCommunicator.h"
#include "runtime/mpi/MpiRuntime.h"
#include "runtime/pull/PullTransport.h"
#include "tests/runtime/conformance/NullStream.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mpi.h>

using namespace splitcast;
using namespace splitcast::runtime;

namespace {

constexpr int64_t kElements = 25'000'000;
constexpr int kRepeats = 20;

/// Touched, so that no collective meets pages that are not there.
Buffer allocate(HostMemory &memory, int64_t bytes) {
  Buffer buffer = *memory.allocate(bytes);
  if (!memory.populate(buffer).ok())
    std::abort();
  std::fill_n(reinterpret_cast<float *>(buffer.data), bytes / 4, 1.0f);
  return buffer;
}

/// One way to do a collective; false: it failed.
struct Way {
  const char *name;
  std::function<bool()> run;
  std::vector<double> milliseconds = {};
};

/// In turns, so that what else the machine does meets all of them.
void compare(const char *collective, std::vector<Way> ways) {
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < kRepeats; ++i)
    for (Way &way : ways) {
      MPI_Barrier(MPI_COMM_WORLD);
      const auto begin = std::chrono::steady_clock::now();
      if (!way.run())
        return;
      const auto end = std::chrono::steady_clock::now();
      way.milliseconds.push_back(std::chrono::duration<double, std::milli>(end - begin).count());
    }
  for (Way &way : ways) {
    std::sort(way.milliseconds.begin(), way.milliseconds.end());
    if (rank == 0)
      std::printf("%-15s %-9s median %8.2f ms, best %8.2f ms at %d ranks\n", collective, way.name,
                  way.milliseconds[way.milliseconds.size() / 2], way.milliseconds[0], ranks);
  }
}

bool waitFor(const absl::StatusOr<Event> &event) {
  const absl::Status status = event.ok() ? (*event)->wait() : event.status();
  if (!status.ok())
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok();
}

std::unique_ptr<Communicator> overMessages(MpiRuntime &runtime) {
  return createHostCommunicator(*runtime.createTransport(), {});
}

std::unique_ptr<Communicator> overMemory(MpiRuntime &runtime, const std::shared_ptr<PeerMemory> &memory) {
  return createHostCommunicator(createPullTransport(*runtime.createTransport(), *runtime.createTransport(), memory),
                                {});
}

void compareAll(Communicator &messages, Communicator &memory, HostMemory &space) {
  const int64_t ranks = messages.size(), rank = messages.rank();
  std::vector<int64_t> elements, bytes;
  std::vector<int> counts, places;
  for (int64_t r = 0; r < ranks; ++r) {
    const auto piece = sbp::pieceOf(kElements, ranks, r);
    elements.push_back(piece.count);
    bytes.push_back(piece.count * 4);
    counts.push_back(static_cast<int>(piece.count));
    places.push_back(static_cast<int>(piece.begin));
  }
  Buffer data = allocate(space, kElements * 4), other = allocate(space, kElements * 4);
  Buffer workspace = allocate(space, ccl::allReduceWorkspace(kElements, 4, ranks, rank));
  NullStream stream;
  auto both = [&](const std::function<absl::StatusOr<Event>(Communicator &)> &start) -> std::vector<Way> {
    return {{"messages", [&, start] { return waitFor(start(messages)); }},
            {"memory", [&, start] { return waitFor(start(memory)); }}};
  };
  auto compareWith = [&](const char *name, const std::function<int()> &mpi,
                         const std::function<absl::StatusOr<Event>(Communicator &)> &start,
                         const std::vector<Way> &more = {}) {
    std::vector<Way> ways = both(start);
    ways.insert(ways.end(), more.begin(), more.end());
    if (mpi)
      ways.push_back({"MPI's own", [&] { return mpi() == MPI_SUCCESS; }});
    compare(name, std::move(ways));
  };
  std::vector<Way> inOneCopy;
  const auto copy = memory.shareMemory(kElements * 4, {"sharing"});
  if (copy.ok() && *copy)
    inOneCopy.push_back({"one copy", [&, there = (*copy)->buffer()] {
                           return waitFor(memory.allGather(there, bytes, stream, {"all-gather"}));
                         }});
  compareWith(
      "all-gather",
      [&] {
        return MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data.data, counts.data(), places.data(), MPI_FLOAT,
                              MPI_COMM_WORLD);
      },
      [&](Communicator &c) { return c.allGather(data, bytes, stream, {"all-gather"}); }, inOneCopy);
  compareWith(
      "reduce-scatter",
      [&] { return MPI_Reduce_scatter(data.data, other.data, counts.data(), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); },
      [&](Communicator &c) {
        // In place, as in plans.
        const auto own = sbp::pieceOf(kElements, ranks, rank);
        return c.reduceScatter(data, elements, ElementType::F32, data.slice(own.begin * 4, own.count * 4), workspace,
                               stream, {"reduce-scatter"});
      });
  compareWith(
      "all-reduce",
      [&] {
        return MPI_Allreduce(MPI_IN_PLACE, data.data, static_cast<int>(kElements), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      },
      [&](Communicator &c) {
        return c.allReduce(data, kElements, ElementType::F32, workspace, stream, {"all-reduce"});
      });
  const std::vector<int64_t> even(ranks, kElements / ranks * 4);
  compareWith("all-to-all", nullptr,
              [&](Communicator &c) { return c.allToAll(data, even, other, even, stream, {"all-to-all"}); });
  compareWith("small all-reduce", nullptr, [&](Communicator &c) {
    return c.allReduce(data, 256, ElementType::F32, workspace, stream, {"small all-reduce"});
  });
}

/// Small calls, a thousand at a time.
void timeSmallCalls(Communicator &communicator, HostMemory &space) {
  constexpr int kCalls = 1000;
  Buffer data = allocate(space, 1 << 16), workspace = allocate(space, 1 << 20);
  NullStream stream;
  const CallSite site{"small call"};
  const std::vector<int64_t> bytes(communicator.size(), 8);
  const std::pair<const char *, std::function<absl::Status()>> calls[] = {
      {"barrier", [&] { return communicator.barrier(site); }},
      {"all-gather of 8 bytes",
       [&] {
         auto event = communicator.allGather(data, bytes, stream, site);
         return event.ok() ? (*event)->wait() : event.status();
       }},
      {"all-reduce of 1 KiB",
       [&] {
         auto event = communicator.allReduce(data, 256, ElementType::F32, workspace, stream, site);
         return event.ok() ? (*event)->wait() : event.status();
       }},
      {"exchange of 8 bytes", [&] { return communicator.exchange("8 bytes.", site).status(); }},
  };
  for (const auto &[name, call] : calls) {
    std::vector<double> microseconds;
    for (int batch = 0; batch < kRepeats; ++batch) {
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < kCalls; ++i)
        if (!call().ok())
          return;
      const std::chrono::duration<double, std::micro> all = std::chrono::steady_clock::now() - begin;
      microseconds.push_back(all.count() / kCalls);
    }
    std::sort(microseconds.begin(), microseconds.end());
    if (communicator.rank() == 0)
      std::printf("%-22s median %7.2f us, best %7.2f us\n", name, microseconds[kRepeats / 2], microseconds[0]);
  }
}

} // namespace

int main() {
  auto runtime = MpiRuntime::create();
  if (!runtime.ok())
    return 1;
  std::unique_ptr<Communicator> messages = overMessages(**runtime);
  auto peers = PeerMemory::connect(*messages, true);
  if (!peers.ok() || !(*peers)->whatFailed().empty()) {
    std::fprintf(stderr, "ranks cannot read each other's memory here\n");
    return 1;
  }
  std::unique_ptr<Communicator> memory = overMemory(**runtime, *peers);
  compareAll(*messages, *memory, *(*peers)->memory());
  timeSmallCalls(*memory, *(*peers)->memory());
  memory.reset();
  messages.reset();
  return 0;
}
