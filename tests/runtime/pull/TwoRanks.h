//===- TwoRanks.h - Ranks that read each other's memory --------------------------===//
#ifndef SPLITCAST_TESTS_RUNTIME_PULL_TWORANKS_H
#define SPLITCAST_TESTS_RUNTIME_PULL_TWORANKS_H

#include "runtime/host/communicator/HostCommunicator.h"
#include "runtime/host/communicator/ThreadTransport.h"
#include "runtime/pull/PullTransport.h"

#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

namespace splitcast::runtime {

/// Two ranks that are threads: each finds the other's memory as if that were another process. Where the system does not
/// let them, tests are skipped with the reason.
class TwoRanks : public ::testing::Test {
protected:
  void SetUp() override {
    auto transports = createThreadTransports(2);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 2; ++rank)
      threads.emplace_back([&, rank] {
        auto communicator = createHostCommunicator(std::move(transports[rank]), {});
        ranks[rank] = *PeerMemory::connect(*communicator, true);
      });
    for (std::thread &thread : threads)
      thread.join();
    if (!ranks[0]->reads(1))
      GTEST_SKIP() << ranks[0]->whatFailed();
  }

  std::shared_ptr<PeerMemory> ranks[2];
};

} // namespace splitcast::runtime

#endif // SPLITCAST_TESTS_RUNTIME_PULL_TWORANKS_H
