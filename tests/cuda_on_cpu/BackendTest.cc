// What the CUDA backend refuses and gives up, in one process.
#include "dialects/exec/Exec.h"
#include "runtime/api/ForwardingCommunicator.h"
#include "runtime/cuda/CudaDevice.h"
#include "runtime/host/communicator/HostCommunicator.h"
#include "runtime/host/communicator/ThreadTransport.h"
#include "runtime/nccl/NcclCommunicator.h"

#include "absl/time/time.h"
#include "mlir/AsmParser/AsmParser.h"
#include "nccl.h"

#include <csignal>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

/// Whether a rank joins alone, however many it believes that there are.
static bool joinsAlone = false;

extern "C" ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int size, ncclUniqueId id, int rank,
                                               ncclConfig_t *config) {
  static const auto join =
      reinterpret_cast<decltype(&ncclCommInitRankConfig)>(dlsym(RTLD_NEXT, "ncclCommInitRankConfig"));
  return joinsAlone ? join(comm, 1, id, 0, config) : join(comm, size, id, rank, config);
}

namespace splitcast::runtime {
namespace {

using testing::HasSubstr;

constexpr int64_t kBytes = 1 << 10;

class CudaBackendTest : public testing::Test {
protected:
  Buffer allocate(int64_t bytes) {
    const Buffer buffer = *device->allocate(bytes);
    EXPECT_EQ(device->clear(buffer, *stream), absl::OkStatus());
    EXPECT_EQ(stream->synchronize(), absl::OkStatus());
    return buffer;
  }

  std::unique_ptr<Device> device = *createCudaDevice({});
  std::unique_ptr<Stream> stream = *device->createStream("compute");
};

// ---- Products ----

TEST_F(CudaBackendTest, AnEmptyProductChecksItsBuffersAndClearsItsResult) {
  mlir::MLIRContext context;
  context.loadDialect<exec::ExecDialect>();
  auto call = llvm::dyn_cast_or_null<exec::LibraryCallAttrInterface>(
      mlir::parseAttribute("#exec.matmul<m = 2, n = 3, k = 0, type = f32>", &context));
  auto product = device->libraryCall(call);
  ASSERT_TRUE(product.ok()) << product.status();
  const Buffer result = allocate(32), empty = result.slice(0, 0);
  const std::vector<char> before(32, 7);
  ASSERT_EQ(device->upload(result, before.data()), absl::OkStatus());
  EXPECT_TRUE(absl::IsInvalidArgument((*product)->launch({}, *stream)));
  EXPECT_TRUE(absl::IsInvalidArgument((*product)->launch({empty, empty, result.slice(0, 23)}, *stream)));
  EXPECT_EQ((*product)->launch({empty, empty, result}, *stream), absl::OkStatus());
  ASSERT_EQ(stream->synchronize(), absl::OkStatus());
  std::vector<char> after(32), expected(32, 7);
  std::fill(expected.begin(), expected.begin() + 24, 0);
  ASSERT_EQ(device->download(after.data(), result), absl::OkStatus());
  EXPECT_EQ(after, expected);
  device->release(result);
}

// cuBLASLt takes 65,535 matrices at once.
TEST_F(CudaBackendTest, ManyProducts) {
  constexpr int64_t kCount = 70'001;
  mlir::MLIRContext context;
  context.loadDialect<exec::ExecDialect>();
  auto call = llvm::dyn_cast_or_null<exec::LibraryCallAttrInterface>(
      mlir::parseAttribute("#exec.matmul<products = 70001, m = 1, n = 2, k = 1, type = f32>", &context));
  ASSERT_TRUE(call);
  auto product = device->libraryCall(call);
  ASSERT_TRUE(product.ok()) << product.status();
  std::vector<float> left(kCount), right(2 * kCount), result(2 * kCount);
  for (int64_t i = 0; i < kCount; ++i) {
    left[i] = static_cast<float>(i % 100);
    right[2 * i] = static_cast<float>(i % 7);
    right[2 * i + 1] = 1;
  }
  const auto bytes = static_cast<int64_t>(kCount * sizeof(float));
  const Buffer a = allocate(bytes), b = allocate(2 * bytes), c = allocate(2 * bytes);
  ASSERT_EQ(device->upload(a, left.data()), absl::OkStatus());
  ASSERT_EQ(device->upload(b, right.data()), absl::OkStatus());
  EXPECT_EQ((*product)->launch({a, b, c}, *stream), absl::OkStatus());
  ASSERT_EQ(stream->synchronize(), absl::OkStatus());
  ASSERT_EQ(device->download(result.data(), c), absl::OkStatus());
  for (int64_t i = 0; i < 2 * kCount; ++i)
    ASSERT_EQ(result[i], left[i / 2] * right[i]) << i;
  for (Buffer buffer : {a, b, c})
    device->release(buffer);
}

// ---- Watchers ----

int64_t allocations = 0;

template <typename T> struct CountingAllocator {
  using value_type = T;
  CountingAllocator() = default;
  template <typename Other> explicit CountingAllocator(const CountingAllocator<Other> &) {}
  T *allocate(size_t count) {
    ++allocations;
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T *memory, size_t count) {
    --allocations;
    std::allocator<T>().deallocate(memory, count);
  }
};

struct SilentWatcher : CudaWatcher {
  absl::Status check(absl::Duration) override { return absl::OkStatus(); }
};

TEST_F(CudaBackendTest, NothingIsKeptOfWatchersThatAreGone) {
  std::shared_ptr<CudaWatcher> last;
  for (int i = 0; i < 10; ++i) {
    last = std::allocate_shared<SilentWatcher>(CountingAllocator<SilentWatcher>());
    addCudaWatcher(last);
  }
  EXPECT_EQ(allocations, 1); // the last
}

// ---- Communicators ----

std::unique_ptr<Communicator> oneRank() {
  return createHostCommunicator(std::move(createThreadTransports(1).front()), {});
}

/// The first of many ranks, whose others say what it says.
class FirstOfMany : public ForwardingCommunicator {
public:
  FirstOfMany() : ForwardingCommunicator(oneRank()) {}
  int64_t size() const override { return 65; }
  absl::StatusOr<std::vector<std::string>> exchange(const std::string &mine, const CallSite &) override {
    return std::vector<std::string>(size(), mine);
  }
  absl::StatusOr<std::unique_ptr<Communicator>> split(absl::Span<const int64_t>, const CallSite &) override {
    return absl::UnimplementedError("not here");
  }

private:
  absl::StatusOr<Event> forward(Buffers, Stream &, const Start &) override {
    return absl::UnimplementedError("not here");
  }
};

// The kernel adds 64 addends. A rank that has none to add says so, too: block 0 is empty.
TEST_F(CudaBackendTest, TooManyRanksDoNotBeginToSum) {
  joinsAlone = true;
  auto communicator = createNcclCommunicator(std::make_unique<FirstOfMany>(), {});
  joinsAlone = false;
  ASSERT_TRUE(communicator.ok()) << communicator.status();
  const Buffer data = allocate(1 << 20), workspace = allocate(1 << 20);
  std::vector<int64_t> blocks(65, 4);
  blocks[0] = 0;
  const absl::Status scattered =
      (*communicator)
          ->reduceScatter(data, blocks, ElementType::F32, data.slice(0, 0), workspace, *stream, {"a"})
          .status();
  const absl::Status small = (*communicator)->allReduce(data, 10, ElementType::F32, workspace, *stream, {"b"}).status();
  const absl::Status large =
      (*communicator)->allReduce(data, 2000, ElementType::F32, workspace, *stream, {"c"}).status();
  for (const absl::Status &status : {scattered, small, large}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("65 ranks"));
  }
  EXPECT_EQ(stream->synchronize(), absl::OkStatus());
  device->release(data);
  device->release(workspace);
}

constexpr absl::Duration kTimeout = absl::Seconds(1);

constexpr int64_t kPageBytes = 4096;
void *page = nullptr;

void bringPageLate(int) {
  usleep(static_cast<useconds_t>(absl::ToInt64Microseconds(3 * kTimeout)));
  mprotect(page, kPageBytes, PROT_READ);
}

/// Work without collectives that takes three timeouts: it reads a page that comes late.
void enqueueLongWork(Buffer to, Stream &stream) {
  page = mmap(nullptr, kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  std::signal(SIGSEGV, bringPageLate);
  ASSERT_EQ(cudaMemcpyAsync(to.data, page, to.bytes, cudaMemcpyHostToDevice, cudaStreamOf(stream)), cudaSuccess);
}

// A captured collective counts while its graph is replayed. After that nothing begins, not even what would send
// nothing.
TEST_F(CudaBackendTest, OnlyReplaysOfCollectivesAreTimed) {
  NcclCommunicatorOptions options;
  options.timeout = kTimeout;
  auto communicator = createNcclCommunicator(oneRank(), options);
  ASSERT_TRUE(communicator.ok()) << communicator.status();
  const Buffer data = allocate(kBytes), other = allocate(kBytes);
  auto capture = [&](const char *what) {
    return *device->capture(*stream,
                            [&] { return (*communicator)->allGather(data, {kBytes}, *stream, {what}).status(); });
  };
  std::unique_ptr<CapturedWork> gone = capture("gone"), idle = capture("idle"), graph = capture("met");
  for (CapturedWork *each : {gone.get(), idle.get(), graph.get()}) {
    ASSERT_EQ(each->replay(*stream), absl::OkStatus());
    ASSERT_EQ(stream->synchronize(), absl::OkStatus());
  }
  gone = nullptr;
  enqueueLongWork(other, *stream);
  EXPECT_EQ(stream->synchronize(), absl::OkStatus());

  enqueueLongWork(other, *stream);
  ASSERT_EQ(graph->replay(*stream), absl::OkStatus());
  const absl::Status late = stream->synchronize();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_THAT(std::string(late.message()), HasSubstr("one of 1 collectives from met to met"));
  EXPECT_EQ((*communicator)->allGather(data.slice(0, 0), {0}, *stream, {"empty"}).status(), late);
  stream = nullptr;
  graph = nullptr;
  idle = nullptr;
  communicator->reset();
  std::signal(SIGSEGV, SIG_DFL);
  device->release(data);
  device->release(other);
}

} // namespace
} // namespace splitcast::runtime
