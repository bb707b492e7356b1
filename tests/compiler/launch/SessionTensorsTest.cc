// Inputs and outputs by name and type.
#include "compiler/launch/SessionTensors.h"
#include "compiler/graph/Graph.h"
#include "runtime/api/StatusMacros.h"
#include "tests/differential/Ranks.h"

#include <gtest/gtest.h>

namespace splitcast {
namespace {

using Check = std::function<absl::Status(Session &, int64_t rank)>;

/// Of 3 ranks: "x" [7, 2] is split by rows, "ids" [7] likewise; "sum" is the sum of x, and "next" is x + 1.
absl::Status onSessions(const Check &check) {
  return differential::onRanks(
      3, "", [&](runtime::Device &device, runtime::Communicator &communicator) -> absl::Status {
        Graph graph({"cpu", {{"dp", 3}}});
        Tensor x = graph.input("x", ElementType::F32, {7, 2}, split(0));
        Tensor ids = graph.input("ids", ElementType::I64, {7}, split(0));
        graph.output("sum", sum(x));
        graph.output("next", shift(x, 1));
        graph.output("ids", ids);
        SPLITCAST_ASSIGN_OR_RETURN(mlir::ModuleOp module, graph.finish());
        SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                                   Session::create(module, SessionOptions(), device, communicator));
        return check(*session, communicator.rank());
      });
}

TEST(SessionTensors, AreThisRanksElements) {
  absl::Status status = onSessions([](Session &session, int64_t rank) -> absl::Status {
    SPLITCAST_ASSIGN_OR_RETURN(InputPiece<float> x, inputOf<float>(session, "main", "x"));
    SPLITCAST_ASSIGN_OR_RETURN(InputPiece<int64_t> ids, inputOf<int64_t>(session, "main", "ids"));
    const int64_t rows = rank == 0 ? 3 : 2, first = rank == 0 ? 0 : 1 + 2 * rank;
    EXPECT_EQ(x.elements.size(), 2 * rows);
    EXPECT_EQ(x.boxes.size(), 1U);
    EXPECT_EQ(x.boxes[0][0].begin, first);
    EXPECT_EQ(ids.elements.size(), rows);
    for (size_t i = 0; i < x.elements.size(); ++i)
      x.elements[i] = static_cast<float>(2 * first + static_cast<int64_t>(i));
    for (size_t i = 0; i < ids.elements.size(); ++i)
      ids.elements[i] = first + static_cast<int64_t>(i);
    SPLITCAST_RETURN_IF_ERROR(session.run("main"));
    SPLITCAST_ASSIGN_OR_RETURN(absl::Span<const float> all, outputOf<float>(session, "main", "sum"));
    SPLITCAST_ASSIGN_OR_RETURN(absl::Span<const float> next, outputOf<float>(session, "main", "next"));
    EXPECT_EQ(all[0], 13 * 14 / 2);
    EXPECT_EQ(next[0], static_cast<float>(2 * first + 1));
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(SessionTensors, WhatIsNotThereIsNamed) {
  absl::Status status = onSessions([](Session &session, int64_t) {
    EXPECT_EQ(inputOf<float>(session, "main", "y").status().message(), "@main has no input 'y'; it has 'x', 'ids'");
    EXPECT_EQ(outputOf<float>(session, "main", "loss").status().message(),
              "@main has no output 'loss'; it has 'sum', 'next', 'ids'");
    EXPECT_EQ(inputOf<double>(session, "main", "x").status().message(),
              "@main's input 'x' has elements of f32, but was asked for as f64; ask for its type");
    EXPECT_EQ(outputOf<int32_t>(session, "main", "ids").status().message(),
              "@main's output 'ids' has elements of i64, but was asked for as i32; ask for its type");
    EXPECT_FALSE(inputOf<float>(session, "train", "x").ok());
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

} // namespace
} // namespace splitcast
