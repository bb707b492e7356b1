//===- Streams.h - Streams, events and captures -------------------------------------------------------------===//
//
// A stream is a thread that does its work in order; different streams run in parallel. While a stream is captured, its
// work becomes nodes of a graph instead. CUDA's rules apply: calls that would wait are errors, another stream joins the
// capture by waiting for one of its events, and it must be joined back before the capture ends.
//
// If SPLITCAST_CUDA_ON_CPU_SEED is set, work begins after pseudo-random delays, and the nodes of a graph run in a
// pseudo-random order that respects their dependencies.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_CUDA_ON_CPU_STREAMS_H
#define SPLITCAST_TESTS_CUDA_ON_CPU_STREAMS_H

#include "absl/status/status.h"
#include "cuda_runtime_api.h"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace splitcast::cuda_on_cpu {

/// A unit of work of a stream. An error is printed, and from then on deviceState() returns it.
struct Work {
  std::string what;
  std::function<absl::Status()> run;
  /// Nodes of a graph with the same `order` run in the order of their calls. If it is empty, they may run in any order.
  std::string order = {};
};

struct Graph {
  struct Node {
    Work work;
    std::set<size_t> after; ///< the nodes that must run before it
  };
  std::vector<Node> nodes;
};

/// A capture in progress.
struct Capture {
  Graph graph;
  std::map<std::string, size_t> lastOfOrder;
  bool isBroken = false; ///< whether there was a call that is not allowed in a capture
  bool hasEnded = false;
};

/// A point in the work of a stream, which is reached when the work before it is done.
struct Mark {
  bool isReached = false;
  std::chrono::steady_clock::time_point reachedAt;
};

class Stream {
public:
  Stream();
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  /// Does not wait: the stream's thread ends by itself when all work is done.
  ~Stream();

  /// Appends work. Returns cudaSuccess, or why the work was not accepted.
  cudaError_t add(Work work);
  bool isIdle() const;
  void waitUntilIdle() const;

  std::shared_ptr<Capture> capture; ///< the capture that it belongs to; null if there is none
  bool isOrigin = false;            ///< whether the capture began on this stream
  std::set<size_t> tail;            ///< the nodes of the capture after which the next one runs

private:
  struct Queue;
  const std::shared_ptr<Queue> queue;
};

struct Event {
  std::shared_ptr<Mark> mark;       ///< null if it was not recorded
  std::shared_ptr<Capture> capture; ///< the capture in which it was recorded, if any
  std::set<size_t> tail;            ///< the nodes of the capture that come before it
  bool hasTime = false;             ///< whether it can tell when it was reached
};

/// Returns the first error of any work, or OK.
absl::Status deviceState();

bool isCapturing(Stream &stream);
cudaError_t beginCapture(Stream &stream);
cudaError_t endCapture(Stream &stream, std::unique_ptr<Graph> &graph);
cudaError_t record(Event &event, Stream &stream);
cudaError_t wait(Stream &stream, Event &event);
cudaError_t query(Event &event);
cudaError_t synchronize(Event &event);
cudaError_t elapsed(float &milliseconds, const Event &from, const Event &to);
cudaError_t query(Stream &stream);
cudaError_t synchronize(Stream &stream);
cudaError_t launch(std::shared_ptr<const Graph> graph, Stream &stream);

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_STREAMS_H
