// The communicators of plans whose ranks are in different groups: every rank makes them in one order, however its plan
// lists or uses them.
#include "runtime/executor/Groups.h"
#include "runtime/api/ForwardingCommunicator.h"
#include "runtime/host/communicator/HostCommunicator.h"
#include "runtime/host/communicator/ThreadTransport.h"

#include "mlir/Parser/Parser.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <thread>

namespace splitcast::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Ranks = std::vector<int64_t>;

/// A group of a rank's plan, and the streams on which it is used.
struct Use {
  Ranks ranks;
  std::vector<std::string> streams = {"communication"};
};

/// A plan of `rank` that declares these groups in order, and uses them in the opposite one.
std::string planOf(int64_t rank, const std::vector<Use> &uses) {
  std::string groups, calls;
  for (size_t i = 0; i < uses.size(); ++i) {
    const Ranks &ranks = uses[i].ranks;
    absl::StrAppend(&groups, "exec.group @g", i, " ranks [", absl::StrJoin(ranks, ", "), "] index ",
                    std::find(ranks.begin(), ranks.end(), rank) - ranks.begin(), "\n");
    for (const std::string &stream : uses[i].streams)
      calls = absl::StrCat("exec.collective all_reduce \"x\" in @g", i, " ticket 0 {blocks = array<i64: 4>, data = ",
                           "#exec.range<arena, 0, 16>, type = f32, stream = \"", stream, "\"}\nexec.wait 0\n", calls);
  }
  return absl::StrCat("exec.space @arena 64 bytes\n", groups, "exec.plan @f attributes {",
                      "input_types = [], input_names = [], inputs = [], output_types = [], output_names = [], ",
                      "outputs = []} {\n", calls, "}\n");
}

/// What the communicator of all ranks is asked for.
class Recorder : public ForwardingCommunicator {
public:
  using ForwardingCommunicator::ForwardingCommunicator;
  absl::StatusOr<std::unique_ptr<Communicator>> split(absl::Span<const int64_t> ranks, const CallSite &site) override {
    splits.push_back(Ranks(ranks.begin(), ranks.end()));
    return inner.split(ranks, site);
  }

  std::vector<Ranks> splits;
};

struct RankResult {
  absl::Status status;
  std::vector<Ranks> splits;
  std::vector<std::string> members; ///< of each communicator in order, as they answer through it
};

RankResult makeGroups(const std::string &plan, std::unique_ptr<Transport> transport) {
  RankResult result;
  mlir::MLIRContext context;
  context.loadDialect<exec::ExecDialect>();
  auto plans = mlir::parseSourceString<mlir::ModuleOp>(plan, &context);
  if (!plans) {
    result.status = absl::InternalError(plan);
    return result;
  }
  Recorder root(createHostCommunicator(std::move(transport), {absl::Seconds(20)}));
  const std::string name = std::to_string(root.rank());
  absl::StatusOr<std::unique_ptr<Groups>> groups = Groups::create(*plans, root);
  result.status = groups.status();
  result.splits = root.splits;
  if (!groups.ok())
    return result;
  for (Communicator *communicator : (*groups)->all()) {
    absl::StatusOr<std::vector<std::string>> answers = communicator->exchange(name, {"members"});
    result.status.Update(answers.status());
    result.members.push_back(answers.ok() ? absl::StrJoin(*answers, " ") : "");
  }
  plans->walk([&](exec::CollectiveOp op) {
    Communicator *communicator = (*groups)->communicatorOf(op);
    exec::GroupOp group = (*groups)->groupOf(op);
    if (communicator->rank() != static_cast<int64_t>(group.getIndex()) ||
        communicator->size() != static_cast<int64_t>(group.getRanks().size()))
      result.status.Update(absl::InternalError(absl::StrCat("@", group.getSymName().str(), " is another group")));
  });
  return result;
}

/// One thread per rank.
std::vector<RankResult> onRanks(const std::vector<std::vector<Use>> &usesByRank) {
  std::vector<std::unique_ptr<Transport>> transports = createThreadTransports(usesByRank.size());
  std::vector<RankResult> results(usesByRank.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < usesByRank.size(); ++rank)
    threads.emplace_back(
        [&, rank] { results[rank] = makeGroups(planOf(rank, usesByRank[rank]), std::move(transports[rank])); });
  for (std::thread &thread : threads)
    thread.join();
  return results;
}

TEST(Groups, RoundsShareNoRank) {
  const std::set<GroupOnStream> mesh = {{"c", {0, 1}}, {"c", {0, 2}}, {"c", {1, 3}}, {"c", {2, 3}}};
  EXPECT_THAT(roundsOf(mesh), ElementsAre(ElementsAre(GroupOnStream{"c", {0, 1}}, GroupOnStream{"c", {2, 3}}),
                                          ElementsAre(GroupOnStream{"c", {0, 2}}, GroupOnStream{"c", {1, 3}})));
  EXPECT_TRUE(roundsOf({}).empty());
  // The same ranks on two streams, and in another order.
  EXPECT_EQ(roundsOf({{"a", {0, 1}}, {"b", {0, 1}}, {"b", {1, 0}}}).size(), 3u);
}

TEST(Groups, AMeshOfTwoByTwo) {
  // Each rank's plan declares and uses its two groups in another order.
  const std::vector<RankResult> results =
      onRanks({{{{0, 2}}, {{0, 1}}}, {{{0, 1}}, {{1, 3}}}, {{{2, 3}}, {{0, 2}}}, {{{1, 3}}, {{2, 3}}}});
  for (const RankResult &result : results)
    ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(results[0].splits, ElementsAre(Ranks{0, 1}, Ranks{0, 2}));
  EXPECT_THAT(results[1].splits, ElementsAre(Ranks{0, 1}, Ranks{1, 3}));
  EXPECT_THAT(results[2].splits, ElementsAre(Ranks{2, 3}, Ranks{0, 2}));
  EXPECT_THAT(results[3].splits, ElementsAre(Ranks{2, 3}, Ranks{1, 3}));
  EXPECT_THAT(results[2].members, ElementsAre("0 1 2 3", "2 3", "0 2"));
}

TEST(Groups, OnTwoStreamsAndOfAllRanks) {
  const std::vector<std::string> both = {"sums", "moves"};
  std::vector<std::vector<Use>> uses;
  for (int64_t rank : {0, 1, 2})
    uses.push_back(rank == 1 ? std::vector<Use>{{{0, 1, 2}, both}}
                             : std::vector<Use>{{{2, 0}, both}, {{0, 1, 2}, both}});
  const std::vector<RankResult> results = onRanks(uses);
  for (const RankResult &result : results)
    ASSERT_TRUE(result.status.ok()) << result.status;
  // The root serves all ranks on the first stream. Rank 1 takes part alone where the others have a group of their own.
  EXPECT_THAT(results[0].splits, ElementsAre(Ranks{2, 0}, Ranks{0, 1, 2}, Ranks{2, 0}));
  EXPECT_THAT(results[1].splits, ElementsAre(Ranks{1}, Ranks{0, 1, 2}, Ranks{1}));
  EXPECT_THAT(results[2].splits, ElementsAre(Ranks{2, 0}, Ranks{0, 1, 2}, Ranks{2, 0}));
  EXPECT_THAT(results[0].members, ElementsAre("0 1 2", "2 0", "0 1 2", "2 0"));
  EXPECT_THAT(results[1].members, ElementsAre("0 1 2", "0 1 2"));
}

TEST(Groups, OverlapWithNoMesh) {
  // Rank 1 is between two groups of three.
  const std::vector<RankResult> results = onRanks({{{{0, 1}}}, {{{1, 2}}, {{0, 1}}}, {{{1, 2}}}});
  for (const RankResult &result : results)
    ASSERT_TRUE(result.status.ok()) << result.status;
  EXPECT_THAT(results[0].splits, ElementsAre(Ranks{0, 1}, Ranks{0}));
  EXPECT_THAT(results[1].splits, ElementsAre(Ranks{0, 1}, Ranks{1, 2}));
  EXPECT_THAT(results[2].splits, ElementsAre(Ranks{2}, Ranks{1, 2}));
}

TEST(Groups, AMemberThatHasNoSuchGroupIsNamedOnAllRanks) {
  for (const RankResult &result : onRanks({{{{0, 2}}}, {}, {{{1, 2}}}})) {
    EXPECT_EQ(result.status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(
        std::string(result.status.message()),
        HasSubstr("the plan of rank 0 calls collectives in the group [0, 2] on stream 'communication', but the plan "
                  "of its member rank 2 does not; run the same program on all ranks"));
    EXPECT_TRUE(result.splits.empty());
  }
}

TEST(Groups, ThePlanOfAnotherRankIsRefused) {
  std::vector<std::unique_ptr<Transport>> transports = createThreadTransports(2);
  std::vector<RankResult> results(2);
  std::vector<std::thread> threads;
  for (int64_t rank : {0, 1})
    threads.emplace_back(
        [&, rank] { results[rank] = makeGroups(planOf(1 - rank, {{{0, 1}}}), std::move(transports[rank])); });
  for (std::thread &thread : threads)
    thread.join();
  for (int64_t rank : {0, 1}) {
    EXPECT_EQ(results[rank].status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(results[rank].status.message()),
                HasSubstr(absl::StrCat("the plan has rank ", 1 - rank, " at index ", 1 - rank,
                                       " of @g0, but this is rank ", rank)));
  }
}

} // namespace
} // namespace splitcast::runtime
