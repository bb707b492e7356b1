// Attention of f32 as a GPU's threads make its rows: of one warp, and of several; hidden by causality, a mask, or both.
#include "tests/gpu/DeviceCallTest.h"

#include <cmath>

namespace splitcast::gpu_tests {
namespace {

/// One sample. Tensors are [positions or keys, heads, width].
struct Case {
  int64_t positions, keys, heads, width;
  bool isCausal, hasMask;
  bool hasStatistics = false;
  double scale = 0.5;

  bool isSeen(int64_t position, int64_t key) const {
    return (!isCausal || key <= position) && (!hasMask || key % 3 != 1);
  }
};

using Floats = std::vector<float>;

Floats drawn(int64_t count, int64_t seed) {
  Floats values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = static_cast<float>((i * 37 + seed * 11) % 101 - 50) / 50;
  return values;
}

/// In double precision, as the op's definition says; `gradient` is that of the output.
struct Reference {
  Floats output, statistics, queryGrad, keyGrad, valueGrad;

  Reference(const Case &c, const Floats &gradient, const Floats &query, const Floats &key, const Floats &value)
      : output(query.size()), statistics(c.heads * c.positions), queryGrad(query.size()), keyGrad(key.size()),
        valueGrad(key.size()) {
    const int64_t row = c.heads * c.width;
    for (int64_t head = 0; head < c.heads; ++head)
      for (int64_t position = 0; position < c.positions; ++position) {
        const int64_t q = position * row + head * c.width;
        std::vector<double> p(c.keys), dp(c.keys);
        double sum = 0, centered = 0;
        for (int64_t j = 0; j < c.keys; ++j) {
          double score = 0;
          for (int64_t i = 0; i < c.width; ++i) {
            score += double{query[q + i]} * key[j * row + head * c.width + i];
            dp[j] += double{gradient[q + i]} * value[j * row + head * c.width + i];
          }
          p[j] = c.isSeen(position, j) ? std::exp(c.scale * score) : 0;
          sum += p[j];
        }
        statistics[head * c.positions + position] = sum > 0 ? static_cast<float>(std::log(sum)) : 0;
        for (int64_t j = 0; j < c.keys; ++j)
          centered += (p[j] /= sum > 0 ? sum : 1) * dp[j];
        for (int64_t j = 0; j < c.keys; ++j)
          for (int64_t i = 0; i < c.width; ++i) {
            const int64_t k = j * row + head * c.width + i;
            const double slope = c.scale * p[j] * (dp[j] - centered);
            output[q + i] += static_cast<float>(p[j] * value[k]);
            valueGrad[k] += static_cast<float>(p[j] * gradient[q + i]);
            queryGrad[q + i] += static_cast<float>(slope * key[k]);
            keyGrad[k] += static_cast<float>(slope * query[q + i]);
          }
      }
  }
};

class AttentionRowsTest : public DeviceCallTest {
protected:
  void launchAttention(const Case &c, bool isGradient, std::vector<runtime::Buffer> buffers) {
    const exec::AttentionExtents extents{isGradient, c.hasMask, 1, c.positions, c.keys, c.heads, c.width, 4};
    const int64_t bytes = *exec::deviceAttentionWorkspace(extents);
    std::vector<std::byte> workspace(bytes, std::byte{0x7f});
    buffers.push_back(bufferOf(workspace));
    launch(absl::StrCat("attention<", isGradient ? "gradient = true, " : "", "samples = 1, positions = ", c.positions,
                        ", keys = ", c.keys, ", heads = ", c.heads, ", width = ", c.width, ", scale = ", c.scale,
                        ", causal = ", c.isCausal ? "true" : "false", ", type = f32",
                        c.hasMask ? ", mask_type = i64" : "", c.hasStatistics ? ", statistics = true" : "",
                        ", workspace = ", bytes, ">"),
           buffers);
  }

  static void expectNear(const Floats &found, const Floats &expected) {
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], expected[i], 1e-5 * (1 + std::abs(expected[i]))) << "at " << i;
  }

  void compare(const Case &c) {
    SCOPED_TRACE(absl::StrCat(c.positions, " positions, ", c.keys, " keys, causal: ", c.isCausal, ", mask: ", c.hasMask,
                              ", statistics: ", c.hasStatistics));
    const int64_t ofQueries = c.positions * c.heads * c.width, ofKeys = c.keys * c.heads * c.width;
    Floats gradient = drawn(ofQueries, 1), query = drawn(ofQueries, 2), key = drawn(ofKeys, 3),
           value = drawn(ofKeys, 4);
    Floats output(ofQueries, 77), queryGrad(ofQueries, 77), keyGrad(ofKeys, 77), valueGrad(ofKeys, 77);
    Floats statistics(c.heads * c.positions, 77);
    std::vector<int64_t> mask(c.keys);
    for (int64_t j = 0; j < c.keys; ++j)
      mask[j] = j % 3 != 1;
    std::vector<runtime::Buffer> operands = {bufferOf(query), bufferOf(key), bufferOf(value)};
    if (c.hasMask)
      operands.push_back(bufferOf(mask));
    std::vector<runtime::Buffer> forward = operands, backward = {bufferOf(gradient)};
    forward.push_back(bufferOf(output));
    backward.insert(backward.end(), operands.begin(), operands.end());
    if (c.hasStatistics) {
      forward.push_back(bufferOf(statistics));
      backward.insert(backward.end(), {bufferOf(output), bufferOf(statistics)});
    }
    for (Floats *result : {&queryGrad, &keyGrad, &valueGrad})
      backward.push_back(bufferOf(*result));
    launchAttention(c, false, forward);
    launchAttention(c, true, backward);
    const Reference expected(c, gradient, query, key, value);
    expectNear(output, expected.output);
    if (c.hasStatistics)
      expectNear(statistics, expected.statistics);
    expectNear(queryGrad, expected.queryGrad);
    expectNear(keyGrad, expected.keyGrad);
    expectNear(valueGrad, expected.valueGrad);
  }
};

TEST_F(AttentionRowsTest, OfOneWarp) {
  for (const bool isCausal : {false, true})
    for (const bool hasMask : {false, true}) {
      for (const bool hasStatistics : {false, true})
        compare({/*positions=*/5, /*keys=*/70, /*heads=*/3, /*width=*/4, isCausal, hasMask, hasStatistics});
      compare({/*positions=*/64, /*keys=*/64, /*heads=*/2, /*width=*/2, isCausal, hasMask});
    }
}

TEST_F(AttentionRowsTest, OfSeveralWarps) {
  for (const bool isCausal : {false, true})
    for (const bool hasMask : {false, true})
      compare(
          {/*positions=*/3, /*keys=*/2500, /*heads=*/1, /*width=*/4, isCausal, hasMask, /*hasStatistics=*/isCausal});
  compare({/*positions=*/1100, /*keys=*/1030, /*heads=*/1, /*width=*/1, /*isCausal=*/true, /*hasMask=*/false});
}

TEST_F(AttentionRowsTest, NoKey) {
  Floats query = drawn(2, 2), key = drawn(3, 3), value = drawn(3, 4), output(2, 77), statistics(2, 77);
  std::vector<int64_t> mask = {0, 0, 0};
  const Case c{/*positions=*/2,       /*keys=*/3,         /*heads=*/1,
               /*width=*/1,           /*isCausal=*/false, /*hasMask=*/true,
               /*hasStatistics=*/true};
  launchAttention(
      c, false,
      {bufferOf(query), bufferOf(key), bufferOf(value), bufferOf(mask), bufferOf(output), bufferOf(statistics)});
  EXPECT_EQ(output, Floats({0, 0}));
  EXPECT_EQ(statistics, Floats({0, 0}));
}

} // namespace
} // namespace splitcast::gpu_tests
