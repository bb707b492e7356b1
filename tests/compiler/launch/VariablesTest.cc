// A session's variables from outside: whole on a rank of choice, each rank's part, and taken from another session.
#include "compiler/graph/Graph.h"
#include "compiler/launch/Session.h"
#include "tests/differential/PassList.h"
#include "tests/differential/Ranks.h"

#include "absl/strings/str_cat.h"
#include "mlir/Parser/Parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>

namespace splitcast {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two layers of 13 x 7 and 7 x 5, the first larger than a part where `isLarge`; the first frozen or not.
std::string model(int64_t ranks, bool isFrozen, bool isLarge = false) {
  const int64_t width = isLarge ? 50'001 : 7;
  Graph graph({"cpu", {{"dp", ranks}}});
  graph.function("train");
  Tensor x = graph.input("x", ElementType::F32, {2 * ranks, 13}, split(0));
  Tensor loss = mean(linear(relu(linear(x, "first", width)), "second", 5));
  graph.minimize(loss, Adam{0.125});
  graph.output("loss", loss);
  if (isFrozen)
    graph.freeze({"first.*"});
  return *graph.text();
}

using SessionBody = std::function<absl::Status(Session &, runtime::Device &, runtime::Communicator &)>;

/// On each rank, with the model compiled for it.
absl::Status withSession(const std::string &text, const char *zero, runtime::Device &device,
                         runtime::Communicator &communicator, const SessionBody &body, bool savesBeside = false) {
  std::unique_ptr<mlir::MLIRContext> context = differential::createContext();
  auto source = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  SessionOptions options;
  options.savesBeside = savesBeside;
  EXPECT_FALSE(sbp::parseEnableZero(zero, &options.compile.zero).has_value()) << zero;
  auto session = Session::create(*source, options, device, communicator);
  return session.ok() ? body(**session, device, communicator) : session.status();
}

absl::Status steps(Session &session, int64_t count) {
  std::vector<float> x((*session.inputs("train"))[0].localElements(), 0.5F);
  absl::Status status = session.setInput("train", 0, x.data());
  for (int64_t step = 0; step < count; ++step)
    status.Update(session.run("train"));
  return status;
}

/// All variables, whole, by name.
std::map<std::string, std::string> valuesOf(Session &session) {
  std::map<std::string, std::string> values;
  for (const Session::Variable &variable : session.variables()) {
    std::string &value = values[variable.name];
    value.resize(sbp::numElements(variable.shape) * runtime::bytesOf(variable.type));
    absl::Status status = session.readVariable(variable.name, value.data());
    EXPECT_TRUE(status.ok()) << status;
  }
  return values;
}

/// The rank of choice gets all elements, in order and by parts, and the others none.
TEST(Variables, AreWholeOnARankOfChoice) {
  for (const char *zero : {"stage=0", "stage=3,one-copy=no", "stage=3,strategy=tensor", "stage=2,strategy=whole"})
    for (bool isLarge : {false, true}) {
      std::vector<int64_t> calls(3, 0);
      absl::Status status = differential::onRanks(3, "", [&](runtime::Device &device, runtime::Communicator &ranks) {
        return withSession(model(3, false, isLarge), zero, device, ranks, [&](Session &session, auto &, auto &) {
          const int64_t elements = 13 * (isLarge ? 50'001 : 7), bytes = elements * 4;
          std::string whole(bytes, 'x'), expected(bytes, ' ');
          int64_t next = 0;
          absl::Status status =
              session.streamVariable("first.weight", 1, [&](const sbp::Interval &part, const void *to) {
                EXPECT_EQ(part.begin, next);
                EXPECT_LE(part.count * 4, 1 << 20);
                next = part.begin + part.count;
                std::memcpy(whole.data() + part.begin * 4, to, part.count * 4);
                ++calls[ranks.rank()];
                return absl::OkStatus();
              });
          status.Update(session.readVariable("first.weight", expected.data()));
          EXPECT_EQ(next, ranks.rank() == 1 ? elements : 0);
          EXPECT_TRUE(whole == (ranks.rank() == 1 ? expected : std::string(bytes, 'x'))) << zero;
          EXPECT_NE(expected.substr(0, 64), expected.substr(64, 64)); // uniform at first
          return status;
        });
      });
      EXPECT_TRUE(status.ok()) << status;
      EXPECT_THAT(calls, ElementsAre(0, isLarge ? 3 : 1, 0)) << zero;
    }
}

/// Ends alike on all ranks.
TEST(Variables, StreamsEndWithTheErrorOfOne) {
  for (int64_t to : {2, 3}) {
    std::vector<absl::Status> statuses(3);
    EXPECT_TRUE(differential::onRanks(3, "", [&](runtime::Device &device, runtime::Communicator &ranks) {
                  return withSession(model(3, false), "stage=3", device, ranks, [&](Session &session, auto &, auto &) {
                    statuses[ranks.rank()] = session.streamVariable("first.weight", to, [](auto &&...) {
                      return absl::ResourceExhaustedError("the disk is full");
                    });
                    return steps(session, 1);
                  });
                }).ok());
    for (const absl::Status &status : statuses)
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr(to == 2 ? "the disk is full"
                                    : "is to be read on rank 3, but the ranks are 0 to 2; name one of these"));
  }
}

/// Whoever reads another variable than the others is named, and nothing is mixed, then or later.
TEST(Variables, AreReadByAllRanksInOneOrder) {
  const absl::Status ended = differential::onRanks(3, "", [&](runtime::Device &device, runtime::Communicator &ranks) {
    return withSession(model(3, true), "stage=3", device, ranks, [&](Session &session, auto &, auto &) {
      const char *name = ranks.rank() == 1 ? "first.bias" : "first.weight";
      const absl::Status status = session.streamVariable(name, 0, [](auto &&...) { return absl::OkStatus(); });
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(std::string(status.message()), HasSubstr(" is at reading @first.weight of session 1"));
      EXPECT_THAT(std::string(status.message()), HasSubstr("rank 1 is at reading @first.bias of session 1"));
      EXPECT_EQ(steps(session, 1), status);
      return status;
    });
  });
  EXPECT_EQ(ended.code(), absl::StatusCode::kFailedPrecondition);
}

/// Each element of a variable is some rank's, and of one rank alone where it is divided.
TEST(Variables, EveryRankKnowsWhoseTheyAre) {
  for (const char *zero : {"stage=3,one-copy=no", "stage=3,strategy=tensor", "stage=3,strategy=whole"})
    EXPECT_TRUE(differential::onRanks(3, "", [&](runtime::Device &device, runtime::Communicator &ranks) {
                  return withSession(model(3, false), zero, device, ranks, [&](Session &session, auto &, auto &) {
                    std::map<std::string, int64_t> elements;
                    for (int64_t rank = 0; rank < 3; ++rank)
                      for (const Session::Variable &variable : session.variablesOf(rank))
                        for (const sbp::Run &run : variable.pieces)
                          elements[variable.name] += variable.ownsPieces ? run.count : 0;
                    for (const Session::Variable &variable : session.variables()) {
                      EXPECT_EQ(elements[variable.name], sbp::numElements(variable.shape)) << variable.name;
                      EXPECT_EQ(session.variablesOf(ranks.rank())[0].pieces, session.variables()[0].pieces);
                    }
                    return absl::OkStatus();
                  });
                }).ok());
}

/// What both have is the other's, and the first layer's state, which only this one has, as it was made.
absl::Status take(Session &session, Session &frozen) {
  const std::map<std::string, std::string> before = valuesOf(frozen);
  auto taken = session.takeVariables(frozen);
  if (!taken.ok())
    return taken.status();
  EXPECT_THAT(taken->kept, ElementsAre("first.bias.exp_avg", "first.bias.exp_avg_sq", "first.weight.exp_avg",
                                       "first.weight.exp_avg_sq"));
  EXPECT_THAT(taken->unused, ElementsAre());
  std::map<std::string, std::string> after = valuesOf(session);
  for (const auto &[name, value] : before)
    EXPECT_EQ(after[name], value) << name;
  EXPECT_NE(after["second.weight.exp_avg"], std::string(7 * 5 * 4, '\0'));
  EXPECT_EQ(after["first.weight.exp_avg"], std::string(13 * 7 * 4, '\0'));
  return absl::OkStatus();
}

/// A layer is trained from the second session on: what both have goes on, its own state begins anew, and the values do
/// not depend on how either divides them.
TEST(Variables, AreTakenFromAnotherSession) {
  std::map<std::string, std::string> first;
  for (const char *zero : {"stage=0", "stage=2", "stage=3,strategy=whole"}) {
    absl::Status status = differential::onRanks(3, "", [&](runtime::Device &device, runtime::Communicator &ranks) {
      return withSession(model(3, true), zero, device, ranks, [&](Session &frozen, auto &, auto &) {
        absl::Status status = steps(frozen, 3);
        status.Update(withSession(model(3, false), "stage=3", device, ranks, [&](Session &session, auto &, auto &) {
          absl::Status status = take(session, frozen);
          status.Update(steps(session, 2));
          const std::map<std::string, std::string> after = valuesOf(session);
          EXPECT_NE(after.at("first.weight"), valuesOf(frozen).at("first.weight"));
          if (ranks.rank() == 0) {
            first = first.empty() ? after : first;
            EXPECT_TRUE(after == first) << zero;
          }
          return status;
        }));
        return status;
      });
    });
    EXPECT_TRUE(status.ok()) << status;
  }
}

/// A file has what variables were when it was begun, though steps have changed them meanwhile; the copies are in the
/// predicted peak.
TEST(Variables, AreSavedBesideSteps) {
  for (const char *zero : {"stage=0", "stage=3", "stage=2,strategy=whole"}) {
    const std::string path = absl::StrCat(testing::TempDir(), "/beside");
    std::vector<int64_t> copied(3, 0);
    absl::Status status = differential::onRanks(3, "", [&](runtime::Device &device, runtime::Communicator &ranks) {
      auto body = [&](Session &session, auto &, auto &) {
        absl::Status status = steps(session, 1);
        const std::map<std::string, std::string> before = valuesOf(session);
        auto saved = session.beginSave(path);
        if (!saved.ok())
          return saved.status();
        status.Update(steps(session, 2));
        EXPECT_NE(valuesOf(session), before);
        status.Update((*saved)->finish());
        status.Update(session.loadVariables(path));
        EXPECT_EQ(valuesOf(session), before);
        const MemoryReport memory = session.memoryReport("train");
        copied[ranks.rank()] = memory.snapshotBytes;
        EXPECT_EQ(memory.peakBytes(),
                  memory.persistentBytes + memory.arenaBytes + memory.interfaceBytes + memory.snapshotBytes);
        return status;
      };
      return withSession(model(3, false), zero, device, ranks, body, /*savesBeside=*/true);
    });
    EXPECT_TRUE(status.ok()) << status;
    // Weights and biases of f32 with two states each, the rate, and two powers of betas in f64.
    EXPECT_EQ(copied[0] + copied[1] + copied[2], (13 * 7 + 7 + 7 * 5 + 5) * 3 * 4 + 4 + 2 * 8) << zero;
  }
}

TEST(Variables, AreSavedBesideStepsOfASessionThatWasToldSo) {
  absl::Status status = differential::onRanks(2, "", [&](runtime::Device &device, runtime::Communicator &ranks) {
    return withSession(model(2, false), "stage=1", device, ranks,
                       [&](Session &session, auto &, auto &) { return session.beginSave("never").status(); });
  });
  EXPECT_THAT(std::string(status.message()), HasSubstr("set SessionOptions::savesBeside"));
}

TEST(Variables, OfAnotherShapeAreNotTaken) {
  absl::Status status = differential::onRanks(3, "", [&](runtime::Device &device, runtime::Communicator &ranks) {
    return withSession(model(3, true), "stage=1", device, ranks, [&](Session &small, auto &, auto &) {
      return withSession(model(3, true, true), "stage=1", device, ranks,
                         [&](Session &session, auto &, auto &) { return session.takeVariables(small).status(); });
    });
  });
  EXPECT_THAT(std::string(status.message()), HasSubstr("variable @first.bias is taken from a session in which it has "
                                                       "another shape or type"));
}

} // namespace
} // namespace splitcast
