// Ranks that use their sessions in different orders, or with different values where they must be alike: an error on all
// ranks that names both sides, and no mixed values.
#include "compiler/graph/Graph.h"
#include "compiler/launch/Session.h"
#include "tests/differential/Ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace splitcast {
namespace {

using ::testing::HasSubstr;

/// A model with a rate that all ranks give, and two further functions whose messages are as long as each other's.
std::unique_ptr<Session> makeSession(Graph &graph, const char *zero, uint64_t seed, runtime::Device &device,
                                     runtime::Communicator &ranks, const Layout &rows) {
  graph.function("train");
  Tensor x = graph.input("x", ElementType::F32, {12, 4}, rows);
  Tensor rate = graph.input("rate", ElementType::F32, {});
  Tensor loss = mean(mul(linear(x, "fc", 3), rate));
  graph.output("loss", loss);
  graph.minimize(loss, Sgd{0.5});
  for (const char *name : {"f", "g"}) {
    graph.function(name);
    graph.output("sum", sum(graph.input("x", ElementType::F32, {12, 4}, rows)));
  }
  SessionOptions options;
  options.seed = seed;
  EXPECT_FALSE(sbp::parseEnableZero(zero, &options.compile.zero).has_value()) << zero;
  auto session = Session::create(*graph.finish(), options, device, ranks);
  EXPECT_TRUE(session.ok()) << session.status();
  return session.ok() ? *std::move(session) : nullptr;
}

struct Pair {
  Session &first, &second;
  int64_t rank;
};
using Body = std::function<absl::Status(const Pair &sessions)>;

absl::Status setRate(Session &session, float rate) { return session.setInput("train", 1, &rate); }

/// Makes two sessions of one program on each rank, runs `body`, and returns what it said on each rank.
std::vector<absl::Status> onTwoSessions(const std::vector<sbp::Axis> &mesh, const Body &body,
                                        const char *zero = "stage=2") {
  int64_t ranks = 1;
  for (const sbp::Axis &axis : mesh)
    ranks *= axis.size;
  std::vector<absl::Status> result(ranks);
  const absl::Status status =
      differential::onRanks(ranks, "", [&](runtime::Device &device, runtime::Communicator &communicator) {
        const Layout rows = mesh.size() == 1 ? Layout{split(0)} : Layout{{split(0), broadcast()}};
        Graph first(GraphOptions{"cpu", mesh}), second(GraphOptions{"cpu", mesh});
        auto one = makeSession(first, zero, 1, device, communicator, rows);
        auto two = makeSession(second, zero, 1, device, communicator, rows);
        if (!one || !two)
          return absl::InternalError("no session");
        absl::Status status = setRate(*one, 1);
        status.Update(setRate(*two, 1));
        result[communicator.rank()] = status.ok() ? body({*one, *two, communicator.rank()}) : status;
        return absl::OkStatus();
      });
  EXPECT_TRUE(status.ok()) << status;
  return result;
}

void expectOnAll(const std::vector<absl::Status> &statuses, const std::vector<std::string> &texts) {
  for (const absl::Status &status : statuses) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    for (const std::string &text : texts)
      EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
}

TEST(SessionOrder, OfTwoSessions) {
  for (int64_t ranks : {2, 3})
    for (const char *zero : {"stage=0", "stage=3"})
      expectOnAll(onTwoSessions(
                      {{"dp", ranks}},
                      [](const Pair &of) {
                        absl::Status status = (of.rank == 1 ? of.second : of.first).run("train");
                        status.Update((of.rank == 1 ? of.first : of.second).run("train"));
                        return status;
                      },
                      zero),
                  {"rank 1 is at ", "run 1 of session 1, of @train", "run 1 of session 2, of @train"});
}

TEST(SessionOrder, OfTwoFunctions) {
  expectOnAll(onTwoSessions({{"dp", 3}}, [](const Pair &of) { return of.first.run(of.rank == 1 ? "f" : "g"); }),
              {"run 1 of session 1, of @f", "run 1 of session 1, of @g"});
}

// Rank 1 leaves out its second run. It goes on to read a variable, where the others are in that run.
TEST(SessionOrder, OfARankThatSkipsARun) {
  expectOnAll(onTwoSessions({{"dp", 3}},
                            [](const Pair &of) {
                              absl::Status status = of.first.run("train");
                              if (of.rank != 1)
                                status.Update(of.first.run("train"));
                              std::vector<float> whole(12);
                              status.Update(of.first.readVariable("fc.weight", whole.data()));
                              return status;
                            }),
              {"run 2 of session 1, of @train", "reading @fc.weight of session 1 after 1 runs"});
}

// Both read a variable of the same name, size and place in the program, but of two sessions.
TEST(SessionOrder, OfVariables) {
  std::vector<float> whole[2] = {std::vector<float>(12), std::vector<float>(12)};
  expectOnAll(
      onTwoSessions({{"dp", 2}},
                    [&](const Pair &of) {
                      return (of.rank == 1 ? of.second : of.first).readVariable("fc.weight", whole[of.rank].data());
                    }),
      {"of session 1 after 0 runs", "of session 2 after 0 runs"});
}

// A number that all ranks must give alike, which one gives unlike from the third run on.
TEST(SessionOrder, ARateIsComparedInEachRun) {
  expectOnAll(onTwoSessions({{"dp", 3}},
                            [](const Pair &of) {
                              absl::Status status;
                              for (int run = 0; run < 5 && status.ok(); ++run) {
                                status = setRate(of.first, run >= 2 && of.rank == 2 ? 0.25F : 0.5F);
                                status.Update(of.first.run("train"));
                                if (run < 2)
                                  EXPECT_EQ(status, absl::OkStatus());
                              }
                              return status;
                            }),
              {"give different values to inputs", "run 3 of session 1, of @train with rate = 0.25",
               "run 3 of session 1, of @train with rate = 0.5"});
}

// On a mesh of 2 x 2, ranks 0 and 1 have the same rows, and ranks 2 and 3.
TEST(SessionOrder, RowsThatSomeRanksShareAreCompared) {
  const std::vector<sbp::Axis> mesh = {{"dp", 2}, {"tp", 2}};
  for (bool isWrong : {false, true}) {
    const std::vector<absl::Status> statuses = onTwoSessions(mesh, [&](const Pair &of) {
      absl::Status status;
      for (int run = 0; run < 3 && status.ok(); ++run) {
        std::vector<float> rows(24, static_cast<float>(of.rank / 2 + run));
        if (isWrong && run == 2 && of.rank == 3)
          rows[5] = -1;
        status = of.first.setInput("train", 0, rows.data());
        status.Update(of.first.run("train"));
      }
      return status;
    });
    if (isWrong)
      expectOnAll(statuses, {"give different values to inputs", "run 3 of session 1, of @train with x = (digest "});
    else
      EXPECT_THAT(statuses, ::testing::Each(absl::OkStatus()));
  }
}

// Sessions that take turns in the same order on all ranks, as a teacher and a student do, do not disturb each other.
TEST(SessionOrder, InTurns) {
  EXPECT_THAT(onTwoSessions({{"dp", 3}},
                            [](const Pair &of) {
                              absl::Status status;
                              for (const char *name : {"train", "f", "train", "g"}) {
                                status.Update(of.second.run(name));
                                status.Update(of.first.run(name));
                              }
                              return status;
                            }),
              ::testing::Each(absl::OkStatus()));
}

} // namespace
} // namespace splitcast
