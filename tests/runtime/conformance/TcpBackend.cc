//===- TcpBackend.cc - Ranks as threads that talk over sockets -------------===//
#include "runtime/tcp/TcpJob.h"
#include "tests/runtime/conformance/Registry.h"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

namespace splitcast::runtime::conformance {
namespace {

class TcpRank final : public RankContext {
public:
  explicit TcpRank(TcpJob &job) : job(job) {}
  int64_t rank() const override { return job.rank(); }
  int64_t size() const override { return job.size(); }
  std::unique_ptr<Transport> createTransport() override { return *job.createTransport(); }
  std::optional<ccl::Traffic> sent() const override {
    return ccl::Traffic{job.mesh().sentBytes(), job.mesh().sentMessages()};
  }
  void die() override { job.mesh().disconnect(); }

private:
  TcpJob &job;
};

/// A port that was free a moment ago.
int freePort() { return localEndpoint(*listenAt({"127.0.0.1", 0}))->port; }

class TcpBackend final : public Backend {
public:
  std::string name() const override { return "Tcp"; }

  int64_t run(const SuiteTest &test, int64_t ranks) override {
    const Endpoint master{"127.0.0.1", freePort()};
    std::vector<int64_t> checks(ranks);
    std::atomic<int64_t> running{ranks};
    std::vector<std::thread> threads;
    for (int64_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        auto job = TcpJob::create({rank, ranks, master, absl::Seconds(20)});
        EXPECT_TRUE(job.ok()) << job.status();
        if (job.ok()) {
          TcpRank context(**job);
          test.body(context);
          checks[rank] = context.checks;
        }
        // A rank that is done is not lost to those that still wait.
        for (--running; running > 0;)
          std::this_thread::yield();
      });
    for (std::thread &thread : threads)
      thread.join();
    return *std::min_element(checks.begin(), checks.end());
  }
};

RegisterBackend registerTcp(std::make_unique<TcpBackend>());

} // namespace
} // namespace splitcast::runtime::conformance
