// Parameters of which ranks have one copy, as a session compiles and sets them.
#include "compiler/graph/Graph.h"
#include "compiler/launch/Session.h"
#include "tests/differential/Sessions.h"

#include "absl/time/clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace splitcast {
namespace {

constexpr int64_t kRanks = 3, kRows = 7, kInputs = 5, kOutputs = 4; // ragged over the ranks

std::string modelText() {
  Graph graph({"cpu", {{"dp", kRanks}}});
  graph.function("train");
  Tensor x = graph.input("x", ElementType::F32, {kRows, kInputs}, split(0));
  Tensor loss = mean(linear(gelu(linear(x, "a", 11)), "b", kOutputs));
  graph.minimize(loss, Adam{0.1});
  graph.output("loss", loss);
  graph.function("predict");
  Tensor row = graph.input("x", ElementType::F32, {1, 11});
  graph.output("y", boxTo(linear(row, "b", kOutputs), broadcast()));
  return *graph.text();
}

using Body = std::function<absl::Status(Session &session, int64_t rank)>;

absl::Status onSessions(const std::string &text, int64_t stage, sbp::Strategy strategy, const Body &body,
                        sbp::OneCopy oneCopy = sbp::OneCopy::Auto) {
  SessionOptions options;
  options.compile.zero.policy.setStage(stage).setStrategy(strategy);
  options.compile.zero.oneCopy = oneCopy;
  return differential::onSessions(kRanks, text, options, [&](Session &session, runtime::Communicator &communicator) {
    return body(session, communicator.rank());
  });
}

constexpr int64_t kParameterBytes = 4 * (kInputs * 11 + 11 + 11 * kOutputs + kOutputs);

// Wherever ranks gather in place what all of them update a part of. (With strategy=whole a variable is one rank's, and
// its sum no collective in which all meet; some meet in others. At stage 3 those that are not may take less than a
// window with the largest that is.)
TEST(SharedParameters, AreShared) {
  for (int64_t stage : {0, 1, 2, 3})
    for (sbp::Strategy strategy : {sbp::Strategy::Bucket, sbp::Strategy::Tensor, sbp::Strategy::Whole}) {
      const bool isWhole = strategy == sbp::Strategy::Whole;
      const bool isGathered = isWhole ? stage == 1 || stage == 2 : stage > 0;
      const absl::Status status = onSessions(modelText(), stage, strategy, [&](Session &session, int64_t) {
        EXPECT_EQ(session.sharedBytes() >= kParameterBytes, isGathered && !isWhole) << stage;
        EXPECT_TRUE(isGathered || session.sharedBytes() == 0) << stage;
        if (!isWhole) // each counts its blocks
          EXPECT_EQ(session.memoryReport("train").parameters >= kParameterBytes, stage == 0) << stage;
        EXPECT_EQ(session.whyNotShared(), "");
        return session.run("train");
      });
      EXPECT_TRUE(status.ok()) << status;
    }
}

/// At stage 2 ranks share @w. Of @u ranks from 1 on read what rank 0 has while its gradient is under way; rank 0 reads
/// its own.
constexpr char kUnlike[] = R"(
#p = #sbp.placement<"cpu", [dp = 3]>
#S0 = #sbp.nd<#p, [S(0)]>
sbp.variable @u : tensor<4x4xf32> group "u"
sbp.variable @w : tensor<4x4xf32> group "w"
func.func @train(%x: tensor<8x4xf32, #S0>) -> tensor<f32> {
  %w = sbp.read @w : tensor<4x4xf32>
  %y = nn.matmul %x, %w : (tensor<8x4xf32, #S0>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %loss = nn.reduce_sum %y {dims = array<i64: 0, 1>} : (tensor<8x4xf32>) -> tensor<f32>
  nn.minimize %loss : tensor<f32> with #nn.sgd<lr = 0.5>
  return %loss : tensor<f32>
}
func.func @assigns_a_sum(%x: tensor<8x4xf32, #S0>) -> tensor<8x4xf32> {
  %u = sbp.read @u : tensor<4x4xf32>
  %g = nn.matmul %x, %x {transpose_a} : (tensor<8x4xf32, #S0>, tensor<8x4xf32, #S0>) -> tensor<4x4xf32>
  %scope = sbp.scope "update" of @u
  %f = sbp.fence %g in %scope : tensor<4x4xf32>
  %y = nn.matmul %x, %u : (tensor<8x4xf32, #S0>, tensor<4x4xf32>) -> tensor<8x4xf32>
  sbp.assign @u, %f : tensor<4x4xf32>
  return %y : tensor<8x4xf32>
}
)";

TEST(SharedParameters, WhatOneRankMayNotShareNoneDoes) {
  const absl::Status status = onSessions(kUnlike, 2, sbp::Strategy::Bucket, [&](Session &session, int64_t) {
    EXPECT_EQ(session.sharedBytes(), 3 * 16 * 4); // @w, padded
    absl::Status status = session.run("assigns_a_sum");
    status.Update(session.run("train"));
    return status;
  });
  EXPECT_TRUE(status.ok()) << status;
}

// Parameters of stage 3 lie whole only where that takes no more memory of the machine: else as pieces.
TEST(SharedParameters, OfStage3AreSplitIfARankMayNotShareOne) {
  const absl::Status status = onSessions(kUnlike, 3, sbp::Strategy::Bucket, [&](Session &session, int64_t) {
    EXPECT_EQ(session.sharedBytes(), 0);
    EXPECT_EQ(session.memoryReport("train").parameters, 2 * 16 * 4); // a third of each, padded
    absl::Status status = session.run("assigns_a_sum");
    status.Update(session.run("train"));
    return status;
  });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(SharedParameters, OfStage3AreAsTheUserSays) {
  for (sbp::OneCopy oneCopy : {sbp::OneCopy::No, sbp::OneCopy::Yes, sbp::OneCopy::Auto}) {
    const int64_t isWhole = oneCopy != sbp::OneCopy::No;
    const absl::Status status = onSessions(
        modelText(), 3, sbp::Strategy::Bucket,
        [&](Session &session, int64_t) {
          EXPECT_EQ(session.sharedBytes() > 0, isWhole);
          EXPECT_EQ(session.communicationReport("predict").entries.empty(), isWhole);
          return session.run("train");
        },
        oneCopy);
    EXPECT_TRUE(status.ok()) << status;
  }
}

// What a rank says alone, the others notice before the first step.
TEST(SharedParameters, RanksHaveToSayTheSame) {
  const auto optionsOf = [](int64_t rank) {
    SessionOptions options;
    options.compile.zero.policy.setStage(2);
    options.compile.zero.oneCopy = rank == 1 ? sbp::OneCopy::Yes : sbp::OneCopy::Auto;
    return options;
  };
  const absl::Status status = differential::onSessions(
      kRanks, modelText(), optionsOf, [](Session &, runtime::Communicator &) { return absl::OkStatus(); });
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("different programs or options"));
}

/// Sets @b.bias.
using Write = std::function<absl::Status(Session &session, const std::vector<float> &values)>;

// A rank that is late reads what there was, whatever the others set meanwhile.
TEST(SharedParameters, AreSetWhenNobodyReadsThem) {
  const std::vector<Write> writes = {
      [](Session &session, const std::vector<float> &values) { return session.writeVariable("b.bias", values.data()); },
      [](Session &session, const std::vector<float> &values) { return session.writePieces("b.bias", values.data()); },
      [](Session &session, const std::vector<float> &values) {
        return session.writeElements("b.bias", {0, kOutputs}, values.data());
      }};
  const absl::Status status =
      onSessions(modelText(), 2, sbp::Strategy::Bucket, [&](Session &session, int64_t rank) -> absl::Status {
        absl::Status status;
        float value = 1;
        status.Update(session.writeVariable("b.bias", std::vector<float>(kOutputs, value).data()));
        for (const Write &write : writes)
          for (int64_t late = 0; late < kRanks; ++late) {
            if (rank == late)
              absl::SleepFor(absl::Milliseconds(30));
            status.Update(session.run("predict")); // of a row of zeros
            absl::StatusOr<absl::Span<const std::byte>> y = session.outputPiece("predict", 0);
            if (!status.ok() || !y.ok())
              return status.ok() ? y.status() : status;
            EXPECT_EQ(reinterpret_cast<const float *>(y->data())[kOutputs - 1], value) << "rank " << rank;
            status.Update(write(session, std::vector<float>(kOutputs, ++value)));
          }
        return status;
      });
  EXPECT_TRUE(status.ok()) << status;
}

} // namespace
} // namespace splitcast
