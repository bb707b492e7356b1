// Indices along a dimension that ranks and micro-batches cut: those of the whole tensor.
#include "compiler/graph/Graph.h"
#include "compiler/launch/Session.h"
#include "tests/differential/Sessions.h"

#include <gtest/gtest.h>

namespace splitcast {
namespace {

constexpr int64_t kRows = 13; // ragged over 3 and 4 ranks

/// The rows of a step that adds the index of each, of as many as `accumulate` times kRows.
std::vector<float> rowsOf(int64_t ranks, int64_t accumulate, const char *zero) {
  const int64_t rows = kRows * accumulate;
  Graph graph({"cpu", {{"dp", ranks}}});
  graph.function("train");
  Tensor x = graph.input("x", ElementType::F32, {rows, 2}, split(0));
  Tensor weight = graph.variable("weight", {2}, Init::zeros());
  Tensor counted = add(mul(x, weight), graph.iota(ElementType::F32, {rows, 1}, 0));
  graph.minimize(mean(counted), Sgd{1e-3});
  graph.output("counted", counted);
  const std::string text = *graph.text();
  std::vector<float> result(rows * 2, -1.0F);
  SessionOptions options;
  const std::string all = std::string(zero) + ",accumulate=" + std::to_string(accumulate);
  EXPECT_FALSE(sbp::parseEnableZero(all, &options.compile.zero).has_value()) << all;
  absl::Status status = differential::onSessions(ranks, text, options, [&](Session &session, runtime::Communicator &) {
    const std::vector<TensorInfo> inputs = *session.inputs("train"), outputs = *session.outputs("train");
    const std::vector<float> ones(inputs[0].localElements(), 1.0F);
    std::vector<float> piece(outputs[0].localElements());
    absl::Status status = session.setInput("train", 0, ones.data());
    status.Update(session.run("train"));
    status.Update(session.getOutput("train", 0, piece.data()));
    auto from = piece.begin();
    for (const sbp::Box &box : outputs[0].boxes) {
      std::copy_n(from, box[0].count * 2, result.begin() + box[0].begin * 2);
      from += box[0].count * 2;
    }
    return status;
  });
  EXPECT_TRUE(status.ok()) << status;
  return result;
}

TEST(Iota, CountsTheWholeTensor) {
  for (int64_t ranks : {1, 3, 4})
    for (int64_t accumulate : {1, 3})
      for (const char *zero : {"stage=0", "stage=3"}) {
        const std::vector<float> rows = rowsOf(ranks, accumulate, zero);
        for (size_t row = 0; row < rows.size() / 2; ++row)
          for (size_t column : {0, 1})
            ASSERT_EQ(rows[row * 2 + column], static_cast<float>(row))
                << ranks << " ranks, " << accumulate << " micro-batches, " << zero;
      }
}

} // namespace
} // namespace splitcast
