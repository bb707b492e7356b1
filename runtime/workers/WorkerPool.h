//===- WorkerPool.h - The threads of a rank ---------------------------------===//
//
// Parts of one kernel or library call, on several threads. Which thread does which part changes no bit: a part is what
// its number says, however many threads there are.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_WORKERS_WORKERPOOL_H
#define SPLITCAST_RUNTIME_WORKERS_WORKERPOOL_H

#include "absl/functional/function_ref.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace splitcast::runtime {

class WorkerPool {
public:
  using Part = absl::FunctionRef<void(int64_t part)>;

  /// `threads`, at least 1, with the one that calls run. The others are started by the first run of several parts, as
  /// many as the system gives; they take no signals.
  explicit WorkerPool(int threads) : count(threads) {}
  ~WorkerPool();

  int threads() const { return count; }

  /// Calls `work` with 0 to `parts` - 1, each once, on any thread, and returns when all have returned: it waits for no
  /// thread that has not begun. One call at a time; `work` may not call run.
  void run(int64_t parts, Part work);

private:
  void start();
  void serve();
  void takeParts(int64_t parts, const Part &work);
  void waitForWork(uint64_t seen);

  const int count;
  bool isStarted = false;
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<uint64_t> round{0}; ///< counts calls of run; workers sleep until it changes
  std::atomic<bool> ends{false};
  std::atomic<int64_t> tickets{0}; ///< workers that may still join this round
  std::atomic<int64_t> next{0};    ///< the part to take
  std::atomic<int64_t> working{0}; ///< tickets given out or left, whose workers have not ended
  int64_t parts = 0;
  const Part *work = nullptr;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_WORKERS_WORKERPOOL_H
