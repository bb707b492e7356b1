// What an op gives does not depend on what it is fused with: kernels over square and cubic tensors, where an element of
// another row has the same extents, and over so many rows that these are added in blocks, against the same ops on their
// own, and against the interpreter.
#include "tests/differential/Oracle.h"
#include "tests/differential/PassList.h"
#include "tests/reference/tests/Fixture.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"

#include <random>

namespace splitcast::runtime {
namespace {

using reference::Tensor;

/// Functions of %x, N x N; %z, N x N x N; %t, many rows of N; and %l, few long rows.
constexpr const char *kBodies[] = {
    R"(%e = nn.relu %x : (MAT) -> MAT
%c = nn.reduce_sum %e {dims = array<i64: 0>} : (MAT) -> ROW
%r = nn.reduce_sum %e {dims = array<i64: 1>} : (MAT) -> ROW
return %e, %c, %r : MAT, ROW, ROW)",
    R"(%e = nn.relu %x : (MAT) -> MAT
%r = nn.reduce_sum %e {dims = array<i64: 1>} : (MAT) -> ROW
%m = nn.mul %e, %r : (MAT, ROW) -> MAT
return %e, %r, %m : MAT, ROW, MAT)",
    R"(%e = nn.tanh %x : (MAT) -> MAT
%v = nn.transpose %e {permutation = array<i64: 1, 0>} : (MAT) -> MAT
%s = nn.softmax %v : (MAT) -> MAT
%u = nn.softmax %e : (MAT) -> MAT
return %e, %s, %u : MAT, MAT, MAT)",
    R"(%r = nn.reduce_sum %x {dims = array<i64: 1>} : (MAT) -> ROW
%m = nn.mul %x, %r : (MAT, ROW) -> MAT
%s = nn.reduce_sum %m {dims = array<i64: 1>} : (MAT) -> ROW
return %r, %m, %s : ROW, MAT, ROW)",
    R"(%e = nn.relu %z : (CUBE) -> CUBE
%a = nn.reduce_sum %e {dims = array<i64: 0>} : (CUBE) -> MAT
%b = nn.reduce_sum %e {dims = array<i64: 1>} : (CUBE) -> MAT
%c = nn.reduce_sum %e {dims = array<i64: 2>} : (CUBE) -> MAT
return %e, %a, %b, %c : CUBE, MAT, MAT, MAT)",
    R"(%e = nn.relu %t : (TALL) -> TALL
%c = nn.reduce_sum %e {dims = array<i64: 0, 1>} : (TALL) -> ROW
%i = nn.reduce_sum %e {dims = array<i64: 1>} : (TALL) -> TOPS
%r = nn.reduce_sum %e {dims = array<i64: 2>} : (TALL) -> TALE
return %e, %c, %i, %r : TALL, ROW, TOPS, TALE)",
    R"(%e = nn.relu %l : (LONG) -> LONG
%s = nn.softmax %e : (LONG) -> LONG
%r = nn.reduce_sum %e {dims = array<i64: 1>} : (LONG) -> ENDS
return %e, %s, %r : LONG, LONG, ENDS)",
};

/// The function; with a reshape behind every op, so that none is fused, when `isApart`.
std::string functionOf(const std::string &name, std::string body, bool isApart) {
  std::string results;
  std::vector<std::string> lines = absl::StrSplit(body, '\n'), types;
  std::string text, last = lines.back();
  lines.pop_back();
  for (const std::string &line : lines) {
    const std::string value = line.substr(0, 2), type = line.substr(line.rfind(' ') + 1);
    absl::StrAppend(&text, isApart ? absl::StrReplaceAll(line, {{value + " =", value + "0 ="}}) : line, "\n");
    if (isApart)
      absl::StrAppend(&text, value, "1 = nn.reshape ", value, "0 : (", type, ") -> FLAT_", type, "\n", value,
                      " = nn.reshape ", value, "1 : (FLAT_", type, ") -> ", type, "\n");
  }
  return absl::StrCat("func.func @", name, "(%x: MAT, %z: CUBE, %t: TALL, %l: LONG) -> (",
                      last.substr(last.find(':') + 2), ") {\n", text, last, "\n}\n");
}

constexpr int64_t kTall = 307, kLong = 16 * 300 + 5;

std::string withTypes(const std::string &text, int64_t n, const std::string &element) {
  auto tensor = [&](std::initializer_list<int64_t> extents) {
    std::string result = "tensor<";
    for (int64_t extent : extents)
      absl::StrAppend(&result, extent, "x");
    return result + element + ">";
  };
  return absl::StrReplaceAll(text, {{"FLAT_MAT", tensor({n * n, 1})},
                                    {"FLAT_ROW", tensor({1, n})},
                                    {"FLAT_CUBE", tensor({n * n, n, 1})},
                                    {"FLAT_TALL", tensor({2 * kTall, n})},
                                    {"FLAT_TOPS", tensor({2 * n})},
                                    {"FLAT_TALE", tensor({2 * kTall})},
                                    {"FLAT_LONG", tensor({2 * kLong})},
                                    {"FLAT_ENDS", tensor({2, 1})},
                                    {"TALL", tensor({2, kTall, n})},
                                    {"TOPS", tensor({2, n})},
                                    {"TALE", tensor({2, kTall})},
                                    {"LONG", tensor({2, kLong})},
                                    {"ENDS", tensor({2})},
                                    {"MAT", tensor({n, n})},
                                    {"ROW", tensor({n})},
                                    {"CUBE", tensor({n, n, n})}});
}

Tensor randomTensor(const sbp::Shape &shape, mlir::Type element) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Tensor tensor = Tensor::zeros(shape, element);
  for (double &value : tensor.floats)
    value = std::round(uniform(random) * 128) / 128 + std::ldexp(1, -7); // also a bf16
  return tensor;
}

class SquareFusionsTest : public testing::TestWithParam<std::tuple<const char *, const char *, int>> {};

TEST_P(SquareFusionsTest, AnOpGivesTheSameWhateverItIsFusedWith) {
  auto [device, element, n] = GetParam();
  std::unique_ptr<mlir::MLIRContext> context = differential::createContext();
  std::string text = absl::StrCat("module attributes {sbp.placement = #sbp.placement<\"", device, "\", [dp = 1]>} {\n");
  const mlir::Type type = mlir::parseType(element, context.get());
  const std::vector<Tensor> operands = {randomTensor({n, n}, type), randomTensor({n, n, n}, type),
                                        randomTensor({2, kTall, n}, type), randomTensor({2, kLong}, type)};
  differential::Experiment experiment;
  for (bool isApart : {false, true})
    for (size_t i = 0; i < std::size(kBodies); ++i) {
      const std::string name = absl::StrCat(isApart ? "apart" : "fused", i);
      text += withTypes(functionOf(name, kBodies[i], isApart), n, element);
      experiment.calls.push_back({name, operands});
    }
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text + "}\n", context.get());
  ASSERT_TRUE(module) << text;
  for (const std::string &pass : differential::globalPasses({}))
    ASSERT_TRUE(differential::runPass(*module, pass).ok());
  auto interpreted = differential::runGlobal(*module, experiment);
  ASSERT_TRUE(interpreted.ok()) << interpreted.status();
  auto local = differential::localizeAll(*module);
  ASSERT_TRUE(local.ok()) << local.status();
  std::vector<std::string> passes = differential::localPasses({}), plan = differential::planPasses();
  passes.insert(passes.end(), plan.begin(), plan.end());
  for (const std::string &pass : passes)
    ASSERT_TRUE(differential::runPass(*local->front(), pass).ok()) << pass;
  auto outcome = differential::runPlans({local->front().get()}, experiment, /*objectCacheDir=*/"");
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const double tolerance = type.isF32() ? 1e-5 : 1e-2;
  for (size_t i = 0; i < std::size(kBodies); ++i) {
    const auto &fused = outcome->results[i], &apart = outcome->results[i + std::size(kBodies)];
    for (size_t result = 0; result < fused.size(); ++result)
      for (size_t at = 0; at < fused[result].floats.size(); ++at) {
        ASSERT_EQ(fused[result].floats[at], apart[result].floats[at])
            << "body " << i << ", result " << result << ", element " << at;
        const double expected = interpreted->results[i][result].floats[at];
        ASSERT_NEAR(fused[result].floats[at], expected, tolerance * (1 + std::abs(expected)))
            << "body " << i << ", result " << result << ", element " << at;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SquareFusionsTest,
                         testing::Combine(testing::Values("cpu", "cuda"), testing::Values("f32", "bf16", "f16"),
                                          testing::Values(8, 19)));

} // namespace
} // namespace splitcast::runtime
