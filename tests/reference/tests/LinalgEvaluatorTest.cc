#include "tests/reference/LinalgEvaluator.h"
#include "tests/reference/tests/Fixture.h"

namespace splitcast::reference {
namespace {

class LinalgEvaluatorTest : public ReferenceTest {
protected:
  /// The first op of @f.
  absl::StatusOr<std::vector<TensorRef>> evaluate(const std::string &text, std::vector<Tensor> operands) {
    modules.push_back(parse(text));
    auto function = mlir::cast<mlir::func::FuncOp>(modules.back()->lookupSymbol("f"));
    std::vector<TensorRef> shared;
    for (Tensor &operand : operands)
      shared.push_back(share(operand));
    return evaluator.evaluate(&function.front().front(), shared);
  }

  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  LinalgEvaluator evaluator{Precision::F32};
};

TEST_F(LinalgEvaluatorTest, IgnoresSignatures) {
  std::string text = R"(
    #p = #sbp.placement<"cpu", [dp = 2]>
    func.func @f(%x: tensor<2x2xf32, #sbp.nd<#p, [S(0)]>>) -> tensor<2x2xf32, #sbp.nd<#p, [S(0)]>> {
      %r = nn.neg %x : (tensor<2x2xf32, #sbp.nd<#p, [S(0)]>>) -> tensor<2x2xf32, #sbp.nd<#p, [S(0)]>>
      return %r : tensor<2x2xf32, #sbp.nd<#p, [S(0)]>>
    })";
  auto results = evaluate(text, {f32({2, 2}, {1, -2, 3, 4})});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->front()->floats, (std::vector<double>{-1, 2, -3, -4}));
}

TEST_F(LinalgEvaluatorTest, TellsAttributesAndTypesApart) {
  auto scaled = [&](const std::string &value, const std::string &element) {
    std::string t = "tensor<1x" + element + ">";
    auto results = evaluate(functionOf("f", "nn.scale", "value = " + value + " : f64", {t}, t), {tensor(t, {3})});
    EXPECT_TRUE(results.ok()) << results.status();
    return results->front()->floats[0];
  };
  EXPECT_EQ(scaled("2.0", "f32"), 6);
  EXPECT_EQ(scaled("0.1", "f32"), 3.0f * 0.1f);
  EXPECT_EQ(scaled("0.1", "f64"), 3.0 * 0.1);
  EXPECT_EQ(scaled("2.0", "f32"), 6);
}

TEST_F(LinalgEvaluatorTest, RunsAFusion) {
  std::string text = R"(func.func @f(%x: tensor<2xf32>, %y: tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>) {
    %r:2 = nn.fusion(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> (tensor<2xf32>, tensor<f32>) {
    ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
      %p = nn.mul %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %s = nn.reduce_sum %p {dims = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
      nn.yield %p, %s : tensor<2xf32>, tensor<f32>
    }
    return %r#0, %r#1 : tensor<2xf32>, tensor<f32>
  })";
  auto results = evaluate(text, {f32({2}, {2, 3}), f32({2}, {5, 7})});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0]->floats, (std::vector<double>{10, 21}));
  EXPECT_EQ((*results)[1]->floats, (std::vector<double>{31}));
}

std::string embedding() {
  return functionOf("f", "nn.embedding", "", {"tensor<3x2xf32>", "tensor<2xi64>"}, "tensor<2x2xf32>");
}

TEST_F(LinalgEvaluatorTest, NamesTheOpAndTheIndexThatIsNotInTheTable) {
  Tensor table = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  for (int id : {3, -1}) {
    absl::Status status = evaluate(embedding(), {table, tensor("tensor<2xi64>", {1, double(id)})}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
    EXPECT_THAT(std::string(status.message()), testing::StartsWith("'nn.embedding' at loc("));
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("element 1 of operand 1 is the index " +
                                                                  std::to_string(id) + "; it must lie in [0, 3)"));
  }
}

// Their linalg compares with indices, and would take one that is too large for a class or a row that is not there.
TEST_F(LinalgEvaluatorTest, RefusesLabelsAndRowsThatDoNotExist) {
  Tensor rows = f32({2, 3}, {1, 2, 3, 4, 5, 6}), gradient = f32({2}, {1, 1});
  for (int label : {2, 3}) {
    Tensor labels = tensor("tensor<2xi64>", {0, double(label)});
    auto run = [&](const std::string &op, const std::vector<std::string> &types, const std::string &result,
                   const std::vector<Tensor> &operands) {
      return evaluate(functionOf("f", op, "", types, result), operands).status().code();
    };
    absl::StatusCode expected = label == 2 ? absl::StatusCode::kOk : absl::StatusCode::kOutOfRange;
    std::string r = "tensor<2x3xf32>", l = "tensor<2xi64>", g = "tensor<2xf32>";
    EXPECT_EQ(run("nn.softmax_cross_entropy", {r, l}, g, {rows, labels}), expected);
    EXPECT_EQ(run("nn.softmax_cross_entropy_grad", {g, r, l}, r, {gradient, rows, labels}), expected);
    EXPECT_EQ(run("nn.embedding_grad", {r, l}, "tensor<3x3xf32>", {rows, labels}), expected);
  }
}

TEST_F(LinalgEvaluatorTest, RefusesOperandsOfOtherTypes) {
  Tensor table = f32({3, 2}, {1, 2, 3, 4, 5, 6}), ids = tensor("tensor<2xi64>", {0, 1});
  EXPECT_TRUE(evaluate(embedding(), {table, ids}).ok());
  EXPECT_FALSE(evaluate(embedding(), {table}).ok());
  EXPECT_FALSE(evaluate(embedding(), {table, table}).ok());
  Tensor tooFew = table;
  tooFew.floats.pop_back();
  EXPECT_THAT(
      std::string(evaluate(embedding(), {tooFew, ids}).status().message()),
      testing::HasSubstr("operand 0 of type tensor<3x2xf32> has 5 floating-point elements and 0 integers; it needs 6"));
  EXPECT_FALSE(evaluate(embedding(), {Tensor(), ids}).ok());
}

TEST_F(LinalgEvaluatorTest, RefusesOtherOps) {
  std::string other = "func.func @f(%x: tensor<f32>) { %r = tensor.empty() : tensor<f32>\nreturn }";
  EXPECT_EQ(evaluate(other, {}).status().code(), absl::StatusCode::kUnimplemented);
}

} // namespace
} // namespace splitcast::reference
