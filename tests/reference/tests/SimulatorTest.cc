// Hand-written local modules: each collective, order, deadlock, and calls that do not agree.
#include "tests/reference/Simulator.h"
#include "tests/reference/tests/Fixture.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace splitcast::reference {
namespace {

using Numbers = std::vector<int64_t>;

std::string listOf(const Numbers &numbers) { return absl::StrCat("[", absl::StrJoin(numbers, ", "), "]"); }

std::string flatType(int64_t elements, const std::string &element = "f32") {
  return absl::StrCat("tensor<", elements, "x", element, ">");
}

/// One collective and its wait: `%<name>p` and `%<name>`.
struct CollectiveText {
  std::string kind, what;
  Numbers ranks;
  int64_t index;
  Numbers blocks;
  std::string input, from, to;
  Numbers received = {};

  std::string start(const std::string &name) const {
    return absl::StrCat("%", name, "p = ccl.", kind, " \"", what, "\" ", input, " in <\"g\", ", listOf(ranks),
                        ", index ", index, "> blocks ", listOf(blocks),
                        kind == "all_to_all" ? " received " + listOf(received) : "", " : ", from, " -> !ccl.pending<",
                        to, ">\n");
  }
  std::string wait(const std::string &name) const {
    return absl::StrCat("%", name, " = ccl.wait %", name, "p : !ccl.pending<", to, "> -> ", to, "\n");
  }
};

/// @f does one collective on its input.
std::string functionWith(const CollectiveText &c) {
  return absl::StrCat("func.func @f(%x: ", c.from, ") -> ", c.to, " {\n", c.start("y"), c.wait("y"),
                      "return %y : ", c.to, "\n}\n");
}

class SimulatorTest : public ReferenceTest {
protected:
  absl::StatusOr<Simulator> create(const std::vector<std::string> &texts, Precision precision = Precision::F32) {
    std::vector<mlir::ModuleOp> ranks;
    for (const std::string &text : texts) {
      modules.push_back(parse(text));
      ranks.push_back(*modules.back());
    }
    return Simulator::create(ranks, precision);
  }

  /// Runs @f on one input per rank; its results, one per rank.
  absl::StatusOr<std::vector<Tensor>> run(const std::vector<std::string> &texts, std::vector<Tensor> inputs) {
    absl::StatusOr<Simulator> simulator = create(texts);
    if (!simulator.ok())
      return simulator.status();
    std::vector<std::vector<Tensor>> perRank;
    for (Tensor &input : inputs)
      perRank.push_back({input});
    auto results = simulator->run("f", perRank);
    counts = simulator->counts();
    if (!results.ok())
      return results.status();
    std::vector<Tensor> first;
    for (std::vector<Tensor> &result : *results)
      first.push_back(result.at(0));
    return first;
  }

  std::string messageOf(const std::vector<std::string> &texts, std::vector<Tensor> inputs) {
    absl::Status status = run(texts, std::move(inputs)).status();
    lastCode = status.code();
    return std::string(status.message());
  }

  void expectBytes(const std::string &kind, const Numbers &bytes) {
    ASSERT_EQ(counts.size(), bytes.size());
    for (size_t rank = 0; rank < bytes.size(); ++rank) {
      EXPECT_EQ(counts[rank][*ccl::collectiveNamed(kind)].bytesSent, bytes[rank]) << "rank " << rank;
      EXPECT_EQ(counts[rank][*ccl::collectiveNamed(kind)].calls, 1) << "rank " << rank;
      EXPECT_EQ(counts[rank].size(), 1u);
    }
  }

  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules;
  std::vector<RankCounts> counts;
  absl::StatusCode lastCode = absl::StatusCode::kOk;
};

TEST_F(SimulatorTest, GathersRaggedAndEmptyBlocks) {
  Numbers blocks = {2, 0, 3};
  std::vector<std::string> texts;
  for (int64_t rank : {0, 1, 2})
    texts.push_back(
        functionWith({"all_gather", "w", {0, 1, 2}, rank, blocks, "%x", flatType(blocks[rank]), flatType(5)}));
  auto results = run(texts, {f32({2}, {1, 2}), f32({0}, {}), f32({3}, {3, 4, 5})});
  ASSERT_TRUE(results.ok()) << results.status();
  for (const Tensor &result : *results)
    EXPECT_EQ(result.floats, (std::vector<double>{1, 2, 3, 4, 5}));
  expectBytes("all_gather", {16, 0, 24});
}

TEST_F(SimulatorTest, GathersIntegers) {
  std::vector<std::string> texts;
  for (int64_t rank : {0, 1})
    texts.push_back(
        functionWith({"all_gather", "ids", {0, 1}, rank, {1, 1}, "%x", flatType(1, "i64"), flatType(2, "i64")}));
  auto results = run(texts, {tensor("tensor<1xi64>", {7}), tensor("tensor<1xi64>", {-9})});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[1].integers, (Numbers{7, -9}));
  expectBytes("all_gather", {8, 8});
}

TEST_F(SimulatorTest, ReducesAndScattersInTheTree) {
  Numbers blocks = {1, 2, 0, 1};
  std::vector<std::string> texts;
  for (int64_t rank : {0, 1, 2, 3})
    texts.push_back(
        functionWith({"reduce_scatter", "g", {0, 1, 2, 3}, rank, blocks, "%x", flatType(4), flatType(blocks[rank])}));
  // In element 0 any other order than (a0 + a1) + (a2 + a3) gives 2^24 or 2^24 + 4.
  auto results = run(texts, {f32({4}, {0x1p24, 1, 10, 100}), f32({4}, {1, 2, 20, 200}), f32({4}, {1, 3, 30, 300}),
                             f32({4}, {1, 4, 40, 400})});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].floats, (std::vector<double>{0x1p24 + 2}));
  EXPECT_EQ((*results)[1].floats, (std::vector<double>{10, 100}));
  EXPECT_EQ((*results)[2].floats, (std::vector<double>{}));
  EXPECT_EQ((*results)[3].floats, (std::vector<double>{1000}));
  expectBytes("reduce_scatter", {12, 8, 16, 12});
}

TEST_F(SimulatorTest, AllReducesSmallAndLargeTensors) {
  const std::pair<int64_t, Numbers> cases[] = {
      {1024, {3 * 4096, 3 * 4096, 3 * 4096, 3 * 4096}},
      // Pieces of 257, 256, 256, 256: what is not one's own, then one's own to three others.
      {1025, {4 * (768 + 771), 4 * (769 + 768), 4 * (769 + 768), 4 * (769 + 768)}},
      {0, {0, 0, 0, 0}}};
  for (const auto &[elements, bytes] : cases) {
    std::vector<std::string> texts;
    std::vector<Tensor> inputs;
    for (int64_t rank : {0, 1, 2, 3}) {
      texts.push_back(functionWith(
          {"all_reduce", "g", {0, 1, 2, 3}, rank, {elements}, "%x", flatType(elements), flatType(elements)}));
      inputs.push_back(f32({elements}, std::vector<double>(elements, rank == 0 ? 0x1p24 : 1)));
    }
    auto results = run(texts, inputs);
    ASSERT_TRUE(results.ok()) << results.status();
    for (const Tensor &result : *results)
      EXPECT_EQ(result.floats, std::vector<double>(elements, 0x1p24 + 2));
    expectBytes("all_reduce", bytes);
  }
}

TEST_F(SimulatorTest, ExchangesRaggedBlocksWithAll) {
  // sends[r][s] elements from rank r to rank s
  const Numbers sends[] = {{1, 2, 0}, {0, 1, 1}, {2, 0, 0}};
  std::vector<std::string> texts;
  for (int64_t rank : {0, 1, 2}) {
    Numbers received = {sends[0][rank], sends[1][rank], sends[2][rank]};
    int64_t in = sends[rank][0] + sends[rank][1] + sends[rank][2], out = received[0] + received[1] + received[2];
    texts.push_back(
        functionWith({"all_to_all", "x", {0, 1, 2}, rank, sends[rank], "%x", flatType(in), flatType(out), received}));
  }
  auto results = run(texts, {f32({3}, {1, 2, 3}), f32({2}, {4, 5}), f32({2}, {6, 7})});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].floats, (std::vector<double>{1, 6, 7}));
  EXPECT_EQ((*results)[1].floats, (std::vector<double>{2, 3, 4}));
  EXPECT_EQ((*results)[2].floats, (std::vector<double>{5}));
  expectBytes("all_to_all", {8, 4, 8});
}

// Groups of some ranks, in an order of their own, which is also the order of the sum.
TEST_F(SimulatorTest, KeepsGroupsApart) {
  std::vector<std::string> texts(4);
  for (const Numbers &group : {Numbers{2, 0, 3}, Numbers{1}})
    for (size_t index = 0; index < group.size(); ++index)
      texts[group[index]] = functionWith({"all_reduce",
                                          "g",
                                          group,
                                          int64_t(index),
                                          {int64_t(group.size())},
                                          "%x",
                                          flatType(group.size()),
                                          flatType(group.size())});
  auto of = [&](double value) { return f32({3}, {value, value, value}); };
  auto results = run(texts, {of(1), f32({1}, {5}), of(0x1p24), of(1)});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].floats[0], 0x1p24); // (2^24 + 1) + 1
  EXPECT_EQ((*results)[1].floats[0], 5);
  EXPECT_EQ(counts[1][ccl::CollectiveKind::AllReduce].bytesSent, 0);
}

// Two collectives under way at once, waited for in the other order.
TEST_F(SimulatorTest, WaitsInAnyOrder) {
  std::vector<std::string> texts;
  for (int64_t rank : {0, 1}) {
    CollectiveText a{"all_gather", "a", {0, 1}, rank, {1, 1}, "%x", flatType(1), flatType(2)};
    CollectiveText b{"all_gather", "b", {0, 1}, rank, {2, 2}, "%xx", flatType(2), flatType(4)};
    texts.push_back(
        absl::StrCat("func.func @f(%x: tensor<1xf32>) -> tensor<2xf32> {\n",
                     "%xx = ccl.pack %x at [1] : (tensor<1xf32>) -> tensor<2xf32>\n", a.start("a"), b.start("b"),
                     b.wait("b"), a.wait("a"), "%v = ccl.view %b at ", rank + 1,
                     " : tensor<4xf32> -> tensor<2xf32>\n%r = nn.add %v, %a : (tensor<2xf32>, tensor<2xf32>) -> "
                     "tensor<2xf32>\nreturn %r : tensor<2xf32>\n}\n"));
  }
  auto results = run(texts, {f32({1}, {3}), f32({1}, {4})});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ((*results)[0].floats, (std::vector<double>{6, 4})); // a = (3, 4), b = (0, 3, 0, 4)
  EXPECT_EQ((*results)[1].floats, (std::vector<double>{3, 8}));
  EXPECT_EQ(counts[0][ccl::CollectiveKind::AllGather].calls, 2);
}

TEST_F(SimulatorTest, NamesWhereEachRankStandsInADeadlock) {
  auto text = [](int64_t rank, const Numbers &first, const Numbers &second) {
    auto indexIn = [&](const Numbers &group) { return int64_t(llvm::find(group, rank) - group.begin()); };
    CollectiveText a{"all_gather", "a", first, indexIn(first), {1, 1}, "%x", flatType(1), flatType(2)};
    CollectiveText b{"all_gather", "b", second, indexIn(second), {1, 1}, "%x", flatType(1), flatType(2)};
    return absl::StrCat("func.func @f(%x: tensor<1xf32>) -> tensor<2xf32> {\n", a.start("a"), a.wait("a"), b.start("b"),
                        b.wait("b"), "return %b : tensor<2xf32>\n}\n");
  };
  Tensor x = f32({1}, {1});
  std::string message =
      messageOf({text(0, {0, 1}, {0, 2}), text(1, {1, 2}, {0, 1}), text(2, {0, 2}, {1, 2})}, {x, x, x});
  EXPECT_EQ(lastCode, absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(message, testing::StartsWith("deadlock: rank 0 waits at loc("));
  EXPECT_THAT(message,
              testing::HasSubstr("for all_gather \"a\" over ranks [0, 1], not started by rank 1; rank 1 waits"));
  EXPECT_THAT(message, testing::HasSubstr("for all_gather \"a\" over ranks [0, 2], not started by rank 0"));
}

TEST_F(SimulatorTest, NamesTheRankThatReturnedEarly) {
  std::string gather = functionWith({"all_gather", "w", {0, 1}, 0, {1, 1}, "%x", flatType(1), flatType(2)});
  std::string idle = "func.func @f(%x: tensor<1xf32>) -> tensor<1xf32> { return %x : tensor<1xf32> }";
  Tensor x = f32({1}, {1});
  EXPECT_THAT(messageOf({gather, idle}, {x, x}), testing::HasSubstr("not started by rank 1; rank 1 has returned"));
  // Started, but never waited for.
  CollectiveText c{"all_gather", "w", {0, 1}, 0, {1, 1}, "%x", flatType(1), flatType(2)};
  std::string unwaited = absl::StrCat("func.func @f(%x: tensor<1xf32>) -> tensor<1xf32> {\n", c.start("y"),
                                      "return %x : tensor<1xf32>\n}\n");
  EXPECT_EQ(messageOf({unwaited, idle}, {x, x}),
            "all ranks have returned, but all_gather \"w\" over ranks [0, 1], not started by rank 1");
  EXPECT_EQ(lastCode, absl::StatusCode::kFailedPrecondition);
}

TEST_F(SimulatorTest, NamesBothRanksOfCallsThatDoNotAgree) {
  CollectiveText first{"all_gather", "w", {0, 1}, 0, {1, 1}, "%x", flatType(1), flatType(2)};
  struct Other {
    CollectiveText call;
    std::string found;
  };
  const Other others[] = {
      {{"reduce_scatter", "w", {0, 1}, 1, {1, 1}, "%x", flatType(2), flatType(1)}, "with operation reduce_scatter"},
      {{"all_gather", "v", {0, 1}, 1, {1, 1}, "%x", flatType(1), flatType(2)}, "with name \"v\""},
      {{"all_gather", "w", {0, 1}, 1, {1, 2}, "%x", flatType(2), flatType(3)}, "with blocks [1, 2]"},
      {{"all_gather", "w", {0, 1}, 1, {1, 1}, "%x", flatType(1, "f64"), flatType(2, "f64")}, "with f64"}};
  for (const auto &[call, found] : others) {
    std::string message =
        messageOf({functionWith(first), functionWith(call)}, {f32({1}, {1}), Tensor::zeros(type(call.from))});
    EXPECT_EQ(lastCode, absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(message, testing::HasSubstr("rank 0 starts all_gather \"w\" over ranks [0, 1]"));
    EXPECT_THAT(message, testing::HasSubstr("but rank 1 starts "));
    EXPECT_THAT(message, testing::HasSubstr(found));
  }
}

TEST_F(SimulatorTest, ComparesBothSidesOfAnAllToAll) {
  CollectiveText first{"all_to_all", "x", {0, 1}, 0, {1, 1}, "%x", flatType(2), flatType(2), {1, 1}};
  CollectiveText second{"all_to_all", "x", {0, 1}, 1, {2, 1}, "%x", flatType(3), flatType(2), {1, 1}};
  EXPECT_THAT(messageOf({functionWith(first), functionWith(second)}, {f32({2}, {1, 2}), f32({3}, {1, 2, 3})}),
              testing::HasSubstr("with blocks [1, 1] received [1, 1], but rank 1 starts"));
}

TEST_F(SimulatorTest, RefusesCallsThatNoRankCanMake) {
  Tensor x = f32({1}, {1});
  auto alone = [&](const CollectiveText &c) { return messageOf({functionWith(c)}, {Tensor::zeros(type(c.from))}); };
  EXPECT_THAT(alone({"all_gather", "w", {1, 0}, 0, {1, 1}, "%x", flatType(1), flatType(2)}),
              testing::HasSubstr("distinct ones of 0 to 0"));
  EXPECT_THAT(alone({"all_gather", "w", {0}, 0, {1}, "%x", flatType(1, "bf16"), flatType(1, "bf16")}),
              testing::IsEmpty());
  std::string self = functionWith({"all_gather", "w", {0, 1}, 0, {1, 1}, "%x", flatType(1), flatType(2)});
  EXPECT_THAT(messageOf({self, self}, {x, x}), testing::HasSubstr("its index 0 there is rank 0"));
}

// Whoever gives a rank its input has the whole; what it would have to give as an addend, nobody says.
TEST_F(SimulatorTest, TakesNoInputAsAddends) {
  std::string text = "func.func @f(%x: tensor<2xf32> {ccl.global = tensor<2xf32, #sbp.nd<#sbp.placement<\"cpu\", [dp = "
                     "1]>, [SIGNATURE]>>}) -> tensor<2xf32> {\nreturn %x : tensor<2xf32>\n}";
  Tensor x = f32({2}, {1, 2});
  EXPECT_EQ(messageOf({absl::StrReplaceAll(text, {{"SIGNATURE", "P"}})}, {x}),
            "rank 0: @f takes argument 0 as P, but an input is given whole; take it as B or S");
  EXPECT_TRUE(run({absl::StrReplaceAll(text, {{"SIGNATURE", "B"}})}, {x}).ok());
}

// An offset that overflows when the count is added to it: refused by the verifier of ccl.view, or else by the
// simulator.
TEST_F(SimulatorTest, RefusesHugeOffsets) {
  constexpr const char *kHuge = "9223372036854775807";
  Tensor x = f32({2}, {1, 2});
  std::string view = absl::StrCat("func.func @f(%x: tensor<2xf32>) -> tensor<1xf32> {\n%v = ccl.view %x at ", kHuge,
                                  " : tensor<2xf32> -> tensor<1xf32>\nreturn %v : tensor<1xf32>\n}");
  if (mlir::parseSourceString<mlir::ModuleOp>(view, &context))
    EXPECT_THAT(messageOf({view}, {x}), testing::HasSubstr("moves 1 elements from 9223372036854775807 of 2"));
}

TEST_F(SimulatorTest, NamesTheRankOfAnError) {
  std::string good = "func.func @f(%x: tensor<1xf32>) -> tensor<1xf32> { return %x : tensor<1xf32> }";
  std::string other = "func.func @g(%x: tensor<1xf32>) -> tensor<1xf32> { return %x : tensor<1xf32> }";
  Tensor x = f32({1}, {1});
  EXPECT_EQ(messageOf({good, other}, {x, x}), "rank 1: the module has no func.func @f");
  EXPECT_THAT(messageOf({good, good}, {x, f32({2}, {1, 2})}),
              testing::StartsWith("rank 1: input 0 of @f is tensor<2xf32>"));
  EXPECT_FALSE(run({good, good}, {x}).ok());
  EXPECT_FALSE(Simulator::create({}).ok());
  std::string global = "sbp.variable @w : tensor<1xf32>\nfunc.func @f(%x: tensor<1xf32>) -> tensor<1xf32> {\n"
                       "%y = sbp.read @w : tensor<1xf32>\nreturn %y : tensor<1xf32>\n}";
  EXPECT_THAT(messageOf({good, global}, {x, x}), testing::StartsWith("rank 1: 'sbp.read' at loc("));
}

} // namespace
} // namespace splitcast::reference
