#include "runtime/workers/WorkerPool.h"

#include <chrono>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

namespace splitcast::runtime {
namespace {

// Round after round, of few parts and of many, with pauses in which workers fall asleep.
TEST(WorkerPool, DoesEachPartOnce) {
  for (int threads : {1, 2, 3, 9}) {
    WorkerPool pool(threads);
    for (int round = 0; round < 3000; ++round) {
      const int64_t parts = round % 17;
      std::vector<int> done(parts);
      pool.run(parts, [&](int64_t part) { ++done[part]; });
      ASSERT_EQ(std::accumulate(done.begin(), done.end(), 0), parts) << threads << " threads, round " << round;
      if (round % 1000 == 999)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

TEST(WorkerPool, SharesThemAmongThreads) {
  WorkerPool pool(2);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  pool.run(2, [&](int64_t) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      threads.insert(std::this_thread::get_id());
    }
    // The other part is for the other thread, however late it comes.
    for (int waits = 0; waits < 10000; ++waits) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::lock_guard<std::mutex> lock(mutex);
      if (threads.size() == 2)
        break;
    }
  });
  EXPECT_EQ(threads.size(), 2u);
}

TEST(WorkerPool, EndsWithoutARun) { const WorkerPool pool(4); }

} // namespace
} // namespace splitcast::runtime
