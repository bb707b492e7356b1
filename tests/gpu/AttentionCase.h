//===- AttentionCase.h - Attention as a GPU's threads compute it, and as it should be ------------------===//
#ifndef SPLITCAST_TESTS_GPU_ATTENTIONCASE_H
#define SPLITCAST_TESTS_GPU_ATTENTIONCASE_H

#include "tests/gpu/DeviceCallTest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

namespace splitcast::gpu_tests {

/// One sample. Tensors are [positions or keys, heads, width].
struct Case {
  int64_t positions, keys, heads, width;
  bool isCausal, hasMask;
  bool hasStatistics = false, isSmall = false;
  double scale = 0.06;
  bool arePositive = false; ///< all numbers, so that the errors of sums do not cancel

  bool isSeen(int64_t position, int64_t key) const {
    return (!isCausal || key <= position) && (!hasMask || key % 3 != 1);
  }
};

using Floats = std::vector<float>;

inline Floats drawn(int64_t count, int64_t seed) {
  Floats values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = static_cast<float>((i * 37 + seed * 11) % 101 - 50) / 32; // exact in bf16, too
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

/// A tensor as the call takes it: f32, or bf16.
class Operand {
public:
  Operand(Floats values, bool isSmall) : values(std::move(values)) {
    for (float value : isSmall ? this->values : Floats()) {
      uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof(bits));
      halves.push_back(static_cast<uint16_t>(bits >> 16)); // exact (drawn)
    }
  }
  runtime::Buffer buffer() {
    if (halves.empty())
      return {reinterpret_cast<std::byte *>(values.data()), static_cast<int64_t>(values.size() * sizeof(float))};
    return {reinterpret_cast<std::byte *>(halves.data()), static_cast<int64_t>(halves.size() * sizeof(uint16_t))};
  }
  const Floats &read() {
    for (size_t i = 0; i < halves.size(); ++i) {
      const uint32_t bits = uint32_t{halves[i]} << 16;
      std::memcpy(&values[i], &bits, sizeof(bits));
    }
    return values;
  }

private:
  Floats values;
  std::vector<uint16_t> halves;
};

/// Launches attention and its gradient, and compares them with the reference.
class AttentionTest : public DeviceCallTest {
protected:
  void launchAttention(const Case &c, bool isGradient, std::vector<runtime::Buffer> buffers) {
    const exec::AttentionExtents extents{isGradient, c.hasMask, 1,       c.positions,
                                         c.keys,     c.heads,   c.width, c.isSmall ? 2 : 4};
    const int64_t bytes = *exec::deviceAttentionWorkspace(extents);
    std::vector<std::byte> workspace(bytes, std::byte{0x7f});
    if (bytes > 0)
      buffers.push_back(bufferOf(workspace));
    launch(absl::StrCat("attention<", isGradient ? "gradient = true, " : "", "samples = 1, positions = ", c.positions,
                        ", keys = ", c.keys, ", heads = ", c.heads, ", width = ", c.width,
                        ", scale = ", std::to_string(c.scale), ", causal = ", c.isCausal ? "true" : "false",
                        ", type = ", c.isSmall ? "bf16" : "f32", c.hasMask ? ", mask_type = i64" : "",
                        c.hasStatistics ? ", statistics = true" : "", ", workspace = ", bytes, ">"),
           buffers);
  }

  static void expectNear(const Floats &found, const Floats &expected, double tolerance) {
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(found[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << "at " << i;
  }

  void compare(const Case &c) {
    SCOPED_TRACE(absl::StrCat(c.positions, " positions, ", c.keys, " keys, ", c.width, " wide, causal: ", c.isCausal,
                              ", mask: ", c.hasMask, ", statistics: ", c.hasStatistics, ", bf16: ", c.isSmall));
    const int64_t ofQueries = c.positions * c.heads * c.width, ofKeys = c.keys * c.heads * c.width;
    auto operand = [&](Floats values) { return Operand(std::move(values), c.isSmall); };
    auto drawnAs = [&](int64_t count, int64_t seed) {
      Floats values = drawn(count, seed);
      for (float &value : values)
        value = c.arePositive ? std::abs(value) : value;
      return values;
    };
    const Floats drawnGradient = drawnAs(ofQueries, 1), drawnQuery = drawnAs(ofQueries, 2),
                 drawnKey = drawnAs(ofKeys, 3), drawnValue = drawnAs(ofKeys, 4);
    Operand gradient = operand(drawnGradient), query = operand(drawnQuery), key = operand(drawnKey),
            value = operand(drawnValue), output = operand(Floats(ofQueries, 77)),
            queryGrad = operand(Floats(ofQueries, 77)), keyGrad = operand(Floats(ofKeys, 77)),
            valueGrad = operand(Floats(ofKeys, 77));
    Floats statistics(c.heads * c.positions, 77);
    std::vector<int64_t> mask(c.keys);
    for (int64_t j = 0; j < c.keys; ++j)
      mask[j] = j % 3 != 1;
    std::vector<runtime::Buffer> operands = {query.buffer(), key.buffer(), value.buffer()};
    if (c.hasMask)
      operands.push_back(bufferOf(mask));
    std::vector<runtime::Buffer> forward = operands, backward = {gradient.buffer()};
    forward.push_back(output.buffer());
    backward.insert(backward.end(), operands.begin(), operands.end());
    if (c.hasStatistics) {
      forward.push_back(bufferOf(statistics));
      backward.insert(backward.end(), {output.buffer(), bufferOf(statistics)});
    }
    for (Operand *result : {&queryGrad, &keyGrad, &valueGrad})
      backward.push_back(result->buffer());
    launchAttention(c, false, forward);
    launchAttention(c, true, backward);
    const Reference expected(c, drawnGradient, drawnQuery, drawnKey, drawnValue);
    const double tolerance = c.isSmall ? 1e-2 : 1e-5;
    expectNear(output.read(), expected.output, tolerance);
    if (c.hasStatistics)
      expectNear(statistics, expected.statistics, c.isSmall ? 1e-3 : 1e-5);
    const double scaled = tolerance * std::max(1.0, c.scale); // errors of the probabilities are multiplied by the scale
    expectNear(queryGrad.read(), expected.queryGrad, scaled);
    expectNear(keyGrad.read(), expected.keyGrad, scaled);
    expectNear(valueGrad.read(), expected.valueGrad, tolerance);
  }
};

} // namespace splitcast::gpu_tests

#endif // SPLITCAST_TESTS_GPU_ATTENTIONCASE_H
