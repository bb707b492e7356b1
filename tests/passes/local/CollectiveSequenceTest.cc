// Programs of ranks that do not call the same collectives in the same order.
#include "passes/local/Passes.h"

#include "mlir/Parser/Parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace splitcast {
namespace {

class CollectiveSequenceTest : public testing::Test {
protected:
  CollectiveSequenceTest() {
    context.loadDialect<sbp::SbpDialect, nn::NnDialect, ccl::CclDialect, func::FuncDialect>();
  }

  /// A rank's program: @train with these lines in it.
  void addRank(const std::string &lines) {
    addModule("func.func @train(%x: tensor<4xf32>) {\n" + lines + "return\n}\n");
  }

  void addModule(const std::string &text) {
    programs.push_back(parseSourceString<ModuleOp>(text, &context));
    ASSERT_TRUE(programs.back()) << text;
  }

  /// The errors; none when the programs agree.
  std::vector<std::string> verify() {
    std::vector<std::string> errors;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) { errors.push_back(diag.str()); });
    SmallVector<ModuleOp> modules;
    for (OwningOpRef<ModuleOp> &program : programs)
      modules.push_back(*program);
    EXPECT_EQ(succeeded(verifyCollectiveSequence(modules)), errors.empty());
    return errors;
  }

  static std::string in(const std::string &ranks, int index) {
    return " in <\"g\", [" + ranks + "], index " + std::to_string(index) + ">";
  }

  /// Lines that sum %x over [0, 1].
  static std::string allReduce(const std::string &name, const std::string &what, int index,
                               const std::string &ranks = "0, 1") {
    return "%" + name + " = ccl.all_reduce \"" + what + "\" %x" + in(ranks, index) +
           " blocks 4 : tensor<4xf32> -> !ccl.pending<tensor<4xf32>>\n" + "%" + name + "_sum = ccl.wait %" + name +
           " : !ccl.pending<tensor<4xf32>> -> tensor<4xf32>\n";
  }

  /// Lines that keep so many elements of that sum.
  static std::string reduceScatter(int index, const std::string &blocks, int elements) {
    std::string type = "tensor<" + std::to_string(elements) + "xf32>";
    return "%a = ccl.reduce_scatter \"w\" %x" + in("0, 1", index) + " blocks " + blocks +
           " : tensor<4xf32> -> !ccl.pending<" + type + ">\n%b = ccl.wait %a : !ccl.pending<" + type + "> -> " + type +
           "\n";
  }

  static std::string allToAll(int index, const std::string &sent, const std::string &received, int elements) {
    std::string type = "tensor<" + std::to_string(elements) + "xf32>";
    return "%a = ccl.all_to_all \"x\" %x" + in("0, 1", index) + " blocks [" + sent + "] received [" + received +
           "] : tensor<4xf32> -> !ccl.pending<" + type + ">\n" + "%b = ccl.wait %a : !ccl.pending<" + type + "> -> " +
           type + "\n";
  }

  MLIRContext context;
  std::vector<OwningOpRef<ModuleOp>> programs;
};

TEST_F(CollectiveSequenceTest, EqualSequencesAgree) {
  for (int rank : {0, 1})
    addRank(allReduce("a", "w", rank) + allReduce("b", "loss", rank));
  EXPECT_THAT(verify(), IsEmpty());
}

TEST_F(CollectiveSequenceTest, GroupsAreOrderedEachByItself) {
  // Ranks 0 and 1, and 2 and 3, each among themselves; 0 and 2 besides, between their calls or behind them.
  addRank(allReduce("a", "w", 0) + allReduce("b", "v", 0, "0, 2"));
  addRank(allReduce("a", "w", 1));
  addRank(allReduce("b", "v", 1, "0, 2") + allReduce("a", "w", 0, "2, 3"));
  addRank(allReduce("a", "w", 1, "2, 3"));
  EXPECT_THAT(verify(), IsEmpty());
}

TEST_F(CollectiveSequenceTest, OtherOrderIsNamedWithBothRanks) {
  addRank(allReduce("a", "w", 0) + allReduce("b", "loss", 0));
  addRank(allReduce("b", "loss", 1) + allReduce("a", "w", 1));
  EXPECT_THAT(verify(), ElementsAre(AllOf(HasSubstr("rank 1 calls, as collective 0 of @train in its group"),
                                          HasSubstr("ccl.all_reduce \"loss\""), HasSubstr("where rank 0 calls"),
                                          HasSubstr("ccl.all_reduce \"w\""))));
}

TEST_F(CollectiveSequenceTest, OtherBlocksAreNamed) {
  addRank(reduceScatter(0, "[2, 2]", 2));
  addRank(reduceScatter(1, "[3, 1]", 1));
  EXPECT_THAT(verify(), ElementsAre(AllOf(HasSubstr("blocks [3, 1]"), HasSubstr("blocks [2, 2]"))));
}

TEST_F(CollectiveSequenceTest, BlocksAreComparedRankByRank) {
  addRank(reduceScatter(0, "[2, 2]", 2));
  addRank(reduceScatter(1, "2", 2));
  EXPECT_THAT(verify(), IsEmpty());
}

TEST_F(CollectiveSequenceTest, MissingCallIsNamed) {
  addRank(allReduce("a", "w", 0) + allReduce("b", "loss", 0));
  addRank(allReduce("a", "w", 1));
  EXPECT_THAT(verify(), ElementsAre(AllOf(HasSubstr("rank 1 calls, as collective 1 of @train in its group:\n  nothing"),
                                          HasSubstr("ccl.all_reduce \"loss\""))));
}

TEST_F(CollectiveSequenceTest, AdditionalCallIsNamed) {
  addRank(allReduce("a", "w", 0));
  addRank(allReduce("a", "w", 1) + allReduce("b", "loss", 1));
  EXPECT_THAT(verify(), ElementsAre(AllOf(HasSubstr("rank 1 calls, as collective 1"), HasSubstr("\"loss\""),
                                          HasSubstr("where rank 0 calls:\n  nothing"))));
}

TEST_F(CollectiveSequenceTest, CallOfAGroupThatTheRankIsNotIn) {
  addRank(allReduce("a", "w", 0));
  addRank(allReduce("a", "w", 0, "0, 2"));
  EXPECT_THAT(verify(), ElementsAre(HasSubstr("rank 1 calls a collective of a group that it is not in")));
}

TEST_F(CollectiveSequenceTest, MissingFunctionIsNamed) {
  addRank("");
  addModule("func.func @predict(%x: tensor<4xf32>) {\nreturn\n}\n");
  EXPECT_THAT(verify(), ElementsAre(HasSubstr("rank 1 has no function @train, which rank 0 has")));
}

TEST_F(CollectiveSequenceTest, EveryFunctionIsCompared) {
  for (int rank : {0, 1}) {
    std::string lines = rank == 0 ? allReduce("a", "w", 0) : allReduce("a", "v", 1);
    addModule("func.func @train(%x: tensor<4xf32>) {\nreturn\n}\nfunc.func @predict(%x: tensor<4xf32>) {\n" + lines +
              "return\n}\n");
  }
  EXPECT_THAT(verify(), ElementsAre(HasSubstr("of @predict in its group")));
}

TEST_F(CollectiveSequenceTest, BlocksOfAnAllToAllMayDiffer) {
  addRank(allToAll(0, "1, 3", "1, 2", 3));
  addRank(allToAll(1, "2, 2", "3, 2", 5));
  EXPECT_THAT(verify(), IsEmpty());
}

// What follows hangs or moves wrong bytes when it runs, and is found only when all ranks' programs are seen together.

TEST_F(CollectiveSequenceTest, RankThatCallsNothingOfItsGroup) {
  addRank(allReduce("a", "w", 0));
  addRank("");
  EXPECT_THAT(verify(), ElementsAre(AllOf(HasSubstr("rank 1 calls, as collective 0 of @train in its group:\n  nothing"),
                                          HasSubstr("where rank 0 calls"))));
}

TEST_F(CollectiveSequenceTest, BlocksOfAnAllToAllFitEachOther) {
  addRank(allToAll(0, "1, 3", "1, 2", 3));
  addRank(allToAll(1, "2, 2", "2, 2", 4)); // rank 0 sends 3
  EXPECT_THAT(verify(), ElementsAre(AllOf(HasSubstr("rank 1"), HasSubstr("rank 0"))));
}

TEST_F(CollectiveSequenceTest, RanksAreThoseOfThePlacement) {
  for (int index : {0, 1})
    addModule("module attributes {ccl.rank = " + std::to_string(10 + index) +
              " : i64, ccl.ranks = 2 : i64} {\nfunc.func @train(%x: tensor<4xf32>) {\n" +
              allReduce("a", "w", index, "10, 11") + "return\n}\n}\n");
  EXPECT_THAT(verify(), IsEmpty());
}

} // namespace
} // namespace splitcast
