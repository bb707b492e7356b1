#include "runtime/workers/WorkerPool.h"

#include <algorithm>
#include <csignal>
#include <system_error>

namespace splitcast::runtime {
namespace {

/// How often a thread polls before it sleeps or yields. The next kernel comes
/// within microseconds, while waking a thread takes tens of them.
constexpr int kLooks = 8000;

void pause() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

} // namespace

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    ends = true;
    ++round;
  }
  wake.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void WorkerPool::start() {
  isStarted = true;
  // Workers block all signals: these are for the thread that waits for them, or
  // for the main thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    for (int i = 1; i < count; ++i)
      workers.emplace_back([this] { serve(); });
  } catch (const std::system_error &) { // NOLINT(bugprone-empty-catch): fewer threads suffice
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void WorkerPool::run(int64_t numParts, Part each) {
  if (count == 1 || numParts <= 1) {
    for (int64_t part = 0; part < numParts; ++part)
      each(part);
    return;
  }
  if (!isStarted)
    start();
  const int64_t joining = std::min(numParts - 1, static_cast<int64_t>(workers.size()));
  {
    const std::lock_guard<std::mutex> lock(mutex);
    parts = numParts;
    work = &each;
    next = 0;
    working = joining;
    tickets.store(joining, std::memory_order_release);
    ++round;
  }
  if (joining == static_cast<int64_t>(workers.size()))
    wake.notify_all();
  else
    for (int64_t i = 0; i < joining; ++i)
      wake.notify_one();
  takeParts(numParts, each);
  // All parts are taken, so workers that have not joined need not.
  working -= std::max<int64_t>(0, tickets.exchange(0, std::memory_order_acq_rel));
  for (int looks = 0; working.load(std::memory_order_acquire) > 0; ++looks)
    looks < kLooks ? pause() : std::this_thread::yield();
}

void WorkerPool::takeParts(int64_t numParts, const Part &each) {
  for (int64_t part = next++; part < numParts; part = next++)
    each(part);
}

void WorkerPool::serve() {
  for (uint64_t seen = 0;;) {
    waitForWork(seen);
    seen = round.load(std::memory_order_acquire);
    if (ends)
      return;
    if (tickets.fetch_sub(1, std::memory_order_acq_rel) <= 0)
      continue;
    takeParts(parts, *work);
    working.fetch_sub(1, std::memory_order_release);
  }
}

void WorkerPool::waitForWork(uint64_t seen) {
  for (int looks = 0; looks < kLooks; ++looks) {
    if (round.load(std::memory_order_acquire) != seen)
      return;
    pause();
  }
  std::unique_lock<std::mutex> lock(mutex);
  wake.wait(lock, [&] { return round.load(std::memory_order_acquire) != seen; });
}

} // namespace splitcast::runtime
