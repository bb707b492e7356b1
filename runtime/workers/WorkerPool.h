//===- WorkerPool.h - The threads of a rank ---------------------------------===//
//
// The pool runs the parts of one kernel or library call on several threads. It changes no bit which thread runs which
// part: the number of a part determines its work, however many threads there are.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_WORKERS_WORKERPOOL_H
#define SPLITCAST_RUNTIME_WORKERS_WORKERPOOL_H

#include "absl/functional/function_ref.h"

#include <algorithm>
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

  /// `threads` is at least 1 and includes the thread that calls run(). The first run of several parts starts the
  /// others, as many as the system gives. They block all signals.
  explicit WorkerPool(int threads) : count(threads) {}
  ~WorkerPool();

  int threads() const { return count; }

  /// Returns into how many parts to divide work that reads and writes so many bytes and has at most `most` parts: from
  /// 1 to threads(). Waking a thread takes tens of microseconds, in which a core handles about kBytesPerPart.
  int64_t partsFor(int64_t bytes, int64_t most) const {
    constexpr int64_t kBytesPerPart = 512 << 10;
    return std::max<int64_t>(1, std::min({int64_t{count}, bytes / kBytesPerPart, most}));
  }

  /// Calls `work` once with each number from 0 to `parts` - 1, on any thread, and returns when all calls have returned.
  /// It does not wait for threads that have not begun. Only one thread at a time may call it, and `work` may not.
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
  std::atomic<int64_t> next{0};    ///< the next part to take
  std::atomic<int64_t> working{0}; ///< tickets, taken or not, whose workers have not finished
  int64_t parts = 0;
  const Part *work = nullptr;
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_WORKERS_WORKERPOOL_H
