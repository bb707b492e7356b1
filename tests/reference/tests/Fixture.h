//===- Fixture.h - Makes modules from text, and small tensors ------------------===//
#ifndef SPLITCAST_TESTS_REFERENCE_TESTS_FIXTURE_H
#define SPLITCAST_TESTS_REFERENCE_TESTS_FIXTURE_H

#include "dialects/ccl/Ccl.h"
#include "dialects/nn/Nn.h"
#include "tests/reference/Tensor.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace splitcast::reference {

class ReferenceTest : public testing::Test {
protected:
  ReferenceTest() { context.loadDialect<sbp::SbpDialect, nn::NnDialect, ccl::CclDialect, mlir::func::FuncDialect>(); }

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
    return module;
  }

  mlir::RankedTensorType type(const std::string &text) {
    return mlir::cast<mlir::RankedTensorType>(mlir::parseType(text, &context));
  }

  Tensor tensor(const std::string &typeText, std::vector<double> numbers) {
    Tensor result = Tensor::zeros(type(typeText));
    EXPECT_EQ(static_cast<int64_t>(numbers.size()), result.numElements()) << typeText;
    if (result.isFloat())
      result.floats = numbers;
    else
      result.integers.assign(numbers.begin(), numbers.end());
    return result;
  }

  Tensor f32(sbp::Shape shape, std::vector<double> numbers) {
    return {std::move(shape), mlir::Float32Type::get(&context), std::move(numbers), {}};
  }

  mlir::MLIRContext context;
};

/// Returns the names of the ops of a dialect that have an op interface.
template <typename InterfaceT> std::vector<std::string> opsWith(mlir::MLIRContext &context, llvm::StringRef dialect) {
  std::vector<std::string> names;
  for (mlir::RegisteredOperationName name : context.getRegisteredOperations())
    if (name.getDialectNamespace() == dialect && name.hasInterface<InterfaceT>())
      names.push_back(name.getStringRef().str());
  return names;
}

/// Returns the text of `func.func @name` with one argument per operand and the op
/// `"op"(%0, %1) {attributes} : (types) -> (types)`, whose results it returns.
inline std::string functionOf(const std::string &name, const std::string &op, const std::string &attributes,
                              const std::vector<std::string> &operands, const std::vector<std::string> &results) {
  auto list = [](size_t count, llvm::function_ref<std::string(size_t)> item) {
    std::string text;
    for (size_t i = 0; i < count; ++i)
      text += (i ? ", " : "") + item(i);
    return text;
  };
  auto value = [](size_t i) { return "%a" + std::to_string(i); };
  auto operand = [&](size_t i) { return operands[i]; };
  auto result = [&](size_t i) { return results[i]; };
  std::string types = "(" + list(results.size(), result) + ")";
  return "func.func @" + name + "(" + list(operands.size(), [&](size_t i) { return value(i) + ": " + operands[i]; }) +
         ") -> " + types + " {\n  %r:" + std::to_string(results.size()) + " = \"" + op + "\"(" +
         list(operands.size(), value) + ") {" + attributes + "} : (" + list(operands.size(), operand) + ") -> " +
         types + "\n  return " + list(results.size(), [](size_t i) { return "%r#" + std::to_string(i); }) + " : " +
         list(results.size(), result) + "\n}\n";
}

inline std::string functionOf(const std::string &name, const std::string &op, const std::string &attributes,
                              const std::vector<std::string> &operands, const std::string &result) {
  return functionOf(name, op, attributes, operands, std::vector<std::string>{result});
}

} // namespace splitcast::reference

#endif // SPLITCAST_TESTS_REFERENCE_TESTS_FIXTURE_H
