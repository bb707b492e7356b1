//===- Registry.h - Registers suites and backends --------------------------===//
//
// A test of a suite is what every rank does and checks. A backend starts ranks. They are registered in separate files,
// and ConformanceMain.cc runs every test on every backend with 1 to 5 ranks. A binary without a backend or without a
// test fails.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_RUNTIME_CONFORMANCE_REGISTRY_H
#define SPLITCAST_TESTS_RUNTIME_CONFORMANCE_REGISTRY_H

#include "dialects/ccl/algebra/Traffic.h"
#include "runtime/host/HostMemory.h"
#include "runtime/host/communicator/HostCommunicator.h"

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace splitcast::runtime::conformance {

/// What the backend offers to the body of a test on one rank.
class RankContext {
public:
  virtual ~RankContext() = default;
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  /// Creates a transport of all ranks. All ranks call it at the same point.
  virtual std::unique_ptr<Transport> createTransport() = 0;
  /// Creates a communicator of the backend's kind, of all ranks. All ranks call it at the same point.
  virtual std::unique_ptr<Communicator> createCommunicator(const HostCommunicatorOptions &options) {
    return createHostCommunicator(createTransport(), options);
  }
  /// What this rank has sent so far, measured as close to the network as the backend can; nothing if it cannot measure
  /// it.
  virtual std::optional<ccl::Traffic> sent() const = 0;
  /// Whether ranks can share a copy of memory.
  virtual bool sharesMemory() const { return false; }
  /// Makes this rank look dead to all others.
  virtual void die() {}

  /// Counts a check; see CONFORM.
  template <typename T> T counted(T value) {
    ++checks;
    return value;
  }
  int64_t checks = 0;
};

/// The memory for buffers of the suites; null for the heap. A backend may set it in a process that is a rank.
std::shared_ptr<HostMemory> &suiteMemory();

struct SuiteTest {
  std::string name;
  std::function<void(RankContext &)> body;
};

class Backend {
public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  /// The tests that cannot pass on this backend, with the reasons.
  virtual std::map<std::string, std::string> never() const { return {}; }
  /// Runs the test with this number of ranks. A failed check on any rank fails the running GoogleTest. Returns the
  /// smallest number of checks that a rank has made.
  virtual int64_t run(const SuiteTest &test, int64_t ranks) = 0;
  /// If this process is a rank that run() has started, does its work and returns its exit status.
  virtual std::optional<int> runAsRank() { return std::nullopt; }
};

inline constexpr int64_t kMaxRanks = 5;

std::vector<SuiteTest> &suiteTests();
std::vector<std::unique_ptr<Backend>> &backends();

struct RegisterTest {
  RegisterTest(std::string name, std::function<void(RankContext &)> body) {
    suiteTests().push_back({std::move(name), std::move(body)});
  }
};

struct RegisterBackend {
  explicit RegisterBackend(std::unique_ptr<Backend> backend) { backends().push_back(std::move(backend)); }
};

} // namespace splitcast::runtime::conformance

/// Defines and registers a test, which every rank runs: CONFORMANCE(Name) { ... context ... }
#define CONFORMANCE(testName)                                                                                          \
  static void body##testName(::splitcast::runtime::conformance::RankContext &context);                                 \
  static ::splitcast::runtime::conformance::RegisterTest register##testName(#testName, body##testName);                \
  static void body##testName(::splitcast::runtime::conformance::RankContext &context)

/// Like EXPECT_TRUE and EXPECT_EQ, but they also count, so that a test which has checked nothing fails.
#define CONFORM(condition) EXPECT_TRUE(context.counted(static_cast<bool>(condition)))
#define CONFORM_EQ(found, expected) EXPECT_EQ(context.counted(found), expected)

#endif // SPLITCAST_TESTS_RUNTIME_CONFORMANCE_REGISTRY_H
