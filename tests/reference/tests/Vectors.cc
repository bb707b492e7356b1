#include "tests/reference/tests/Vectors.h"

#include "tests/reference/tests/Fixture.h"

#include <cmath>
#include <fstream>
#include <limits>

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

std::vector<Tensor> tensorsOf(const json &values, mlir::MLIRContext &context) {
  std::vector<Tensor> tensors;
  for (const json &value : values) {
    auto type = mlir::cast<mlir::RankedTensorType>(mlir::parseType(value["type"].get<std::string>(), &context));
    Tensor tensor = Tensor::zeros(type);
    EXPECT_EQ(static_cast<int64_t>(value["data"].size()), tensor.numElements());
    for (size_t i = 0; i < value["data"].size(); ++i) {
      if (tensor.isFloat())
        tensor.floats[i] = numberOf(value["data"][i]);
      else
        tensor.integers[i] = value["data"][i].get<int64_t>();
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<std::string> typesOf(const std::vector<Tensor> &tensors) {
  std::vector<std::string> types;
  for (const Tensor &tensor : tensors)
    types.push_back(printed(mlir::RankedTensorType::get(tensor.shape, tensor.elementType)));
  return types;
}

} // namespace

std::string VectorCase::function(const std::string &name) const {
  return functionOf(name, op, attributes, typesOf(operands), typesOf(results));
}

mlir::OwningOpRef<mlir::ModuleOp> VectorCase::module(mlir::MLIRContext &context) const {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(function("f"), &context);
  EXPECT_TRUE(module) << function("f");
  return module;
}

std::vector<VectorCase> readVectors(mlir::MLIRContext &context) {
  std::ifstream file("tests/vectors/vectors.json");
  EXPECT_TRUE(file) << "tests/vectors/vectors.json cannot be read";
  json document = json::parse(file, nullptr, /*allow_exceptions=*/false);
  EXPECT_FALSE(document.is_discarded());
  std::vector<VectorCase> cases;
  if (document.is_discarded())
    return cases;
  for (const json &value : document["cases"])
    cases.push_back({value.dump(), value["op"], value["attributes"], tensorsOf(value["operands"], context),
                     tensorsOf(value["results"], context), value["tolerance"], value["absolute"]});
  return cases;
}

/// Whether an element is what a function makes of a zero: its own zero has a
/// sign. (That of sums depends on their order.)
static bool isOfZero(const VectorCase &testCase, const Tensor &found, size_t element) {
  return testCase.operands.size() == 1 && testCase.operands[0].shape == found.shape && testCase.operands[0].isFloat() &&
         testCase.operands[0].floats[element] == 0;
}

void expectResult(const VectorCase &testCase, size_t index, const Tensor &found) {
  SCOPED_TRACE("result " + std::to_string(index));
  const Tensor &expected = testCase.results[index];
  ASSERT_EQ(found.shape, expected.shape);
  ASSERT_EQ(found.elementType, expected.elementType);
  ASSERT_EQ(found.integers, expected.integers);
  ASSERT_EQ(found.floats.size(), expected.floats.size());
  bool isExact = testCase.tolerance == 0 && testCase.absolute == 0;
  for (size_t i = 0; i < found.floats.size(); ++i) {
    double x = found.floats[i];
    // The expected value in the element type: JSON has the shortest text that gives it.
    double y = found.elementType.isF32() ? static_cast<float>(expected.floats[i]) : expected.floats[i];
    if (std::isnan(y) || isExact || std::isinf(y))
      EXPECT_TRUE((std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y)))
          << "element " << i << " is " << x << ", expected " << y;
    else if (x == 0 && y == 0 && isOfZero(testCase, found, i))
      EXPECT_EQ(std::signbit(x), std::signbit(y)) << "of the zero at element " << i;
    else
      EXPECT_LE(std::abs(x - y), testCase.tolerance * std::abs(y) + testCase.absolute)
          << "element " << i << " is " << x << ", expected " << y;
  }
}

} // namespace splitcast::reference
