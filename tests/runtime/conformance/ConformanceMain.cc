//===- ConformanceMain.cc - Every test, on every backend, at 1 to 5 ranks --===//
#include "tests/runtime/conformance/Registry.h"

#include <cstdio>
#include <gtest/gtest.h>

using namespace splitcast::runtime::conformance;

namespace {

class Multiplied : public ::testing::Test {
public:
  Multiplied(Backend &backend, const SuiteTest &test, int64_t ranks) : backend(backend), test(test), ranks(ranks) {}

  void TestBody() override {
    auto never = backend.never();
    if (auto reason = never.find(test.name); reason != never.end())
      GTEST_SKIP() << reason->second;
    EXPECT_GT(backend.run(test, ranks), 0) << "a rank checked nothing";
  }

private:
  Backend &backend;
  const SuiteTest &test;
  int64_t ranks;
};

/// An exclusion of a test that does not exist would hide that the test was renamed.
bool exclusionsExist(const Backend &backend) {
  bool good = true;
  for (const auto &[name, reason] : backend.never()) {
    bool exists = false;
    for (const SuiteTest &test : suiteTests())
      exists |= test.name == name;
    if (!exists)
      std::fprintf(stderr, "backend %s excludes the unknown test %s\n", backend.name().c_str(), name.c_str());
    good &= exists;
  }
  return good;
}

} // namespace

int main(int argc, char **argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (backends().empty() || suiteTests().empty()) {
    std::fprintf(stderr, "nothing to run: %zu backends, %zu tests\n", backends().size(), suiteTests().size());
    return 1;
  }
  for (auto &backend : backends()) {
    if (std::optional<int> status = backend->runAsRank())
      return *status;
    if (!exclusionsExist(*backend))
      return 1;
    for (const SuiteTest &test : suiteTests())
      for (int64_t ranks = 1; ranks <= kMaxRanks; ++ranks)
        ::testing::RegisterTest(backend->name().c_str(), (test.name + "_" + std::to_string(ranks)).c_str(), nullptr,
                                nullptr, __FILE__, __LINE__,
                                [&backend = *backend, &test, ranks] { return new Multiplied(backend, test, ranks); });
  }
  return RUN_ALL_TESTS();
}
