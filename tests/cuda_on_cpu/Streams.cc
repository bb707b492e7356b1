#include "tests/cuda_on_cpu/Streams.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

namespace splitcast::cuda_on_cpu {
namespace {

/// Of the process: one lock for what all streams have done.
struct State {
  std::mutex mutex;
  std::condition_variable changed;
  absl::Status failure;
};

State &state() {
  static auto *all = new State; // threads of streams may outlive main()
  return *all;
}

std::optional<uint32_t> seed() {
  uint32_t number = 0;
  const char *value = std::getenv("SPLITCAST_CUDA_ON_CPU_SEED");
  return value && absl::SimpleAtoi(value, &number) ? std::optional(number) : std::nullopt;
}

/// A source of delays and orders of its own for every stream.
std::mt19937 generatorOfNext() {
  static std::atomic<uint32_t> number = 0;
  return std::mt19937(seed().value_or(0) + 1000 * number++);
}

void fail(const Work &work, const absl::Status &status) {
  std::lock_guard<std::mutex> lock(state().mutex);
  if (!state().failure.ok())
    return;
  state().failure = absl::Status(status.code(), absl::StrCat(work.what, ": ", status.message()));
  std::fprintf(stderr, "cuda_on_cpu: error: %s\n", state().failure.ToString().c_str());
}

void waitUntil(const Mark &mark) {
  std::unique_lock<std::mutex> lock(state().mutex);
  state().changed.wait(lock, [&] { return mark.isReached; });
}

void reach(Mark &mark) {
  std::lock_guard<std::mutex> lock(state().mutex);
  mark.isReached = true;
  mark.reachedAt = std::chrono::steady_clock::now();
  state().changed.notify_all();
}

/// Streams that took part learn of the end when they are used next.
void leaveEnded(Stream &stream) {
  if (stream.capture && stream.capture->hasEnded)
    stream.capture = nullptr;
}

cudaError_t errorOfState() { return deviceState().ok() ? cudaSuccess : cudaErrorLaunchFailure; }

} // namespace

struct Stream::Queue {
  std::deque<Work> work;
  bool isBusy = false, isEnding = false;
  std::mt19937 generator = generatorOfNext();

  bool isIdle() const { return work.empty() && !isBusy; }

  void runAll() {
    std::unique_lock<std::mutex> lock(state().mutex);
    while (true) {
      state().changed.wait(lock, [&] { return !work.empty() || isEnding; });
      if (work.empty())
        return;
      Work next = std::move(work.front());
      work.pop_front();
      isBusy = true;
      lock.unlock();
      if (seed() && generator() % 4 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(generator() % 300));
      if (absl::Status status = next.run(); !status.ok())
        fail(next, status);
      next = {}; // what it holds is let go before anybody is told
      lock.lock();
      isBusy = false;
      state().changed.notify_all();
    }
  }
};

absl::Status deviceState() {
  std::lock_guard<std::mutex> lock(state().mutex);
  return state().failure;
}

Stream::Stream() : queue(std::make_shared<Queue>()) {
  std::thread([queue = queue] { queue->runAll(); }).detach();
}

Stream::~Stream() {
  std::lock_guard<std::mutex> lock(state().mutex);
  queue->isEnding = true;
  state().changed.notify_all();
}

cudaError_t Stream::add(Work work) {
  if (cudaError_t error = errorOfState(); error != cudaSuccess)
    return error;
  leaveEnded(*this);
  if (capture) {
    if (!work.order.empty()) {
      if (auto last = capture->lastOfOrder.find(work.order); last != capture->lastOfOrder.end())
        tail.insert(last->second);
      capture->lastOfOrder[work.order] = capture->graph.nodes.size();
    }
    capture->graph.nodes.push_back({std::move(work), tail});
    tail = {capture->graph.nodes.size() - 1};
    return cudaSuccess;
  }
  std::lock_guard<std::mutex> lock(state().mutex);
  queue->work.push_back(std::move(work));
  state().changed.notify_all();
  return cudaSuccess;
}

bool Stream::isIdle() const {
  std::lock_guard<std::mutex> lock(state().mutex);
  return queue->isIdle();
}

void Stream::waitUntilIdle() const {
  std::unique_lock<std::mutex> lock(state().mutex);
  state().changed.wait(lock, [&] { return queue->isIdle(); });
}

bool isCapturing(Stream &stream) {
  leaveEnded(stream);
  return stream.capture != nullptr;
}

cudaError_t beginCapture(Stream &stream) {
  leaveEnded(stream);
  if (stream.capture)
    return cudaErrorIllegalState;
  stream.capture = std::make_shared<Capture>();
  stream.isOrigin = true;
  stream.tail.clear();
  return errorOfState();
}

cudaError_t endCapture(Stream &stream, std::unique_ptr<Graph> &graph) {
  if (!stream.capture)
    return cudaErrorIllegalState;
  if (!stream.isOrigin)
    return cudaErrorStreamCaptureUnmatched;
  std::shared_ptr<Capture> capture = std::move(stream.capture);
  stream.capture = nullptr;
  stream.isOrigin = false;
  capture->hasEnded = true;
  if (capture->isBroken)
    return cudaErrorStreamCaptureInvalidated;
  std::set<size_t> ends;
  for (size_t node = 0; node < capture->graph.nodes.size(); ++node)
    ends.insert(node);
  for (const Graph::Node &node : capture->graph.nodes)
    for (size_t before : node.after)
      ends.erase(before);
  if (!std::includes(stream.tail.begin(), stream.tail.end(), ends.begin(), ends.end()))
    return cudaErrorStreamCaptureUnjoined;
  graph = std::make_unique<Graph>(std::move(capture->graph));
  return errorOfState();
}

cudaError_t record(Event &event, Stream &stream) {
  leaveEnded(stream);
  if (stream.capture) {
    event = {nullptr, stream.capture, stream.tail, event.hasTime};
    return cudaSuccess;
  }
  event = {std::make_shared<Mark>(), nullptr, {}, event.hasTime};
  return stream.add({"an event", [mark = event.mark] {
                       reach(*mark);
                       return absl::OkStatus();
                     }});
}

cudaError_t wait(Stream &stream, Event &event) {
  leaveEnded(stream);
  if (event.capture) {
    if (event.capture->hasEnded)
      return cudaErrorCapturedEvent;
    if (stream.capture && stream.capture != event.capture)
      return cudaErrorStreamCaptureMerge;
    if (!stream.capture)
      stream.tail.clear();
    stream.capture = event.capture;
    stream.tail.insert(event.tail.begin(), event.tail.end());
    return cudaSuccess;
  }
  if (!event.mark)
    return cudaSuccess;
  if (stream.capture) {
    stream.capture->isBroken = true;
    return cudaErrorStreamCaptureIsolation;
  }
  return stream.add({"waiting for an event", [mark = event.mark] {
                       waitUntil(*mark);
                       return absl::OkStatus();
                     }});
}

cudaError_t query(Event &event) {
  if (event.capture) {
    event.capture->isBroken = true;
    return cudaErrorCapturedEvent;
  }
  if (cudaError_t error = errorOfState(); error != cudaSuccess)
    return error;
  std::lock_guard<std::mutex> lock(state().mutex);
  return !event.mark || event.mark->isReached ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t synchronize(Event &event) {
  if (event.capture)
    return query(event);
  if (event.mark)
    waitUntil(*event.mark);
  return errorOfState();
}

cudaError_t elapsed(float &milliseconds, const Event &from, const Event &to) {
  for (const Event *event : {&from, &to})
    if (!event->hasTime || !event->mark)
      return cudaErrorInvalidResourceHandle;
  if (cudaError_t error = errorOfState(); error != cudaSuccess)
    return error;
  std::lock_guard<std::mutex> lock(state().mutex);
  if (!from.mark->isReached || !to.mark->isReached)
    return cudaErrorNotReady;
  milliseconds = std::chrono::duration<float, std::milli>(to.mark->reachedAt - from.mark->reachedAt).count();
  return cudaSuccess;
}

/// Whether the host may wait for the stream.
static cudaError_t refuseInCapture(Stream &stream) {
  leaveEnded(stream);
  if (!stream.capture)
    return cudaSuccess;
  stream.capture->isBroken = true;
  return cudaErrorStreamCaptureUnsupported;
}

cudaError_t query(Stream &stream) {
  if (cudaError_t error = refuseInCapture(stream); error != cudaSuccess)
    return error;
  if (cudaError_t error = errorOfState(); error != cudaSuccess)
    return error;
  return stream.isIdle() ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t synchronize(Stream &stream) {
  if (cudaError_t error = refuseInCapture(stream); error != cudaSuccess)
    return error;
  stream.waitUntilIdle();
  return errorOfState();
}

namespace {

/// Node by node, any that is ready.
absl::Status runGraph(const Graph &graph, std::mt19937 &generator) {
  std::vector<std::set<size_t>> missing;
  std::vector<std::vector<size_t>> followers(graph.nodes.size());
  std::vector<size_t> ready;
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    missing.push_back(graph.nodes[node].after);
    for (size_t before : missing.back())
      followers[before].push_back(node);
    if (missing.back().empty())
      ready.push_back(node);
  }
  while (!ready.empty()) {
    auto chosen = seed() ? ready.begin() + static_cast<int64_t>(generator() % ready.size())
                         : std::min_element(ready.begin(), ready.end());
    const size_t node = *chosen;
    ready.erase(chosen);
    const Work &work = graph.nodes[node].work;
    if (absl::Status status = work.run(); !status.ok())
      return absl::Status(status.code(), absl::StrCat(work.what, ": ", status.message()));
    for (size_t follower : followers[node])
      if (missing[follower].erase(node) && missing[follower].empty())
        ready.push_back(follower);
  }
  return absl::OkStatus();
}

} // namespace

cudaError_t launch(std::shared_ptr<const Graph> graph, Stream &stream) {
  leaveEnded(stream);
  if (stream.capture) {
    stream.capture->isBroken = true;
    return cudaErrorNotSupported;
  }
  auto generator = std::make_shared<std::mt19937>(generatorOfNext());
  return stream.add({"a graph", [graph = std::move(graph), generator] { return runGraph(*graph, *generator); }});
}

} // namespace splitcast::cuda_on_cpu
