//===- CommunicatorBench.cc - How fast collectives move 100 MB -------------===//
//
//   mpirun -n 2 --mca mpi_yield_when_idle 1 bazel-bin/tests/runtime/mpi/communicator_bench
//
// Prints the best of 20 of each collective, over 100 MB in all.
//
//===----------------------------------------------------------------------===//
#include "dialects/ccl/algebra/Traffic.h"
#include "dialects/sbp/algebra/Sizes.h"
#include "runtime/host/communicator/HostCommunicator.h"
#include "runtime/mpi/MpiRuntime.h"
#include "tests/runtime/conformance/NullStream.h"

#include <chrono>
#include <cstdio>
#include <functional>
#include <sys/mman.h>

using namespace splitcast;
using namespace splitcast::runtime;

namespace {

constexpr int64_t kElements = 25'000'000;
constexpr int kRepeats = 20;

Buffer allocate(int64_t bytes) {
  int64_t whole = sbp::alignUp(bytes, 1 << 21);
  void *data = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(data, whole, MADV_HUGEPAGE);
  for (int64_t i = 0; i < whole / 4; i += 1024)
    static_cast<float *>(data)[i] = 1;
  return {static_cast<std::byte *>(data), bytes};
}

void measure(Communicator &communicator, const char *name, const std::function<absl::StatusOr<Event>()> &start) {
  double best = 1e9;
  for (int i = 0; i < kRepeats; ++i) {
    if (!communicator.barrier({"barrier"}).ok())
      return;
    auto begin = std::chrono::steady_clock::now();
    absl::StatusOr<Event> event = start();
    absl::Status status = event.ok() ? (*event)->wait() : event.status();
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
      return;
    }
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  if (communicator.rank() == 0)
    std::printf("%-16s %8.2f ms at %lld ranks\n", name, best, static_cast<long long>(communicator.size()));
}

} // namespace

int main() {
  auto runtime = MpiRuntime::create();
  if (!runtime.ok())
    return 1;
  auto transport = (*runtime)->createTransport();
  if (!transport.ok())
    return 1;
  auto communicator = createHostCommunicator(*std::move(transport), {});
  int64_t ranks = communicator->size(), rank = communicator->rank();
  std::vector<int64_t> elements, bytes;
  for (int64_t r = 0; r < ranks; ++r) {
    elements.push_back(sbp::pieceOf(kElements, ranks, r).count);
    bytes.push_back(elements.back() * 4);
  }
  Buffer data = allocate(kElements * 4), other = allocate(kElements * 4);
  Buffer workspace = allocate(ccl::reduceScatterWorkspace(bytes, rank));
  NullStream stream;
  measure(*communicator, "all-gather", [&] { return communicator->allGather(data, bytes, stream, {"all-gather"}); });
  measure(*communicator, "reduce-scatter", [&] {
    return communicator->reduceScatter(data, elements, ElementType::F32, other, workspace, stream, {"reduce-scatter"});
  });
  measure(*communicator, "all-reduce", [&] {
    return communicator->allReduce(data, kElements, ElementType::F32, workspace, stream, {"all-reduce"});
  });
  std::vector<int64_t> even(ranks, kElements / ranks * 4);
  measure(*communicator, "all-to-all",
          [&] { return communicator->allToAll(data, even, other, even, stream, {"all-to-all"}); });
  measure(*communicator, "small all-reduce", [&] {
    return communicator->allReduce(data, 256, ElementType::F32, workspace, stream, {"small all-reduce"});
  });
  communicator.reset();
  return 0;
}
