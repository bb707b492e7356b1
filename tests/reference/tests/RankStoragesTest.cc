// Variables in the storages of simulated ranks, and a whole step on them.
#include "tests/reference/GlobalInterpreter.h"
#include "tests/reference/Layout.h"
#include "tests/reference/Simulator.h"
#include "tests/reference/tests/Fixture.h"

#include "absl/strings/str_cat.h"

namespace splitcast::reference {
namespace {

/// A bucket of 12 elements on 3 ranks: @w (2x3) from 0 on, @b (3) from 7 on; between and after them padding. @n lies
/// whole on each rank.
constexpr const char *kVariables = R"(
  #p = #sbp.placement<"cpu", [dp = 3]>
  #B = #sbp.nd<#p, [B]>
  sbp.variable @w : tensor<2x3xf32, #B> storage #sbp.nd<#p, [S(@g, 0 of 12)]> slot #sbp.slot<@g, 0 of 12>
  sbp.variable @b : tensor<3xf32, #B> storage #sbp.nd<#p, [S(@g, 7 of 12)]> slot #sbp.slot<@g, 7 of 12>
  sbp.variable @n : tensor<1xi64, #B>
)";

/// Rank r's chunk of 4 elements. Offsets are those of slotPiece: @w has 4, 2, 0 elements there, @b 0, 1, 2.
const char *kStorages[] = {"ccl.storage @g : tensor<4xf32> holds [@w, @b] at [0, 4]\n",
                           "ccl.storage @g : tensor<4xf32> holds [@w, @b] at [0, 3]\n",
                           "ccl.storage @g : tensor<4xf32> holds [@w, @b] at [0, 0]\n"};

class RankStoragesTest : public ReferenceTest {
protected:
  std::vector<std::string> withFunction(const std::function<std::string(int64_t)> &function) {
    std::vector<std::string> texts;
    for (int64_t rank : {0, 1, 2})
      texts.push_back(absl::StrCat(kVariables, kStorages[rank],
                                   "ccl.storage @n.rest : tensor<1xi64> holds [@n] at [0]\n", function(rank)));
    return texts;
  }

  Simulator create(const std::vector<std::string> &texts) {
    std::vector<mlir::ModuleOp> ranks;
    for (const std::string &text : texts) {
      modules.push_back(parse(text));
      ranks.push_back(*modules.back());
    }
    absl::StatusOr<Simulator> simulator = Simulator::create(ranks);
    EXPECT_TRUE(simulator.ok()) << simulator.status();
    return *std::move(simulator);
  }

  Variables variables() {
    return {{"w", f32({2, 3}, {1, 2, 3, 4, 5, 6})}, {"b", f32({3}, {7, 8, 9})}, {"n", tensor("tensor<1xi64>", {5})}};
  }

  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
};

std::string readStorage(int64_t) {
  return "func.func @f() -> tensor<4xf32> {\n%g = ccl.read @g : tensor<4xf32>\nreturn %g : tensor<4xf32>\n}\n";
}

TEST_F(RankStoragesTest, CutsVariablesToTheirPlacesAndBack) {
  Simulator simulator = create(withFunction(readStorage));
  ASSERT_TRUE(simulator.setVariables(variables()).ok());
  auto results = simulator.run("f", {{}, {}, {}});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0][0].floats, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ((*results)[1][0].floats, (std::vector<double>{5, 6, 0, 7}));
  EXPECT_EQ((*results)[2][0].floats, (std::vector<double>{8, 9, 0, 0}));
  absl::StatusOr<Variables> back = simulator.getVariables();
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->size(), 3u);
  EXPECT_EQ(back->at("w").floats, variables().at("w").floats);
  EXPECT_EQ(back->at("w").shape, (sbp::Shape{2, 3}));
  EXPECT_EQ(back->at("b").floats, variables().at("b").floats);
  EXPECT_EQ(back->at("n").integers, (std::vector<int64_t>{5}));
  EXPECT_TRUE(simulator.checkPadding().ok());
}

TEST_F(RankStoragesTest, RefusesVariablesThatNoRankStores) {
  Simulator simulator = create(withFunction(readStorage));
  EXPECT_EQ(simulator.setVariables({{"v", f32({1}, {1})}}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(simulator.setVariables({{"b", f32({4}, {1, 2, 3, 4})}}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(simulator.setVariables({{"b", f32({3}, {1, 2, 3})}}).ok());
}

TEST_F(RankStoragesTest, NamesTheElementInWhichCopiesDiffer) {
  Simulator simulator = create(withFunction([](int64_t) {
    return std::string("func.func @f(%x: tensor<1xi64>) {\nccl.assign @n.rest, %x : tensor<1xi64>\nreturn\n}\n");
  }));
  auto number = [&](double value) { return std::vector<Tensor>{tensor("tensor<1xi64>", {value})}; };
  ASSERT_TRUE(simulator.run("f", {number(4), number(4), number(4)}).ok());
  EXPECT_EQ(simulator.getVariables()->at("n").integers[0], 4);
  ASSERT_TRUE(simulator.run("f", {number(4), number(4), number(3)}).ok());
  absl::Status status = simulator.getVariables().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "@n: element 0 is 4 on rank 0 but 3 on rank 2; copies must have the same bits");
}

TEST_F(RankStoragesTest, AssignsPartsAndNoticesWrittenPadding) {
  Simulator simulator = create(withFunction([](int64_t rank) {
    return absl::StrCat(
        "func.func @f(%x: tensor<1xf32>) {\nccl.assign @g, %x {offset = 2 : i64} : tensor<1xf32>\nreturn\n}\n");
  }));
  std::vector<Tensor> zero = {f32({1}, {0})}, one = {f32({1}, {1})};
  ASSERT_TRUE(simulator.run("f", {one, zero, zero}).ok());
  EXPECT_TRUE(simulator.checkPadding().ok());
  EXPECT_EQ(simulator.getVariables()->at("w").floats, (std::vector<double>{0, 0, 1, 0, 0, 0}));
  ASSERT_TRUE(simulator.run("f", {one, one, zero}).ok());
  EXPECT_EQ(simulator.checkPadding().message(), "rank 1: element 2 of ccl.storage @g is padding, but is 1");
}

TEST_F(RankStoragesTest, RefusesStoragesThatDoNotFitTheirMembers) {
  auto statusOf = [&](const std::string &storage) {
    modules.push_back(parse(kVariables + storage));
    return Simulator::create({*modules.back()}).status();
  };
  EXPECT_TRUE(statusOf("ccl.storage @g : tensor<4xf32> holds [@w] at [0]").ok());
  EXPECT_THAT(std::string(statusOf("ccl.storage @g : tensor<4xf32> holds [@w] at [1]").message()),
              testing::HasSubstr("the 4 elements of @w from 1 on leave its 4 elements"));
  EXPECT_FALSE(statusOf("ccl.storage @g : tensor<4xf64> holds [@w] at [0]").ok());
  std::string elsewhere = R"(
    sbp.variable @v : tensor<2xf32, #sbp.nd<#sbp.placement<"cpu", [dp = 2], ranks = [1, 2]>, [S(0)]>>
    ccl.storage @s : tensor<1xf32> holds [@v] at [0])";
  EXPECT_THAT(std::string(statusOf(elsewhere).message()), testing::HasSubstr("the placement of @v has no rank 0"));
}

TEST_F(RankStoragesTest, NamesTheElementThatNoRankHolds) {
  Simulator simulator = create({std::string(kVariables) + kStorages[0], std::string(kVariables) + kStorages[1]});
  EXPECT_EQ(simulator.getVariables().status().message(), "@b: no rank holds element 1");
}

/// A step of stage 3 on the bucket: gather, loss and gradients from the rank's rows, reduce-scatter, update of the
/// chunk.
std::string localStep(int64_t rank) {
  int64_t rows = sbp::pieceOf(4, 3, rank).count;
  std::string x = absl::StrCat("tensor<", rows, "x2xf32>"), y = absl::StrCat("tensor<", rows, "x3xf32>");
  std::string group = absl::StrCat(" in <\"dp\", [0, 1, 2], index ", rank, "> blocks 4");
  return absl::StrCat(R"(
  func.func @step(%x: )",
                      x, R"() -> tensor<f32> {
    %at = ccl.read @g : tensor<4xf32>
    %gp = ccl.all_gather "parameters" %at)",
                      group, R"( : tensor<4xf32> -> !ccl.pending<tensor<12xf32>>
    %g = ccl.wait %gp : !ccl.pending<tensor<12xf32>> -> tensor<12xf32>
    %w = ccl.view %g at 0 : tensor<12xf32> -> tensor<2x3xf32>
    %b = ccl.view %g at 7 : tensor<12xf32> -> tensor<3xf32>
    %m = nn.matmul %x, %w : ()",
                      x, ", tensor<2x3xf32>) -> ", y, R"(
    %y, %l = nn.fusion(%m, %b) : ()",
                      y, ", tensor<3xf32>) -> (", y, R"(, tensor<f32>) {
    ^bb0(%fm: )",
                      y, R"(, %fb: tensor<3xf32>):
      %fy = nn.add %fm, %fb : ()",
                      y, ", tensor<3xf32>) -> ", y, R"(
      %fq = nn.mul %fy, %fy : ()",
                      y, ", ", y, ") -> ", y, R"(
      %fl = nn.reduce_sum %fq {dims = array<i64: 0, 1>} : ()",
                      y, R"() -> tensor<f32>
      nn.yield %fy, %fl : )",
                      y, R"(, tensor<f32>
    }
    %dw = nn.matmul %x, %y {transpose_a} : ()",
                      x, ", ", y, R"() -> tensor<2x3xf32>
    %db = nn.reduce_sum %y {dims = array<i64: 0>} : ()",
                      y, R"() -> tensor<3xf32>
    %d = ccl.pack %dw, %db at [0, 7] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<12xf32>
    %sp = ccl.reduce_scatter "gradients" %d)",
                      group, R"( : tensor<12xf32> -> !ccl.pending<tensor<4xf32>>
    %s = ccl.wait %sp : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>
    %u = nn.scale %s {value = 0.25 : f64} : (tensor<4xf32>) -> tensor<4xf32>
    %n = nn.sub %at, %u : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ccl.assign @g, %n : tensor<4xf32>
    %lp = ccl.all_reduce "loss" %l in <"dp", [0, 1, 2], index )",
                      rank, R"(> blocks 1 : tensor<f32> -> !ccl.pending<tensor<f32>>
    %r = ccl.wait %lp : !ccl.pending<tensor<f32>> -> tensor<f32>
    return %r : tensor<f32>
  })");
}

constexpr const char *kGlobalStep = R"(
  sbp.variable @w : tensor<2x3xf32>
  sbp.variable @b : tensor<3xf32>
  func.func @step(%x: tensor<4x2xf32>) -> tensor<f32> {
    %w = sbp.read @w : tensor<2x3xf32>
    %b = sbp.read @b : tensor<3xf32>
    %m = nn.matmul %x, %w : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    %y = nn.add %m, %b : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    %q = nn.mul %y, %y : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
    %l = nn.reduce_sum %q {dims = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<f32>
    %dw = nn.matmul %x, %y {transpose_a} : (tensor<4x2xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
    %db = nn.reduce_sum %y {dims = array<i64: 0>} : (tensor<4x3xf32>) -> tensor<3xf32>
    %uw = nn.scale %dw {value = 0.25 : f64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %ub = nn.scale %db {value = 0.25 : f64} : (tensor<3xf32>) -> tensor<3xf32>
    %nw = nn.sub %w, %uw : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %nb = nn.sub %b, %ub : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    sbp.assign @w, %nw : tensor<2x3xf32>
    sbp.assign @b, %nb : tensor<3xf32>
    return %l : tensor<f32>
  })";

// Numbers are small multiples of 1/16, so that no order of the sums rounds: both runs must agree in every bit.
TEST_F(RankStoragesTest, AStepOnThreeRanksIsTheStepOnOne) {
  auto module = parse(kGlobalStep);
  absl::StatusOr<GlobalInterpreter> interpreter = GlobalInterpreter::create(*module);
  ASSERT_TRUE(interpreter.ok()) << interpreter.status();
  Variables parameters = variables();
  parameters.erase("n");
  interpreter->variables() = parameters;
  Simulator simulator = create(withFunction(localStep));
  ASSERT_TRUE(simulator.setVariables(parameters).ok());
  Tensor x = f32({4, 2}, {1, 0, 0, 1, 1, 1, 1, -1});
  absl::StatusOr<std::vector<Tensor>> rows = cut(x, {sbp::Sbp::split(0)}, {"cpu", {{"dp", 3}}, {}});
  ASSERT_TRUE(rows.ok()) << rows.status();
  std::vector<std::vector<Tensor>> inputs;
  for (const Tensor &piece : *rows)
    inputs.push_back({piece});
  for (int step = 0; step < 2; ++step) {
    auto expected = interpreter->run("step", {x});
    ASSERT_TRUE(expected.ok()) << expected.status();
    auto found = simulator.run("step", inputs);
    ASSERT_TRUE(found.ok()) << found.status();
    for (const std::vector<Tensor> &results : *found)
      EXPECT_EQ(results[0].floats, (*expected)[0].floats);
    absl::StatusOr<Variables> after = simulator.getVariables();
    ASSERT_TRUE(after.ok()) << after.status();
    EXPECT_EQ(after->at("w").floats, interpreter->variables().at("w").floats);
    EXPECT_EQ(after->at("b").floats, interpreter->variables().at("b").floats);
  }
  EXPECT_TRUE(simulator.checkPadding().ok());
  EXPECT_EQ(simulator.counts()[0].at(ccl::CollectiveKind::AllGather).bytesSent, 2 * 2 * 16);
  EXPECT_EQ(simulator.counts()[2].at(ccl::CollectiveKind::ReduceScatter).bytesSent, 2 * 2 * 16);
  EXPECT_EQ(simulator.counts()[1].at(ccl::CollectiveKind::AllReduce).bytesSent, 2 * 2 * 4);
  EXPECT_EQ(simulator.counts()[1].at(ccl::CollectiveKind::AllReduce).calls, 2);
  simulator.resetCounts();
  EXPECT_TRUE(simulator.counts()[1].empty());
}

} // namespace
} // namespace splitcast::reference
