#include "tests/runtime/conformance/Registry.h"

namespace splitcast::runtime::conformance {

std::vector<SuiteTest> &suiteTests() {
  static std::vector<SuiteTest> tests;
  return tests;
}

std::vector<std::unique_ptr<Backend>> &backends() {
  static std::vector<std::unique_ptr<Backend>> all;
  return all;
}

std::shared_ptr<HostMemory> &suiteMemory() {
  static std::shared_ptr<HostMemory> memory;
  return memory;
}

} // namespace splitcast::runtime::conformance
