//===- Registry.h - Suites and backends, registered apart and multiplied ---===//
//
// A suite test says what every rank does and finds; a backend makes ranks. Both register from files of their own, and
// ConformanceMain.cc runs every test on every backend at 1 to 5 ranks. A binary with no backend, or with no test,
// fails.
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

/// What a test body may ask of the backend, on one rank.
class RankContext {
public:
  virtual ~RankContext() = default;
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  /// A new transport of all ranks, which all call this at the same point.
  virtual std::unique_ptr<Transport> createTransport() = 0;
  /// A communicator of all ranks, as createTransport; of this backend's kind.
  virtual std::unique_ptr<Communicator> createCommunicator(const HostCommunicatorOptions &options) {
    return createHostCommunicator(createTransport(), options);
  }
  /// What this rank has sent so far, measured as near to the wire as the backend can; nothing, where it cannot.
  virtual std::optional<ccl::Traffic> sent() const = 0;
  /// Whether several ranks may have one copy of memory.
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

/// Where buffers of the suites lie; null: on the heap. A backend may set it, in a process that is a rank.
std::shared_ptr<HostMemory> &suiteMemory();

struct SuiteTest {
  std::string name;
  std::function<void(RankContext &)> body;
};

class Backend {
public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  /// Tests that can never pass here, with the reason.
  virtual std::map<std::string, std::string> never() const { return {}; }
  /// Runs the test at so many ranks; what any of them finds wrong becomes a failure of the running GoogleTest. Returns
  /// the number of checks that the rank with the fewest has made.
  virtual int64_t run(const SuiteTest &test, int64_t ranks) = 0;
  /// In a process that is one of the ranks started by run: does its part and returns the exit status.
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

/// Defines and registers what every rank does: CONFORMANCE(Name) { ... context ... }
#define CONFORMANCE(testName)                                                                                          \
  static void body##testName(::splitcast::runtime::conformance::RankContext &context);                                 \
  static ::splitcast::runtime::conformance::RegisterTest register##testName(#testName, body##testName);                \
  static void body##testName(::splitcast::runtime::conformance::RankContext &context)

/// As EXPECT_TRUE and EXPECT_EQ, and counted, so that a test which checked nothing is found out.
#define CONFORM(condition) EXPECT_TRUE(context.counted(static_cast<bool>(condition)))
#define CONFORM_EQ(found, expected) EXPECT_EQ(context.counted(found), expected)

#endif // SPLITCAST_TESTS_RUNTIME_CONFORMANCE_REGISTRY_H
