// The rows of the table, the two forms of blocks, and what is wrong with a call or a group.
#include "dialects/ccl/algebra/Collective.h"

#include "gtest/gtest.h"

namespace splitcast::ccl {
namespace {

using Numbers = std::vector<int64_t>;

constexpr CollectiveKind kGather = CollectiveKind::AllGather, kScatter = CollectiveKind::ReduceScatter,
                         kReduce = CollectiveKind::AllReduce, kExchange = CollectiveKind::AllToAll;

TEST(Collective, NamesAndKindsAreOneToOne) {
  for (int number = 0; number < kNumCollectiveKinds; ++number) {
    const auto kind = static_cast<CollectiveKind>(number);
    EXPECT_EQ(collectiveNamed(nameOf(kind)), kind);
    EXPECT_NE(std::string(allCollectiveNames()).find(nameOf(kind)), std::string::npos);
  }
  EXPECT_EQ(collectiveNamed("gossip"), std::nullopt);
}

TEST(Collective, EachRowAtRankOneOfThree) {
  struct Row {
    CollectiveCall call;
    int64_t operand, result, bytesSent;
    bool hasWorkspace;
  };
  const Row rows[] = {
      {{kGather, 3, 1, {5, 2, 0}, {}, 4}, 2, 7, 2 * 2 * 4, false},
      {{kScatter, 3, 1, {5, 2, 1}, {}, 4}, 8, 2, 6 * 4, true},
      {{kReduce, 3, 1, {7}, {}, 4}, 7, 7, 2 * 7 * 4, true},
      {{kExchange, 3, 1, {5, 2, 1}, {4, 2, 6}, 4}, 8, 12, 6 * 4, false},
  };
  for (const Row &row : rows) {
    const CollectiveCall &call = row.call;
    EXPECT_EQ(call.fault(), "") << nameOf(call.kind);
    EXPECT_EQ(call.elements(call.rule().operand), row.operand) << nameOf(call.kind);
    EXPECT_EQ(call.elements(call.rule().result), row.result) << nameOf(call.kind);
    EXPECT_EQ(call.traffic().bytes, row.bytesSent) << nameOf(call.kind);
    EXPECT_EQ(call.workspaceBytes() > 0, row.hasWorkspace) << nameOf(call.kind);
    EXPECT_EQ(call.rule().adds, row.hasWorkspace) << nameOf(call.kind);
  }
}

TEST(Collective, OneNumberIsEveryRanks) {
  for (CollectiveKind kind : {kGather, kScatter, kExchange}) {
    const bool receives = ruleOf(kind).result == Part::Received;
    const CollectiveCall list{kind, 3, 2, {4, 4, 4}, receives ? Blocks{2, 2, 2} : Blocks{}, 8};
    const CollectiveCall one{kind, 3, 2, {4}, receives ? Blocks{2} : Blocks{}, 8};
    EXPECT_EQ(one.fault(), "");
    EXPECT_EQ(one.blocksByRank(), list.blocks);
    EXPECT_EQ(one.receivedByRank(), list.receivedByRank());
    EXPECT_EQ(one.blockBytes(), list.blockBytes());
    EXPECT_EQ(one.bytesBefore(), list.bytesBefore());
    EXPECT_EQ(one.bytes(one.rule().operand), list.bytes(list.rule().operand));
    EXPECT_EQ(one.bytes(one.rule().result), list.bytes(list.rule().result));
    EXPECT_EQ(one.traffic().bytes, list.traffic().bytes);
    EXPECT_EQ(one.traffic().messages, list.traffic().messages);
    EXPECT_EQ(one.workspaceBytes(), list.workspaceBytes());
  }
  EXPECT_EQ(asBlocks({4, 4, 4}), Blocks{4});
  EXPECT_EQ(asBlocks({0}), Blocks{0});
  EXPECT_EQ(asBlocks({4, 4, 3}), (Blocks{4, 4, 3}));
}

TEST(Collective, FaultsOfCalls) {
  auto faultOf = [](CollectiveKind kind, Blocks blocks, Blocks received = {}) {
    return CollectiveCall{kind, 2, 0, std::move(blocks), std::move(received)}.fault();
  };
  EXPECT_EQ(faultOf(kGather, {0, 0}), "");
  EXPECT_NE(faultOf(kGather, {}).find("has 0 blocks among 2 ranks"), std::string::npos);
  EXPECT_NE(faultOf(kGather, {1, 1, 1}).find("has 3 blocks among 2 ranks"), std::string::npos);
  EXPECT_NE(faultOf(kScatter, {1, -1}).find("a block of -1 elements"), std::string::npos);
  EXPECT_NE(faultOf(kScatter, {1}, {1}).find("leave it out"), std::string::npos);
  EXPECT_NE(faultOf(kReduce, {1, 1}).find("give one number"), std::string::npos);
  EXPECT_NE(faultOf(kExchange, {1}).find("does not say what it receives"), std::string::npos);
  EXPECT_NE(faultOf(kExchange, {1}, {1, 1, 1}).find("receives 3 blocks"), std::string::npos);
}

TEST(Collective, FaultsOfGroups) {
  EXPECT_EQ(faultOfGroup({2, 0}, 1), "");
  EXPECT_NE(faultOfGroup({}, 0), "");
  EXPECT_NE(faultOfGroup({2, 0}, 2), "");
  EXPECT_NE(faultOfGroup({2, 0}, -1), "");
  EXPECT_NE(faultOfGroup({2, -1}, 0), "");
  EXPECT_NE(faultOfGroup({2, 0, 2}, 0), "");
}

} // namespace
} // namespace splitcast::ccl
