// A step that has fewer samples than the batch it was compiled for, on some ranks none.
#include "compiler/graph/Graph.h"
#include "compiler/launch/Session.h"
#include "tests/differential/PassList.h"
#include "tests/differential/Ranks.h"
#include "tests/differential/Sessions.h"

#include "absl/strings/str_cat.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace splitcast {
namespace {

constexpr int64_t kWidth = 5;

/// A batch of `rows`, with or without an input that says which are present.
std::string model(int64_t ranks, int64_t rows, bool saysPresent, int64_t accumulate) {
  Graph graph({"cpu", {{"dp", ranks}}});
  graph.function("train");
  Tensor x = graph.input("x", ElementType::F32, {rows, kWidth}, split(0));
  Tensor hidden = tanh(linear(x, "first", 7));
  Tensor difference = sub(linear(hidden, "second", 2), slice(x, 1, 0, 2));
  Tensor squares = mul(difference, difference);
  Tensor loss =
      saysPresent ? meanOfPresent(squares, graph.input("present", ElementType::I32, {rows}, split(0))) : mean(squares);
  StepOptions step;
  step.accumulate = accumulate;
  graph.minimize(loss, AdamW{0.01}, step);
  graph.output("loss", loss);
  return *graph.text();
}

struct Result {
  std::vector<float> losses;
  std::vector<float> weight; ///< of the first layer

  bool operator<(const Result &other) const { return std::tie(losses, weight) < std::tie(other.losses, other.weight); }
};

/// Trains on 12 samples, on the first 7 of 12 others, and on 12 again; `absent` is what is in the rows of the others.
Result train(int64_t ranks, const std::string &zero, int64_t accumulate, float absent) {
  const std::string text = model(ranks, 12, true, accumulate);
  Result result;
  SessionOptions options;
  EXPECT_FALSE(sbp::parseEnableZero(zero, &options.compile.zero).has_value()) << zero;
  absl::Status status =
      differential::onSessions(ranks, text, options, [&](Session &session, runtime::Communicator &job) {
        absl::Status status;
        std::vector<float> losses;
        for (int64_t step = 0; step < 3; ++step) {
          const int64_t samples = step == 1 ? 7 : 12;
          std::vector<float> x;
          std::vector<int32_t> present;
          const std::vector<TensorInfo> inputs = *session.inputs("train");
          for (const sbp::Box &box : inputs[0].boxes)
            for (int64_t row = box[0].begin; row < box[0].begin + box[0].count; ++row) {
              present.push_back(row < samples);
              for (int64_t column = 0; column < kWidth; ++column)
                x.push_back(row < samples ? std::sin(static_cast<float>(100 * step + 7 * row + column)) : absent);
            }
          status.Update(session.setInput("train", 0, x.data()));
          status.Update(session.setInput("train", 1, present.data()));
          status.Update(session.run("train"));
          losses.emplace_back();
          status.Update(session.getOutput("train", 0, &losses.back()));
        }
        std::vector<float> weight(kWidth * 7);
        status.Update(session.readVariable("first.weight", weight.data()));
        if (job.rank() == 0)
          result = {losses, weight};
        return status;
      });
  EXPECT_TRUE(status.ok()) << status;
  return result;
}

/// The same by modules whose batches are 12, 7 and 12.
Result trainBySizes() {
  Result result;
  absl::Status status = differential::onRanks(1, "", [&](runtime::Device &device, runtime::Communicator &job) {
    std::unique_ptr<mlir::MLIRContext> context = differential::createContext();
    auto wide = mlir::parseSourceString<mlir::ModuleOp>(model(1, 12, false, 1), context.get());
    auto narrow = mlir::parseSourceString<mlir::ModuleOp>(model(1, 7, false, 1), context.get());
    auto of12 = Session::create(*wide, {}, device, job), of7 = Session::create(*narrow, {}, device, job);
    absl::Status status = of12.status();
    status.Update(of7.status());
    for (int64_t step = 0; status.ok() && step < 3; ++step) {
      Session &session = step == 1 ? **of7 : **of12;
      if (step > 0)
        status.Update(session.takeVariables(step == 1 ? **of12 : **of7).status());
      std::vector<float> x;
      for (int64_t row = 0; row < (step == 1 ? 7 : 12); ++row)
        for (int64_t column = 0; column < kWidth; ++column)
          x.push_back(std::sin(static_cast<float>(100 * step + 7 * row + column)));
      status.Update(session.setInput("train", 0, x.data()));
      status.Update(session.run("train"));
      result.losses.emplace_back();
      status.Update(session.getOutput("train", 0, &result.losses.back()));
    }
    if (!status.ok())
      return status;
    result.weight.resize(kWidth * 7);
    status.Update((*of12)->readVariable("first.weight", result.weight.data()));
    return status;
  });
  EXPECT_TRUE(status.ok()) << status;
  return result;
}

/// At 4 ranks the last has no sample of the second step, and with 3 micro-batches all of one are absent for some.
TEST(Uneven, StepsHaveTheBitsOfStageZeroAndTheValuesOfTheirSize) {
  const Result expected = trainBySizes();
  for (int64_t ranks : {3, 4})
    for (int64_t accumulate : {1, 3}) {
      std::set<Result> results;
      for (const char *zero : {"stage=0", "stage=1", "stage=2,strategy=tensor", "stage=3", "stage=3,strategy=whole"})
        for (float absent : {0.0F, 1e6F})
          results.insert(train(ranks, zero, accumulate, absent));
      ASSERT_EQ(results.size(), 1U) << ranks << " ranks, " << accumulate << " micro-batches";
      for (size_t step = 0; step < expected.losses.size(); ++step)
        EXPECT_NEAR(results.begin()->losses[step], expected.losses[step], 1e-6 * expected.losses[step]);
      for (size_t i = 0; i < expected.weight.size(); ++i)
        EXPECT_NEAR(results.begin()->weight[i], expected.weight[i], 1e-6) << i;
    }
}

/// f16 holds no number of elements above 65504.
TEST(Uneven, MeansOfManySmallFloatsAreNoNumberOfThem) {
  Graph graph({"cpu", {{"dp", 1}}});
  graph.function("mean");
  Tensor x = cast(graph.input("x", ElementType::F32, {2, 40000}), ElementType::F16);
  graph.output("mean", cast(meanOfPresent(x, graph.input("present", ElementType::I64, {2})), ElementType::F32));
  const std::string text = *graph.text();
  absl::Status status =
      differential::onSessions(1, text, SessionOptions(), [&](Session &session, runtime::Communicator &) {
        const std::vector<float> x(80000, 0.0625F);
        const std::vector<int64_t> present(2, 1);
        absl::Status status = session.setInput("mean", 0, x.data());
        status.Update(session.setInput("mean", 1, present.data()));
        status.Update(session.run("mean"));
        float mean = 0;
        status.Update(session.getOutput("mean", 0, &mean));
        EXPECT_EQ(mean, 0.0625F);
        return status;
      });
  EXPECT_TRUE(status.ok()) << status;
}

TEST(Uneven, PresentIsAnIntegerForEachRow) {
  for (const auto &[shape, type] : {std::pair<sbp::Shape, ElementType>{{5}, ElementType::I32},
                                    {{4, 1}, ElementType::I64},
                                    {{}, ElementType::I32}}) {
    Graph graph({"cpu", {{"dp", 2}}});
    Tensor x = graph.input("x", ElementType::F32, {4, 3}, split(0));
    EXPECT_FALSE(meanOfPresent(x, graph.input("present", type, shape)).isValid());
    EXPECT_NE(std::string(graph.finish().status().message()).find("needs an integer for each row"), std::string::npos);
  }
}

} // namespace
} // namespace splitcast
