// What CUDA promises of streams, events and captures, and what it refuses.
#include "tests/cuda_on_cpu/Streams.h"
#include "tests/cuda_on_cpu/Memory.h"

#include <chrono>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

namespace splitcast::cuda_on_cpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Work that notes its number, after a while.
class Notes {
public:
  Work work(int number, int milliseconds = 0, const std::string &order = "") {
    return {"note",
            [=] {
              std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
              std::lock_guard<std::mutex> lock(mutex);
              noted.push_back(number);
              return absl::OkStatus();
            },
            order};
  }
  std::vector<int> take() {
    std::lock_guard<std::mutex> lock(mutex);
    return std::move(noted);
  }

private:
  std::mutex mutex;
  std::vector<int> noted;
};

TEST(Streams, DoTheirWorkInOrder) {
  Notes notes;
  Stream stream;
  for (int number : {1, 2, 3})
    EXPECT_EQ(stream.add(notes.work(number, 3 - number)), cudaSuccess);
  EXPECT_EQ(synchronize(stream), cudaSuccess);
  EXPECT_THAT(notes.take(), ElementsAre(1, 2, 3));
}

TEST(Streams, WaitForEvents) {
  Notes notes;
  Stream first, second;
  Event event;
  EXPECT_EQ(query(event), cudaSuccess); // never recorded
  (void)first.add(notes.work(1, 50));
  EXPECT_EQ(record(event, first), cudaSuccess);
  EXPECT_EQ(query(event), cudaErrorNotReady);
  EXPECT_EQ(query(first), cudaErrorNotReady);
  EXPECT_EQ(wait(second, event), cudaSuccess);
  (void)second.add(notes.work(2));
  EXPECT_EQ(synchronize(second), cudaSuccess);
  EXPECT_EQ(query(event), cudaSuccess);
  EXPECT_THAT(notes.take(), ElementsAre(1, 2));
}

TEST(Streams, TellTimes) {
  Notes notes;
  Stream stream;
  Event begin, end, untimed;
  begin.hasTime = end.hasTime = true;
  float milliseconds = 0;
  EXPECT_EQ(record(begin, stream), cudaSuccess);
  EXPECT_EQ(elapsed(milliseconds, begin, end), cudaErrorInvalidResourceHandle); // not recorded
  (void)stream.add(notes.work(1, 50));
  EXPECT_EQ(record(end, stream), cudaSuccess);
  EXPECT_EQ(record(untimed, stream), cudaSuccess);
  EXPECT_EQ(elapsed(milliseconds, begin, end), cudaErrorNotReady);
  EXPECT_EQ(synchronize(stream), cudaSuccess);
  EXPECT_EQ(elapsed(milliseconds, begin, untimed), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(elapsed(milliseconds, begin, end), cudaSuccess);
  EXPECT_GE(milliseconds, 50);
  EXPECT_EQ(elapsed(milliseconds, end, begin), cudaSuccess);
  EXPECT_LE(milliseconds, -50);
}

// Without an event streams run side by side.
TEST(Streams, DoNotWaitForEachOther) {
  Notes notes;
  Stream first, second;
  (void)first.add(notes.work(1, 200));
  (void)second.add(notes.work(2));
  EXPECT_EQ(synchronize(second), cudaSuccess);
  EXPECT_EQ(synchronize(first), cudaSuccess);
  EXPECT_THAT(notes.take(), ElementsAre(2, 1));
}

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

/// Two streams that fork and join, with work of one kind on both.
std::unique_ptr<Graph> captureFork(Stream &first, Stream &second, Notes &notes, bool joins) {
  Event forked, joined;
  std::unique_ptr<Graph> graph;
  EXPECT_EQ(beginCapture(first), cudaSuccess);
  (void)first.add(notes.work(1));
  EXPECT_EQ(record(forked, first), cudaSuccess);
  EXPECT_EQ(wait(second, forked), cudaSuccess);
  EXPECT_TRUE(isCapturing(second));
  (void)second.add(notes.work(2, 0, joins ? "kind" : ""));
  (void)first.add(notes.work(3));
  (void)first.add(notes.work(4, 0, "kind"));
  EXPECT_EQ(record(joined, second), cudaSuccess);
  if (joins) {
    EXPECT_EQ(wait(first, joined), cudaSuccess);
  }
  EXPECT_EQ(endCapture(first, graph), joins ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
  EXPECT_FALSE(isCapturing(second));
  return graph;
}

TEST(Captures, MakeGraphsThatRunWhenTheyAreLaunched) {
  Notes notes;
  Stream first, second;
  std::shared_ptr<const Graph> graph = captureFork(first, second, notes, true);
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(synchronize(first), cudaSuccess);
  EXPECT_THAT(notes.take(), ElementsAre()); // a capture does nothing
  ASSERT_EQ(graph->nodes.size(), 4u);
  EXPECT_THAT(graph->nodes[1].after, ElementsAre(0));
  EXPECT_THAT(graph->nodes[2].after, ElementsAre(0));
  EXPECT_THAT(graph->nodes[3].after, ElementsAre(1, 2)); // of its stream, and of its kind
  for (int run = 0; run < 2; ++run) {
    EXPECT_EQ(launch(graph, second), cudaSuccess);
    EXPECT_EQ(synchronize(second), cudaSuccess);
    EXPECT_THAT(notes.take(), ElementsAre(1, 2, 3, 4));
  }
}

TEST(Captures, MustBeJoined) {
  Notes notes;
  Stream first, second;
  EXPECT_EQ(captureFork(first, second, notes, false), nullptr);
}

TEST(Captures, RefuseWhatWaitsForTheHost) {
  Event event;
  std::unique_ptr<Graph> graph;
  for (int question = 0; question < 3; ++question) {
    Stream stream;
    EXPECT_EQ(beginCapture(stream), cudaSuccess);
    EXPECT_EQ(record(event, stream), cudaSuccess);
    const cudaError_t answer = question == 0 ? query(stream) : question == 1 ? synchronize(stream) : query(event);
    EXPECT_EQ(answer, question < 2 ? cudaErrorStreamCaptureUnsupported : cudaErrorCapturedEvent);
    EXPECT_EQ(endCapture(stream, graph), cudaErrorStreamCaptureInvalidated);
  }
}

TEST(Captures, RefuseEventsFromOutsideAndLetNoneOut) {
  Stream stream, other;
  Event outside, inside;
  std::unique_ptr<Graph> graph;
  EXPECT_EQ(record(outside, other), cudaSuccess);
  EXPECT_EQ(beginCapture(stream), cudaSuccess);
  EXPECT_EQ(wait(stream, outside), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(endCapture(stream, graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(beginCapture(stream), cudaSuccess);
  EXPECT_EQ(record(inside, stream), cudaSuccess);
  EXPECT_EQ(endCapture(stream, graph), cudaSuccess);
  EXPECT_EQ(wait(other, inside), cudaErrorCapturedEvent);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST(Memory, KnowsWhatLiesInIt) {
  Memory &memory = Memory::get();
  auto *data = static_cast<std::byte *>(memory.allocate(100, 256, MemoryKind::Device));
  EXPECT_EQ(memory.deviceBytes(), 100);
  EXPECT_TRUE(memory.check(data + 40, 60, "a copy").ok());
  EXPECT_THAT(memory.check(data + 40, 61, "a copy").message(), HasSubstr("a copy: 61 bytes at"));
  EXPECT_FALSE(memory.check(data - 1, 2, "a copy").ok());
  EXPECT_FALSE(memory.release(data, MemoryKind::PageLocked));
  EXPECT_TRUE(memory.release(data, MemoryKind::Device));
  EXPECT_FALSE(memory.check(data, 1, "a copy").ok());
  EXPECT_EQ(memory.deviceBytes(), 0);
  EXPECT_EQ(memory.mostDeviceBytes(), 100);
}

// Of the process, so this test is the last: a device is good for nothing after an error.
TEST(Errors, MakeTheDeviceGoodForNothing) {
  Stream stream;
  EXPECT_EQ(stream.add({"bad work", [] { return absl::InvalidArgumentError("it is bad"); }}), cudaSuccess);
  stream.waitUntilIdle();
  EXPECT_THAT(std::string(deviceState().message()), HasSubstr("bad work: it is bad"));
  EXPECT_EQ(query(stream), cudaErrorLaunchFailure);
  Stream other;
  EXPECT_EQ(other.add({"more", [] { return absl::OkStatus(); }}), cudaErrorLaunchFailure);
}

} // namespace
} // namespace splitcast::cuda_on_cpu
