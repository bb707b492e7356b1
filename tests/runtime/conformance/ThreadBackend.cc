//===- ThreadBackend.cc - Ranks as threads of this process -----------------===//
#include "runtime/host/communicator/ThreadTransport.h"
#include "tests/runtime/conformance/Registry.h"

#include <algorithm>
#include <thread>

namespace splitcast::runtime::conformance {
namespace {

class ThreadRank final : public RankContext {
public:
  explicit ThreadRank(std::unique_ptr<Transport> root) : root(std::move(root)) {}

  int64_t rank() const override { return root->rank(); }
  int64_t size() const override { return root->size(); }
  std::unique_ptr<Transport> createTransport() override {
    std::vector<int64_t> all;
    for (int64_t rank = 0; rank < size(); ++rank)
      all.push_back(rank);
    return *root->split(all);
  }
  std::optional<ccl::Traffic> sent() const override {
    TransportCounters counters = countersOf(*root);
    return ccl::Traffic{counters.sentBytes, counters.sentMessages};
  }
  bool sharesMemory() const override { return true; }
  void die() override { markLost(*root, rank()); }

private:
  std::unique_ptr<Transport> root;
};

class ThreadBackend final : public Backend {
public:
  std::string name() const override { return "Threads"; }

  int64_t run(const SuiteTest &test, int64_t ranks) override {
    std::vector<std::unique_ptr<ThreadRank>> contexts;
    for (auto &transport : createThreadTransports(ranks, /*sharesMemory=*/true))
      contexts.push_back(std::make_unique<ThreadRank>(std::move(transport)));
    std::vector<std::thread> threads;
    for (auto &context : contexts)
      threads.emplace_back([&test, &context] { test.body(*context); });
    for (std::thread &thread : threads)
      thread.join();
    int64_t fewest = contexts.front()->checks;
    for (auto &context : contexts)
      fewest = std::min(fewest, context->checks);
    return fewest;
  }
};

RegisterBackend registerThreads(std::make_unique<ThreadBackend>());

} // namespace
} // namespace splitcast::runtime::conformance
