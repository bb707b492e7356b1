// The rows of attention on every instruction set that this CPU has. Its file is included: the copies for instruction
// sets that are not the fastest have no name outside of it.
#include "runtime/host/calls/AttentionRows.cc"

#include "gtest/gtest.h"

#include <random>
#include <string>
#include <vector>

namespace splitcast::runtime {
namespace {

template <typename Float> struct Variant {
  std::string name;
  AttentionRows<Float> rows;
};

/// The first is the one that any CPU runs.
template <typename Float> std::vector<Variant<Float>> variants() {
  std::vector<Variant<Float>> result = {{"plain", {softmaxPlain<Float>, softmaxGradPlain<Float>}}};
  if (__builtin_cpu_supports("avx2"))
    result.push_back({"AVX2", {softmaxAvx2<Float>, softmaxGradAvx2<Float>}});
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    result.push_back({"AVX-512", {softmaxAvx512<Float>, softmaxGradAvx512<Float>}});
  result.push_back({"this CPU's", AttentionRows<Float>::forThisCpu()});
  return result;
}

constexpr int64_t kCounts[] = {0, 1, 2, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 200};

template <typename Float> class AttentionRowsTest : public testing::Test {
protected:
  /// Normally distributed, `spread` wide; every `hiddenEvery`th is not seen.
  std::vector<Float> random(int64_t count, double spread, int64_t hiddenEvery = 0) {
    std::normal_distribution<double> normal(0, spread);
    std::vector<Float> result;
    for (int64_t i = 0; i < count; ++i)
      result.push_back(hiddenEvery && i % hiddenEvery == 0 ? AttentionRows<Float>::unseen() : normal(generator));
    return result;
  }

  static void expectSameBits(const std::vector<Float> &a, const std::vector<Float> &b, const std::string &what) {
    ASSERT_EQ(a.size(), b.size());
    EXPECT_TRUE(a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Float)) == 0) << what;
  }

  std::mt19937_64 generator{7};
};

using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(AttentionRowsTest, Floats);

TYPED_TEST(AttentionRowsTest, SoftmaxHasTheSameBitsOnEveryInstructionSet) {
  using Float = TypeParam;
  for (int64_t count : kCounts)
    for (double spread : {0.0, 1.0, 40.0, 1e6})
      for (int64_t hiddenEvery : {0, 1, 3}) {
        std::vector<Float> scores = this->random(count, spread, hiddenEvery), first;
        for (const Variant<Float> &variant : variants<Float>()) {
          std::vector<Float> weights = scores;
          variant.rows.softmax(weights.data(), count);
          if (first.empty())
            first = weights;
          this->expectSameBits(first, weights, variant.name + " of " + std::to_string(count));
        }
      }
}

TYPED_TEST(AttentionRowsTest, SoftmaxGradHasTheSameBitsOnEveryInstructionSet) {
  using Float = TypeParam;
  for (int64_t count : kCounts)
    for (double spread : {1.0, 1e6}) {
      std::vector<Float> weights = this->random(count, 1.0), slopes = this->random(count, spread), first;
      for (const Variant<Float> &variant : variants<Float>()) {
        std::vector<Float> result = slopes;
        variant.rows.softmaxGrad(weights.data(), result.data(), count, Float(0.125));
        if (first.empty())
          first = result;
        this->expectSameBits(first, result, variant.name + " of " + std::to_string(count));
      }
    }
}

TYPED_TEST(AttentionRowsTest, SoftmaxIsExactToAFewUnitsOfTheLastPlace) {
  using Float = TypeParam;
  for (const Variant<Float> &variant : variants<Float>())
    for (int64_t count : kCounts) {
      std::vector<Float> scores = this->random(count, 10), weights = scores;
      variant.rows.softmax(weights.data(), count);
      long double max = -1e30L, sum = 0;
      for (Float score : scores)
        max = std::max<long double>(max, score);
      for (Float score : scores)
        sum += std::exp(score - max);
      for (int64_t i = 0; i < count; ++i) {
        long double expected = std::exp(scores[i] - max) / sum;
        // The difference of scores is rounded, to half a unit of up to 64.
        double bound = expected * 48 * std::numeric_limits<Float>::epsilon();
        EXPECT_NEAR(weights[i], expected, bound) << variant.name << ", " << i << " of " << count;
      }
    }
}

TYPED_TEST(AttentionRowsTest, ExponentialsAreExactToTwoUnitsOfTheLastPlace) {
  using Float = TypeParam;
  for (double x = 0; x > -86.9; x -= 0.0137) {
    Float argument = static_cast<Float>(x);
    double expected = std::exp(static_cast<double>(argument));
    EXPECT_NEAR(exponential(argument), expected, 2 * expected * std::numeric_limits<Float>::epsilon()) << argument;
  }
  EXPECT_EQ(exponential(Float(0)), 1);
}

// A key that is not seen weighs nothing, and one far below the largest does no harm: no NaN, and nothing denormal in
// f32.
TYPED_TEST(AttentionRowsTest, SoftmaxAtItsEnds) {
  using Float = TypeParam;
  const Float unseen = AttentionRows<Float>::unseen(), infinity = std::numeric_limits<Float>::infinity();
  for (const Variant<Float> &variant : variants<Float>()) {
    SCOPED_TRACE(variant.name);
    auto softmax = [&](std::vector<Float> scores) {
      variant.rows.softmax(scores.data(), scores.size());
      return scores;
    };
    EXPECT_EQ(softmax({}), std::vector<Float>());
    EXPECT_EQ(softmax({unseen, unseen, unseen}), std::vector<Float>({0, 0, 0}));
    EXPECT_EQ(softmax(std::vector<Float>(33, unseen)), std::vector<Float>(33, 0));
    EXPECT_EQ(softmax({unseen, -5, unseen}), std::vector<Float>({0, 1, 0}));
    EXPECT_EQ(softmax({3, 3, unseen, 3, 3}), std::vector<Float>({0.25, 0.25, 0, 0.25, 0.25}));
    EXPECT_EQ(softmax({Float(1e30), Float(-1e30), Float(1e30)}), std::vector<Float>({0.5, 0, 0.5}));
    EXPECT_EQ(softmax({0, -infinity, 0}), std::vector<Float>({0.5, 0, 0.5}));
    EXPECT_EQ(softmax({Float(-1e30)}), std::vector<Float>({1}));
    const Float lowest = std::numeric_limits<Float>::lowest();
    EXPECT_EQ(softmax({lowest, unseen, lowest}), std::vector<Float>({0.5, 0, 0.5}));
    EXPECT_EQ(softmax(std::vector<Float>(20, -infinity)), std::vector<Float>(20, 0));
    for (Float weight : softmax({infinity, unseen, 1}))
      EXPECT_TRUE(std::isnan(weight)) << weight;
    std::vector<Float> scores = {2, unseen, 2, 2};
    const auto [max, sum] = variant.rows.softmax(scores.data(), 4);
    EXPECT_EQ(max, 2);
    EXPECT_EQ(sum, 3);
    EXPECT_EQ(variant.rows.softmax(nullptr, 0).sum, 0);
    EXPECT_EQ(variant.rows.softmax(std::vector<Float>(3, unseen).data(), 3).sum, 0);
    for (Float weight : softmax({1, std::numeric_limits<Float>::quiet_NaN(), 2}))
      EXPECT_TRUE(std::isnan(weight)) << weight;
  }
}

TEST(AttentionRowsOfF32, ExponentialsAreNeverDenormal) {
  for (float x = -86; x > -110; x -= 0.01F) {
    float value = exponential(x);
    EXPECT_TRUE(value == 0 || std::isnormal(value)) << x << ": " << value;
  }
  EXPECT_EQ(exponential(-std::numeric_limits<float>::infinity()), 0);
  EXPECT_EQ(exponential(std::numeric_limits<float>::lowest()), 0);
}

TYPED_TEST(AttentionRowsTest, SoftmaxGradIsExactOnIntegers) {
  using Float = TypeParam;
  for (const Variant<Float> &variant : variants<Float>())
    for (int64_t count : kCounts) {
      std::vector<Float> weights, slopes, expected;
      Float dot = 0;
      for (int64_t i = 0; i < count; ++i) {
        weights.push_back(i % 5 - 1);
        slopes.push_back(i % 7 - 3);
        dot += weights[i] * slopes[i];
      }
      for (int64_t i = 0; i < count; ++i)
        expected.push_back(weights[i] * (slopes[i] - dot) * Float(0.25));
      variant.rows.softmaxGrad(weights.data(), slopes.data(), count, Float(0.25));
      EXPECT_EQ(slopes, expected) << variant.name << ", " << count;
    }
}

} // namespace
} // namespace splitcast::runtime
