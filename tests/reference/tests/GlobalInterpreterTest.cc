#include "tests/reference/GlobalInterpreter.h"
#include "tests/reference/tests/Fixture.h"

namespace splitcast::reference {
namespace {

/// One step of SGD on w: loss = sum((x w)^2), over rows that are split; everything that the interpreter passes over.
constexpr const char *kStep = R"(
  #p = #sbp.placement<"cpu", [dp = 2]>
  #S0 = #sbp.nd<#p, [S(0)]>
  #B = #sbp.nd<#p, [B]>
  #P = #sbp.nd<#p, [P]>
  sbp.variable @w : tensor<2x1xf32, #B> storage #S0 init #sbp.constant<0.5 : f32>
  sbp.variable @untouched : tensor<2xi64, #B>
  func.func @step(%x: tensor<3x2xf32, #S0>) -> (tensor<f32, #P>, tensor<2x1xf32, #B>) {
    %w = sbp.read @w : tensor<2x1xf32, #B>
    %y = nn.matmul %x, %w : (tensor<3x2xf32, #S0>, tensor<2x1xf32, #B>) -> tensor<3x1xf32, #S0>
    %q = nn.mul %y, %y : (tensor<3x1xf32, #S0>, tensor<3x1xf32, #S0>) -> tensor<3x1xf32, #S0>
    %l = nn.reduce_sum %q {dims = array<i64: 0, 1>} : (tensor<3x1xf32, #S0>) -> tensor<f32, #P>
    %t = sbp.scope "backward" group "w"
    %f = sbp.fence %y in %t : tensor<3x1xf32, #S0>
    %d = nn.scale %f {value = 2.0 : f64} : (tensor<3x1xf32, #S0>) -> tensor<3x1xf32, #S0>
    %g = nn.matmul %x, %d {transpose_a} : (tensor<3x2xf32, #S0>, tensor<3x1xf32, #S0>) -> tensor<2x1xf32, #P>
    %b = sbp.boxing %g : tensor<2x1xf32, #P> -> tensor<2x1xf32, #B>
    %s = nn.scale %b {value = 0.125 : f64} : (tensor<2x1xf32, #B>) -> tensor<2x1xf32, #B>
    %n = nn.sub %w, %s : (tensor<2x1xf32, #B>, tensor<2x1xf32, #B>) -> tensor<2x1xf32, #B>
    sbp.assign @w, %n : tensor<2x1xf32, #B>
    return %l, %b : tensor<f32, #P>, tensor<2x1xf32, #B>
  })";

class GlobalInterpreterTest : public ReferenceTest {
protected:
  GlobalInterpreter create(const std::string &text, InterpreterOptions options = {}) {
    modules.push_back(parse(text));
    absl::StatusOr<GlobalInterpreter> interpreter = GlobalInterpreter::create(*modules.back(), options);
    EXPECT_TRUE(interpreter.ok()) << interpreter.status();
    return *std::move(interpreter);
  }

  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
};

TEST_F(GlobalInterpreterTest, TrainsAsIfThereWereOneRank) {
  GlobalInterpreter interpreter = create(kStep);
  EXPECT_EQ(interpreter.variables().at("w").floats, (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(interpreter.variables().at("untouched").integers, (std::vector<int64_t>{0, 0}));
  auto results = interpreter.run("step", {f32({3, 2}, {1, 0, 0, 1, 1, 1})});
  ASSERT_TRUE(results.ok()) << results.status();
  // y = (1/2, 1/2, 1); the gradient is 2 x^T y.
  EXPECT_EQ((*results)[0].floats, (std::vector<double>{1.5}));
  EXPECT_EQ((*results)[1].floats, (std::vector<double>{3, 3}));
  EXPECT_EQ(interpreter.variables().at("w").floats, (std::vector<double>{0.125, 0.125}));
  ASSERT_TRUE(interpreter.run("step", {f32({3, 2}, {1, 0, 0, 1, 1, 1})}).ok());
  EXPECT_EQ(interpreter.variables().at("w").floats, (std::vector<double>{0.03125, 0.03125}));
}

TEST_F(GlobalInterpreterTest, RoundsInputsAndInitialValuesToTheirTypes) {
  std::string text = R"(
    sbp.variable @v : tensor<f32> init #sbp.constant<0.1 : f64>
    func.func @f(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> })";
  for (auto [precision, expected] : {std::pair(Precision::F32, double(0.1f)), {Precision::F64, 0.1}}) {
    InterpreterOptions options;
    options.precision = precision;
    GlobalInterpreter interpreter = create(text, options);
    EXPECT_EQ(interpreter.variables().at("v").floats[0], expected);
    EXPECT_EQ((*interpreter.run("f", {f32({}, {0.1})}))[0].floats[0], expected);
  }
}

TEST_F(GlobalInterpreterTest, AsksTheInitializer) {
  std::string text = "sbp.variable @v : tensor<2xf32> init #sbp.normal<mean = 0.0 : f32, stddev = 1.0 : f32>";
  auto module = parse(text);
  EXPECT_THAT(
      std::string(GlobalInterpreter::create(*module).status().message()),
      testing::HasSubstr("@v has initializer #sbp.normal<mean = 0.000000e+00 : f32, stddev = 1.000000e+00 : f32>, "
                         "but only #sbp.constant is built in; give an Initializer"));
  InterpreterOptions options;
  options.initializer = [](sbp::VariableOp variable, Tensor &tensor) {
    tensor.floats = {1, 2};
    return variable.getSymName() == "v" ? absl::OkStatus() : absl::InternalError("which?");
  };
  EXPECT_EQ(create(text, options).variables().at("v").floats, (std::vector<double>{1, 2}));
  options.initializer = [](sbp::VariableOp, Tensor &tensor) {
    tensor.floats = {1};
    return absl::OkStatus();
  };
  EXPECT_FALSE(GlobalInterpreter::create(*module, options).ok());
}

TEST_F(GlobalInterpreterTest, RefusesFunctionsAndInputsThatDoNotFit) {
  GlobalInterpreter interpreter = create(std::string(kStep) + "\nfunc.func private @external(tensor<f32>)");
  Tensor x = f32({3, 2}, {1, 0, 0, 1, 1, 1});
  EXPECT_EQ(interpreter.run("stop", {x}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(interpreter.run("external", {f32({}, {1})}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(interpreter.run("step", {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(interpreter.run("step", {f32({2, 3}, {1, 0, 0, 1, 1, 1})}).status().message()),
              testing::HasSubstr("input 0 of @step is tensor<2x3xf32>, where tensor<3x2xf32> is needed"));
  interpreter.variables().at("w").shape = {1, 2};
  EXPECT_THAT(std::string(interpreter.run("step", {x}).status().message()), testing::HasSubstr("variable @w is"));
  interpreter.variables().erase("w");
  EXPECT_EQ(interpreter.run("step", {x}).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(GlobalInterpreterTest, SaysWhichPassIsMissing) {
  std::string text = R"(
    sbp.variable @w : tensor<f32>
    func.func @minimize(%l: tensor<f32>) {
      nn.minimize %l : tensor<f32> with #nn.sgd<lr = 0.5 : f32>
      return
    }
    func.func @update(%g: tensor<f32>) {
      %t = sbp.scope "update"
      nn.update @w, %g in %t : tensor<f32> with #nn.sgd<lr = 0.5 : f32>
      return
    })";
  GlobalInterpreter interpreter = create(text);
  for (auto [function, pass] : {std::pair("minimize", "'nn-differentiate'"), {"update", "'nn-expand-optimizers'"}}) {
    absl::Status status = interpreter.run(function, {f32({}, {1})}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(pass));
  }
}

TEST_F(GlobalInterpreterTest, RefusesOpsOfOtherLevels) {
  GlobalInterpreter interpreter = create(R"(func.func @f(%x: tensor<2xf32>) -> tensor<1xf32> {
    %v = ccl.view %x at 1 : tensor<2xf32> -> tensor<1xf32>
    return %v : tensor<1xf32>
  })");
  absl::Status status = interpreter.run("f", {f32({2}, {1, 2})}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("'ccl.view'"));
}

TEST_F(GlobalInterpreterTest, RefusesAModuleThatDoesNotVerify) {
  auto module = parse("sbp.variable @w : tensor<f32>\nfunc.func @f() { %w = sbp.read @w : tensor<f32>\nreturn }");
  module->lookupSymbol("w")->erase();
  absl::Status status = GlobalInterpreter::create(*module).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("no such sbp.variable"));
}

} // namespace
} // namespace splitcast::reference
