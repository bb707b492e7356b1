// linalg.generic, written by hand: every scalar operation, indexing maps, and what is refused.
#include "tests/reference/LoopProgram.h"
#include "tests/reference/tests/Fixture.h"

#include <cmath>
#include <limits>

namespace splitcast::reference {
namespace {

const double kNan = std::numeric_limits<double>::quiet_NaN();

class LoopProgramTest : public ReferenceTest {
protected:
  /// The first linalg.generic of a module on `inputs`; its output starts as zeros.
  absl::StatusOr<Tensor> run(const std::string &text, std::vector<Tensor> inputs,
                             Precision precision = Precision::F32) {
    auto module = parse(text);
    mlir::linalg::GenericOp generic;
    module->walk([&](mlir::linalg::GenericOp op) { generic = op; });
    Slots slots(generic, std::move(inputs));
    absl::StatusOr<LoopProgram> program =
        LoopProgram::compile(generic, precision, [&](mlir::Value value) { return slots.of(value); });
    if (!program.ok())
      return program.status();
    std::vector<Tensor> outputs = {Tensor::zeros(mlir::cast<mlir::RankedTensorType>(generic.getResult(0).getType()))};
    if (absl::Status status = program->run(slots.tensors, outputs); !status.ok())
      return status;
    return outputs.front();
  }

  /// One element from scalars, through `body`, which computes %r from %a, %b and %c.
  absl::StatusOr<Tensor> scalar(const std::string &body, const std::string &in, const std::string &out,
                                std::vector<double> numbers, Precision precision = Precision::F32) {
    std::string t = "tensor<" + in + ">";
    std::vector<Tensor> inputs;
    for (double number : numbers)
      inputs.push_back(tensor(t, {number}));
    return run("func.func @f(%x: " + t + ", %y: " + t + ", %z: " + t + ", %o: tensor<" + out + ">) -> tensor<" + out +
                   "> {\n%g = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, "
                   "affine_map<() -> ()>, "
                   "affine_map<() -> ()>], iterator_types = []} ins(%x, %y, %z : " +
                   t + ", " + t + ", " + t + ") outs(%o : tensor<" + out + ">) {\n^bb0(%a: " + in + ", %b: " + in +
                   ", %c: " + in + ", %d: " + out + "):\n" + body + "\nlinalg.yield %r : " + out + "\n} -> tensor<" +
                   out + ">\nreturn %g : tensor<" + out + ">\n}",
               inputs, precision);
  }

private:
  struct Slots {
    Slots(mlir::linalg::GenericOp generic, std::vector<Tensor> inputs) {
      auto function = generic->getParentOfType<mlir::func::FuncOp>();
      for (auto [argument, input] : llvm::zip(function.getArguments(), inputs)) {
        numbers[argument] = tensors.size();
        tensors.push_back(share(input));
      }
    }
    int of(mlir::Value value) const { return numbers.lookup(value); }
    llvm::DenseMap<mlir::Value, int> numbers;
    std::vector<TensorRef> tensors;
  };
};

struct ScalarCase {
  const char *body, *in, *out;
  std::vector<double> numbers;
  double expected;
};

TEST_F(LoopProgramTest, RunsEveryScalarOperation) {
  const std::vector<ScalarCase> cases = {
      {"%r = arith.addf %a, %b : f32", "f32", "f32", {1.5, 2, 0}, 3.5},
      {"%r = arith.subf %a, %b : f32", "f32", "f32", {1.5, 2, 0}, -0.5},
      {"%r = arith.mulf %a, %b : f32", "f32", "f32", {1.5, 2, 0}, 3},
      {"%r = arith.divf %a, %b : f32", "f32", "f32", {1, 4, 0}, 0.25},
      {"%r = arith.negf %a : f32", "f32", "f32", {1, 4, 0}, -1},
      {"%r = arith.remf %a, %b : f32", "f32", "f32", {7.5, 2, 0}, 1.5},
      {"%r = arith.maximumf %a, %b : f32", "f32", "f32", {1, 4, 0}, 4},
      {"%r = arith.maximumf %a, %b : f32", "f32", "f32", {1, kNan, 0}, kNan},
      {"%r = arith.minimumf %a, %b : f32", "f32", "f32", {1, 4, 0}, 1},
      {"%r = arith.maxnumf %a, %b : f32", "f32", "f32", {1, kNan, 0}, 1},
      {"%r = arith.minnumf %a, %b : f32", "f32", "f32", {1, kNan, 0}, 1},
      {"%r = arith.extf %a : f32 to f64", "f32", "f64", {0.5, 0, 0}, 0.5},
      {"%r = arith.truncf %a : f64 to f32", "f64", "f32", {0.1, 0, 0}, 0.1f},
      {"%r = arith.sitofp %a : i32 to f32", "i32", "f32", {-3, 0, 0}, -3},
      {"%r = arith.uitofp %a : i32 to f64", "i32", "f64", {-1, 0, 0}, 4294967295.0},
      {"%r = arith.fptosi %a : f32 to i32", "f32", "i32", {-2.9, 0, 0}, -2},
      {"%r = arith.addi %a, %b : i32", "i32", "i32", {2147483647, 1, 0}, -2147483648.0},
      {"%r = arith.subi %a, %b : i64", "i64", "i64", {3, 5, 0}, -2},
      {"%r = arith.muli %a, %b : i32", "i32", "i32", {65536, 65537, 0}, 65536},
      {"%r = arith.divsi %a, %b : i32", "i32", "i32", {-7, 2, 0}, -3},
      {"%r = arith.remsi %a, %b : i32", "i32", "i32", {-7, 2, 0}, -1},
      {"%r = arith.maxsi %a, %b : i32", "i32", "i32", {-7, 2, 0}, 2},
      {"%r = arith.minsi %a, %b : i32", "i32", "i32", {-7, 2, 0}, -7},
      {"%r = arith.andi %a, %b : i32", "i32", "i32", {12, 10, 0}, 8},
      {"%r = arith.ori %a, %b : i32", "i32", "i32", {12, 10, 0}, 14},
      {"%r = arith.xori %a, %b : i32", "i32", "i32", {12, 10, 0}, 6},
      {"%r = arith.extsi %a : i32 to i64", "i32", "i64", {-1, 0, 0}, -1},
      {"%r = arith.extui %a : i32 to i64", "i32", "i64", {-1, 0, 0}, 4294967295.0},
      {"%r = arith.trunci %a : i64 to i32", "i64", "i32", {4294967297.0, 0, 0}, 1},
      {"%i = arith.index_cast %a : i64 to index\n%r = arith.index_cast %i : index to i64",
       "i64",
       "i64",
       {-4, 0, 0},
       -4},
      {"%r = math.exp %a : f64", "f64", "f64", {0.5, 0, 0}, std::exp(0.5)},
      {"%r = math.expm1 %a : f64", "f64", "f64", {0.5, 0, 0}, std::expm1(0.5)},
      {"%r = math.log %a : f64", "f64", "f64", {0.5, 0, 0}, std::log(0.5)},
      {"%r = math.log1p %a : f64", "f64", "f64", {0.5, 0, 0}, std::log1p(0.5)},
      {"%r = math.sqrt %a : f64", "f64", "f64", {2, 0, 0}, std::sqrt(2.0)},
      {"%r = math.rsqrt %a : f64", "f64", "f64", {4, 0, 0}, 0.5},
      {"%r = math.tanh %a : f64", "f64", "f64", {0.5, 0, 0}, std::tanh(0.5)},
      {"%r = math.erf %a : f64", "f64", "f64", {0.5, 0, 0}, std::erf(0.5)},
      {"%r = math.absf %a : f64", "f64", "f64", {-2, 0, 0}, 2},
      {"%r = math.sin %a : f64", "f64", "f64", {0.5, 0, 0}, std::sin(0.5)},
      {"%r = math.cos %a : f64", "f64", "f64", {0.5, 0, 0}, std::cos(0.5)},
      {"%r = math.floor %a : f64", "f64", "f64", {-0.5, 0, 0}, -1},
      {"%r = math.ceil %a : f64", "f64", "f64", {0.5, 0, 0}, 1},
      {"%r = math.powf %a, %b : f64", "f64", "f64", {2, 10, 0}, 1024},
      {"%k = arith.constant 2.5 : f32\n%r = arith.addf %a, %k : f32", "f32", "f32", {1, 0, 0}, 3.5},
  };
  for (const ScalarCase &testCase : cases) {
    SCOPED_TRACE(testCase.body);
    absl::StatusOr<Tensor> result = scalar(testCase.body, testCase.in, testCase.out, testCase.numbers);
    ASSERT_TRUE(result.ok()) << result.status();
    double found = result->isFloat() ? result->floats[0] : static_cast<double>(result->integers[0]);
    if (std::isnan(testCase.expected))
      EXPECT_TRUE(std::isnan(found)) << found;
    else
      EXPECT_EQ(found, testCase.expected);
  }
}

TEST_F(LoopProgramTest, ComparesFloats) {
  // Per predicate: 1 < 2, 2 < 1, 1 = 1, 1 with NaN.
  const std::pair<const char *, std::vector<int>> cases[] = {
      {"false", {0, 0, 0, 0}}, {"oeq", {0, 0, 1, 0}}, {"ogt", {0, 1, 0, 0}}, {"oge", {0, 1, 1, 0}},
      {"olt", {1, 0, 0, 0}},   {"ole", {1, 0, 1, 0}}, {"one", {1, 1, 0, 0}}, {"ord", {1, 1, 1, 0}},
      {"ueq", {0, 0, 1, 1}},   {"ugt", {0, 1, 0, 1}}, {"uge", {0, 1, 1, 1}}, {"ult", {1, 0, 0, 1}},
      {"ule", {1, 0, 1, 1}},   {"une", {1, 1, 0, 1}}, {"uno", {0, 0, 0, 1}}, {"true", {1, 1, 1, 1}}};
  const double pairs[][2] = {{1, 2}, {2, 1}, {1, 1}, {1, kNan}};
  for (const auto &[predicate, expected] : cases)
    for (int i = 0; i < 4; ++i) {
      std::string body =
          std::string("%p = arith.cmpf ") + predicate + ", %a, %b : f32\n%r = arith.extui %p : i1 to i32";
      absl::StatusOr<Tensor> result = scalar(body, "f32", "i32", {pairs[i][0], pairs[i][1], 0});
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->integers[0], expected[i]) << predicate << " of " << pairs[i][0] << " and " << pairs[i][1];
    }
}

TEST_F(LoopProgramTest, ComparesIntegers) {
  // Per predicate: -1 and 2, 2 and -1, 2 and 2.
  const std::pair<const char *, std::vector<int>> cases[] = {
      {"eq", {0, 0, 1}},  {"ne", {1, 1, 0}},  {"slt", {1, 0, 0}}, {"sle", {1, 0, 1}}, {"sgt", {0, 1, 0}},
      {"sge", {0, 1, 1}}, {"ult", {0, 1, 0}}, {"ule", {0, 1, 1}}, {"ugt", {1, 0, 0}}, {"uge", {1, 0, 1}}};
  const double pairs[][2] = {{-1, 2}, {2, -1}, {2, 2}};
  for (const auto &[predicate, expected] : cases)
    for (int i = 0; i < 3; ++i) {
      std::string body =
          std::string("%p = arith.cmpi ") + predicate + ", %a, %b : i32\n%r = arith.select %p, %c, %d : i32";
      absl::StatusOr<Tensor> result = scalar(body, "i32", "i32", {pairs[i][0], pairs[i][1], 1});
      ASSERT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->integers[0], expected[i]) << predicate;
    }
}

TEST_F(LoopProgramTest, RefusesWhatHasNoValue) {
  EXPECT_THAT(std::string(scalar("%r = arith.divsi %a, %b : i32", "i32", "i32", {1, 0, 0}).status().message()),
              testing::HasSubstr("division of 1 by 0 has no value"));
  EXPECT_FALSE(scalar("%r = arith.divsi %a, %b : i32", "i32", "i32", {-2147483648.0, -1, 0}).ok());
  EXPECT_TRUE(scalar("%r = arith.divsi %a, %b : i64", "i64", "i64", {-2147483648.0, -1, 0}).ok());
  EXPECT_FALSE(scalar("%r = arith.remsi %a, %b : i32", "i32", "i32", {1, 0, 0}).ok());
  EXPECT_THAT(std::string(scalar("%r = arith.fptosi %a : f32 to i32", "f32", "i32", {3e9, 0, 0}).status().message()),
              testing::HasSubstr("does not fit into an integer of 32 bits"));
  EXPECT_FALSE(scalar("%r = arith.fptosi %a : f32 to i32", "f32", "i32", {kNan, 0, 0}).ok());
  EXPECT_TRUE(scalar("%r = arith.fptosi %a : f64 to i32", "f64", "i32", {-2147483648.9, 0, 0}).ok());
  EXPECT_EQ(scalar("%r = math.atan %a : f32", "f32", "f32", {1, 0, 0}).status().code(),
            absl::StatusCode::kUnimplemented);
}

TEST_F(LoopProgramTest, RoundsAfterEachOperationUnlessAskedNotTo) {
  // 1 + 2^-24 is a tie that f32 rounds to 1; then 1 is subtracted.
  std::string body = "%s = arith.addf %a, %b : f32\n%r = arith.subf %s, %c : f32";
  EXPECT_EQ(scalar(body, "f32", "f32", {1, 0x1p-24, 1})->floats[0], 0.0);
  EXPECT_EQ(scalar(body, "f32", "f32", {1, 0x1p-24, 1}, Precision::F64)->floats[0], 0x1p-24);
  std::string half = "%s = arith.addf %a, %b : bf16\n%r = arith.subf %s, %c : bf16";
  EXPECT_EQ(scalar(half, "bf16", "bf16", {256, 1, 256})->floats[0], 0.0);
}

constexpr const char *kGenericHead = "func.func @f(%x: tensor<2x6xf32>, %o: ";

TEST_F(LoopProgramTest, WalksLinearMaps) {
  // out[j, i] = x[i, 2 j + 1]
  std::string text = std::string(kGenericHead) + R"(tensor<3x2xf32>) -> tensor<3x2xf32> {
    %g = linalg.generic {indexing_maps = [affine_map<(j, i) -> (i, j * 2 + 1)>, affine_map<(j, i) -> (j, i)>],
        iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x6xf32>) outs(%o : tensor<3x2xf32>) {
    ^bb0(%a: f32, %d: f32):
      linalg.yield %a : f32
    } -> tensor<3x2xf32>
    return %g : tensor<3x2xf32>
  })";
  absl::StatusOr<Tensor> result = run(text, {f32({2, 6}, {0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15})});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->floats, (std::vector<double>{1, 11, 3, 13, 5, 15}));
}

TEST_F(LoopProgramTest, SumsInRowMajorOrder) {
  // Left to right in f32: 2^24 + 1 + 1 + ... stays 2^24; any other order gives more.
  std::string text = R"(func.func @f(%x: tensor<5xf32>, %o: tensor<f32>) -> tensor<f32> {
    %g = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>],
        iterator_types = ["reduction"]} ins(%x : tensor<5xf32>) outs(%o : tensor<f32>) {
    ^bb0(%a: f32, %d: f32):
      %s = arith.addf %d, %a : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    return %g : tensor<f32>
  })";
  EXPECT_EQ(run(text, {f32({5}, {0x1p24, 1, 1, 1, 1})})->floats[0], 0x1p24);
  EXPECT_EQ(run(text, {f32({5}, {1, 1, 1, 1, 0x1p24})})->floats[0], 0x1p24 + 4);
}

TEST_F(LoopProgramTest, RefusesMapsThatAreNotLinear) {
  std::string text = std::string(kGenericHead) + R"(tensor<2x6xf32>) -> tensor<2x6xf32> {
    %g = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j mod 2)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x6xf32>) outs(%o : tensor<2x6xf32>) {
    ^bb0(%a: f32, %d: f32):
      linalg.yield %a : f32
    } -> tensor<2x6xf32>
    return %g : tensor<2x6xf32>
  })";
  absl::Status status = run(text, {f32({2, 6}, std::vector<double>(12, 1))}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
}

TEST_F(LoopProgramTest, NamesTheIndexThatLeavesATensor) {
  std::string text = std::string(kGenericHead) + R"(tensor<3xf32>) -> tensor<3xf32> {
    %g = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%o : tensor<3xf32>) {
    ^bb0(%d: f32):
      %i = linalg.index 0 : index
      %e = tensor.extract %x[%i, %i] : tensor<2x6xf32>
      linalg.yield %e : f32
    } -> tensor<3xf32>
    return %g : tensor<3xf32>
  })";
  absl::Status status = run(text, {f32({2, 6}, std::vector<double>(12, 1))}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(status.message(), "index [2, 2] lies outside of a tensor of shape [2, 6] in iteration [2]");
}

} // namespace
} // namespace splitcast::reference
