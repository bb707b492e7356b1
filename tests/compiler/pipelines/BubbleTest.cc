//===- BubbleTest.cc - How long ranks of a pipeline wait ----------------------===//
//
// Ranks run their plans on devices that take a fixed time for each product and none for anything else, and messages
// that take none. What a rank runs is told by the executor while it does; from that the time of each is worked out: a
// wait ends when all who send something to this rank have come to the same collective.
//
//===----------------------------------------------------------------------===//
#include "compiler/graph/Graph.h"
#include "compiler/launch/Session.h"
#include "dialects/exec/Exec.h"
#include "runtime/executor/Executor.h"
#include "tests/differential/Sessions.h"

#include "absl/strings/str_cat.h"

#include <gtest/gtest.h>
#include <limits>
#include <map>

namespace splitcast {
namespace {

//===----------------------------------------------------------------------===//
// What a rank ran
//===----------------------------------------------------------------------===//

/// A collective of a job: the ranks that take part, and of how many of theirs it is.
using Meeting = std::pair<std::vector<int64_t>, int64_t>;

struct Event {
  enum class Kind { Product, Start, Wait } kind;
  Meeting meeting;
  std::vector<int64_t> senders; ///< of a Wait: the ranks that have something for this one
};

class Recorder : public runtime::ExecutorObserver {
public:
  void after(mlir::Operation *op, int64_t, runtime::Stream &) override {
    if (auto call = mlir::dyn_cast<exec::LibraryOp>(op); call && mlir::isa<exec::MatmulAttr>(call.getCall()))
      events.push_back({Event::Kind::Product, {}, {}});
    if (auto start = mlir::dyn_cast<exec::CollectiveOp>(op))
      begin(start);
    if (auto wait = mlir::dyn_cast<exec::WaitOp>(op); wait && begun.count(wait.getTicket()) > 0)
      events.push_back(begun.at(wait.getTicket()));
  }

  std::vector<Event> events;

private:
  void begin(exec::CollectiveOp op) {
    mlir::SymbolTableCollection symbols;
    const llvm::ArrayRef<int64_t> ranks = exec::groupOf(op, symbols).getRanks();
    const Meeting meeting{ranks.vec(), numbers[ranks.vec()]++};
    events.push_back({Event::Kind::Start, meeting, {}});
    std::vector<int64_t> senders;
    for (size_t member = 0; member < ranks.size(); ++member)
      if (isSent(op, member))
        senders.push_back(ranks[member]);
    begun[op.getTicket()] = {Event::Kind::Wait, meeting, senders};
  }

  /// Whether this rank gets something from that member of the group.
  static bool isSent(exec::CollectiveOp op, size_t member) {
    const llvm::ArrayRef<int64_t> received = op.getReceived().value_or(op.getBlocks());
    return received[received.size() == 1 ? 0 : member] > 0;
  }

  std::map<std::vector<int64_t>, int64_t> numbers; ///< of collectives so far, by the ranks that take part
  std::map<int64_t, Event> begun;                  ///< what a wait with this ticket waits for
};

//===----------------------------------------------------------------------===//
// When it did
//===----------------------------------------------------------------------===//

/// When the last rank ends its last product, each taking 1; -1: some wait for ever.
int64_t timeOf(const std::vector<Recorder> &ranks) {
  std::vector<int64_t> clock(ranks.size(), 0), lastProduct(ranks.size(), 0);
  std::vector<size_t> next(ranks.size(), 0);
  std::map<std::pair<Meeting, int64_t>, int64_t> came; // when this rank came to that collective
  auto advance = [&](size_t rank) {
    const Event &event = ranks[rank].events[next[rank]];
    if (event.kind == Event::Kind::Product)
      lastProduct[rank] = ++clock[rank];
    else if (event.kind == Event::Kind::Start)
      came[{event.meeting, rank}] = clock[rank];
    else
      for (const int64_t sender : event.senders) {
        const auto found = came.find({event.meeting, sender});
        if (found == came.end())
          return false;
        clock[rank] = std::max(clock[rank], found->second);
      }
    ++next[rank];
    return true;
  };
  for (bool isAnyMoving = true; isAnyMoving;) {
    isAnyMoving = false;
    for (size_t rank = 0; rank < ranks.size(); ++rank)
      while (next[rank] < ranks[rank].events.size() && advance(rank))
        isAnyMoving = true;
  }
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    if (next[rank] < ranks[rank].events.size())
      return -1;
  return *std::max_element(lastProduct.begin(), lastProduct.end());
}

//===----------------------------------------------------------------------===//
// What they run
//===----------------------------------------------------------------------===//

struct Pipeline {
  int64_t ranks, rounds, microBatches;
  sbp::PipelineSchedule schedule;
};

/// A stage is one product, and so two backward: of the first one too, as its input is looked up in a table that learns.
std::string modelOf(const Pipeline &pipeline) {
  constexpr int64_t kWidth = 16, kPlaces = 5;
  const int64_t rows = 64 * pipeline.microBatches;
  auto at = [&](int64_t stage) {
    VariableOptions options;
    options.logical = Layout({broadcast(), sbp::Sbp::at(stage % pipeline.ranks)});
    return options;
  };
  Graph graph({"cpu", {{"dp", 1}, {"pp", pipeline.ranks}}});
  graph.function("train");
  const Tensor ids = graph.input("ids", ElementType::I64, {rows}, split(0));
  Tensor x = embedding(graph.variable("table", {kPlaces, kWidth}, Init::normal(0, 1), at(0)), ids);
  for (int64_t stage = 0; stage < pipeline.ranks * pipeline.rounds; ++stage)
    x = matmul(x, graph.variable(absl::StrCat("w", stage), {kWidth, kWidth}, Init::normal(0, 1), at(stage)));
  graph.minimize(mean(mul(x, x)), Sgd{0.1});
  return *graph.text();
}

int64_t timeOf(const Pipeline &pipeline) {
  const std::string text = modelOf(pipeline);
  std::vector<Recorder> recorders(pipeline.ranks);
  const auto optionsOf = [&](int64_t rank) {
    SessionOptions options;
    options.compile.zero.accumulate = pipeline.microBatches;
    options.compile.zero.pipeline = pipeline.schedule;
    options.observer = &recorders[rank];
    return options;
  };
  const absl::Status status = differential::onSessions(
      pipeline.ranks, text, optionsOf, [](Session &session, runtime::Communicator &) { return session.run("train"); });
  EXPECT_TRUE(status.ok()) << status;
  return timeOf(recorders);
}

// With F = 1 and B = 2, K ranks and M micro-batches that come by v times: a rank works for 3 v M, and waits for
// (K - 1) (F + B) while the pipeline fills and drains (Narayanan et al. 2021, 2.2).
TEST(Bubble, IsThatOfTheFormula) {
  using sbp::PipelineSchedule;
  for (const PipelineSchedule schedule : {PipelineSchedule::OneForwardOneBackward, PipelineSchedule::Gpipe})
    for (const auto &[ranks, rounds, microBatches] :
         {std::tuple{2, 1, 4}, {3, 1, 3}, {3, 1, 7}, {4, 1, 8}, {2, 2, 4}, {3, 2, 6}, {2, 3, 2}})
      EXPECT_EQ(timeOf({ranks, rounds, microBatches, schedule}), 3 * (rounds * microBatches + ranks - 1))
          << ranks << " ranks, " << rounds << " rounds, " << microBatches << " micro-batches, "
          << sbp::toString(schedule);
}

// One after the other, nobody works beside another.
TEST(Bubble, IsAllTheOthersWorkWithoutASchedule) {
  for (const auto &[ranks, rounds, microBatches] : {std::tuple{2, 1, 4}, {3, 2, 3}})
    EXPECT_EQ(timeOf({ranks, rounds, microBatches, sbp::PipelineSchedule::Sequential}),
              3 * ranks * rounds * microBatches);
}

} // namespace
} // namespace splitcast
