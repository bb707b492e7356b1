//===- Streams.h - Streams, events and captures -------------------------------------------------------------===//
//
// A stream is a thread that does its work in order; streams run side by side. While a stream is captured, its work
// becomes nodes of a graph instead, under CUDA's rules: what waits for the host is refused, a stream joins by waiting
// for an event of the capture, and must be joined again at its end.
//
// With SPLITCAST_CUDA_ON_CPU_SEED set, work begins late by pseudo-random times, and the nodes of a graph run in a
// pseudo-random order that their dependencies allow.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_CUDA_ON_CPU_STREAMS_H
#define SPLITCAST_TESTS_CUDA_ON_CPU_STREAMS_H

#include "absl/status/status.h"
#include "cuda_runtime_api.h"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace splitcast::cuda_on_cpu {

/// What a stream does at once. An error is printed, and makes every later question for the device's state fail.
struct Work {
  std::string what;
  std::function<absl::Status()> run;
  /// Of one kind of work, the parts of a graph stay in the order of their calls; "": in any.
  std::string order = {};
};

struct Graph {
  struct Node {
    Work work;
    std::set<size_t> after; ///< nodes that come first
  };
  std::vector<Node> nodes;
};

/// A capture under way.
struct Capture {
  Graph graph;
  std::map<std::string, size_t> lastOfOrder;
  bool isBroken = false; ///< something was asked that a capture forbids
  bool hasEnded = false;
};

/// Reached when the stream has come so far.
struct Mark {
  bool isReached = false;
};

class Stream {
public:
  Stream();
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  /// Its work is done first, by a thread that nobody waits for.
  ~Stream();

  /// cudaSuccess, or why the work was not taken.
  cudaError_t add(Work work);
  bool isIdle() const;
  void waitUntilIdle() const;

  std::shared_ptr<Capture> capture; ///< null: none
  bool isOrigin = false;            ///< of the capture
  std::set<size_t> tail;            ///< of the capture: what the next node comes after

private:
  struct Queue;
  const std::shared_ptr<Queue> queue;
};

struct Event {
  std::shared_ptr<Mark> mark;       ///< null: not recorded
  std::shared_ptr<Capture> capture; ///< recorded in
  std::set<size_t> tail;            ///< of the capture
};

/// The first error of any work, or OK.
absl::Status deviceState();

bool isCapturing(Stream &stream);
cudaError_t beginCapture(Stream &stream);
cudaError_t endCapture(Stream &stream, std::unique_ptr<Graph> &graph);
cudaError_t record(Event &event, Stream &stream);
cudaError_t wait(Stream &stream, Event &event);
cudaError_t query(Event &event);
cudaError_t synchronize(Event &event);
cudaError_t query(Stream &stream);
cudaError_t synchronize(Stream &stream);
cudaError_t launch(std::shared_ptr<const Graph> graph, Stream &stream);

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_STREAMS_H
