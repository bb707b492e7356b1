// Every op of nn against NumPy: tests/vectors/gen_vectors.py says what a case is.
#include "runtime/reference/GlobalInterpreter.h"
#include "tests/runtime/reference/Fixture.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

namespace splitcast::reference {
namespace {

using nlohmann::json;

double numberOf(const json &value) {
  if (value.is_number())
    return value.get<double>();
  if (value == "nan")
    return std::numeric_limits<double>::quiet_NaN();
  double infinity = std::numeric_limits<double>::infinity();
  return value == "inf" ? infinity : -infinity;
}

class VectorsTest : public ReferenceTest {
protected:
  void SetUp() override {
    std::ifstream file("tests/vectors/vectors.json");
    ASSERT_TRUE(file) << "tests/vectors/vectors.json cannot be read";
    json document = json::parse(file, nullptr, /*allow_exceptions=*/false);
    ASSERT_FALSE(document.is_discarded());
    cases = document["cases"];
    ASSERT_GT(cases.size(), 0u);
  }

  Tensor read(const json &value) {
    Tensor result = Tensor::zeros(type(value["type"].get<std::string>()));
    EXPECT_EQ(static_cast<int64_t>(value["data"].size()), result.numElements());
    for (size_t i = 0; i < value["data"].size(); ++i) {
      if (result.isFloat())
        result.floats[i] = numberOf(value["data"][i]);
      else
        result.integers[i] = value["data"][i].get<int64_t>();
    }
    return result;
  }

  absl::StatusOr<std::vector<Tensor>> evaluate(const json &testCase) {
    std::vector<std::string> operands;
    std::vector<Tensor> inputs;
    for (const json &operand : testCase["operands"]) {
      operands.push_back(operand["type"]);
      inputs.push_back(read(operand));
    }
    auto module =
        parse(functionOf("f", testCase["op"], testCase["attributes"], operands, testCase["results"][0]["type"]));
    if (!module)
      return absl::InvalidArgumentError("the case does not parse");
    absl::StatusOr<GlobalInterpreter> interpreter = GlobalInterpreter::create(*module);
    if (!interpreter.ok())
      return interpreter.status();
    return interpreter->run("f", inputs);
  }

  /// A NaN is as good as another; apart from that, zero bounds ask for the same bits.
  void check(const Tensor &found, const Tensor &expected, double tolerance, double absolute) {
    ASSERT_EQ(found.shape, expected.shape);
    ASSERT_EQ(found.elementType, expected.elementType);
    ASSERT_EQ(found.integers, expected.integers);
    ASSERT_EQ(found.floats.size(), expected.floats.size());
    for (size_t i = 0; i < found.floats.size(); ++i) {
      double x = found.floats[i];
      // The expected value in the element type: JSON has the shortest text that gives it.
      double y = found.elementType.isF32() ? static_cast<float>(expected.floats[i]) : expected.floats[i];
      bool isExact = tolerance == 0 && absolute == 0;
      if (std::isnan(y) || isExact || std::isinf(y))
        EXPECT_TRUE((std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y)))
            << "element " << i << " is " << x << ", expected " << y;
      else
        EXPECT_LE(std::abs(x - y), tolerance * std::abs(y) + absolute) << "element " << i << " is " << x;
    }
  }

  json cases;
};

TEST_F(VectorsTest, AllOpsGiveWhatNumPyGives) {
  for (const json &testCase : cases) {
    SCOPED_TRACE(testCase.dump());
    absl::StatusOr<std::vector<Tensor>> results = evaluate(testCase);
    ASSERT_TRUE(results.ok()) << results.status();
    ASSERT_EQ(results->size(), 1u);
    check(results->front(), read(testCase["results"][0]), testCase["tolerance"], testCase["absolute"]);
    if (HasFatalFailure())
      return;
  }
}

// A new op without vectors fails here.
TEST_F(VectorsTest, EveryOpThatComputesHasVectors) {
  std::set<std::string> covered;
  for (const json &testCase : cases)
    covered.insert(testCase["op"].get<std::string>());
  std::vector<std::string> ops = opsWith<nn::ComputeOpInterface>(context, "nn");
  EXPECT_GT(ops.size(), 0u);
  for (const std::string &op : ops)
    EXPECT_TRUE(covered.count(op)) << op << " has no case in tests/vectors/gen_vectors.py";
}

} // namespace
} // namespace splitcast::reference
