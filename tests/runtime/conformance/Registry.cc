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

} // namespace splitcast::runtime::conformance
