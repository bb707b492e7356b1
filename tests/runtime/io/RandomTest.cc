#include "runtime/io/Random.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace splitcast::runtime {
namespace {

/// Known answers that the authors publish with Random123 (kat_vectors, philox4x32 10).
TEST(PhiloxTest, KnownAnswers) {
  using Words = std::array<uint32_t, 4>;
  struct Row {
    Words counter;
    std::array<uint32_t, 2> key;
    Words expected;
  };
  const Row rows[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const Row &row : rows)
    EXPECT_EQ(philox(row.counter, row.key), row.expected);
}

/// The test vectors of the authors of FNV.
TEST(HashNameTest, KnownAnswers) {
  EXPECT_EQ(hashName(""), 0xcbf29ce484222325u);
  EXPECT_EQ(hashName("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(hashName("foobar"), 0x85944171f73967e8u);
}

enum class Kind { Uniform, Normal };

template <typename T> std::vector<T> fill(Kind kind, RandomKey key, int64_t begin, int64_t count) {
  std::vector<T> out(count + 1, T(99)); // one more, to see that nothing is written behind the end
  if (kind == Kind::Uniform)
    fillUniform(key, begin, count, -2.0f, 3.0f, out.data());
  else
    fillNormal(key, begin, count, 1.0f, 0.5f, out.data());
  EXPECT_EQ(out.back(), T(99));
  out.pop_back();
  return out;
}

template <typename T> bool sameBits(const T *a, const T *b, int64_t count) {
  return std::memcmp(a, b, count * sizeof(T)) == 0;
}

template <typename T> class FillTest : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(FillTest, Types);

TYPED_TEST(FillTest, AnyPieceHasTheBitsOfTheWhole) {
  RandomKey key{7, hashName("layer0.weight")};
  for (Kind kind : {Kind::Uniform, Kind::Normal}) {
    std::vector<TypeParam> whole = fill<TypeParam>(kind, key, 0, 41);
    for (int64_t begin = 41; begin-- > 0;)
      for (int64_t count = 0; begin + count <= 41; ++count) {
        std::vector<TypeParam> piece = fill<TypeParam>(kind, key, begin, count);
        ASSERT_TRUE(sameBits(piece.data(), whole.data() + begin, count)) << begin << " " << count;
      }
  }
}

TYPED_TEST(FillTest, PiecesBeyond32BitsDiffer) {
  RandomKey key{7, 8};
  for (Kind kind : {Kind::Uniform, Kind::Normal}) {
    int64_t far = int64_t{1} << 33; // pair 2^32: the low word of the counter is 0 again
    EXPECT_FALSE(sameBits(fill<TypeParam>(kind, key, 0, 4).data(), fill<TypeParam>(kind, key, far, 4).data(), 4));
    std::vector<TypeParam> across = fill<TypeParam>(kind, key, far - 3, 6), end = fill<TypeParam>(kind, key, far, 3);
    EXPECT_TRUE(sameBits(across.data() + 3, end.data(), 3));
  }
}

TYPED_TEST(FillTest, EveryBitOfTheKeyCounts) {
  for (Kind kind : {Kind::Uniform, Kind::Normal}) {
    std::vector<TypeParam> base = fill<TypeParam>(kind, {0, 0}, 0, 4);
    for (int bit = 0; bit < 64; ++bit) {
      uint64_t one = uint64_t{1} << bit;
      std::vector<TypeParam> seed = fill<TypeParam>(kind, {one, 0}, 0, 4), name = fill<TypeParam>(kind, {0, one}, 0, 4);
      EXPECT_FALSE(sameBits(base.data(), seed.data(), 4)) << bit;
      EXPECT_FALSE(sameBits(base.data(), name.data(), 4)) << bit;
      EXPECT_FALSE(sameBits(seed.data(), name.data(), 4)) << bit;
    }
  }
}

TYPED_TEST(FillTest, UniformIsEven) {
  constexpr int64_t kCount = 100000, kBins = 50;
  std::vector<TypeParam> values = fill<TypeParam>(Kind::Uniform, {1, 2}, 0, kCount);
  std::vector<int64_t> bins(kBins);
  for (TypeParam value : values) {
    ASSERT_GE(value, TypeParam(-2));
    ASSERT_LT(value, TypeParam(3));
    ++bins[static_cast<int64_t>((value + 2) / 5 * kBins)];
  }
  double chiSquare = 0, expected = static_cast<double>(kCount) / kBins;
  for (int64_t count : bins)
    chiSquare += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chiSquare, 85.35); // 49 degrees of freedom, p = 0.001
}

TYPED_TEST(FillTest, NormalHasItsMomentsAndTails) {
  constexpr int64_t kCount = 200000;
  std::vector<TypeParam> values = fill<TypeParam>(Kind::Normal, {1, 2}, 0, kCount);
  double sum = 0, squares = 0, fourth = 0, neighbours = 0;
  int64_t beyondTwo = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    double z = (values[i] - 1.0) / 0.5;
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
    beyondTwo += std::abs(z) > 2;
    if (i % 2)
      neighbours += z * (values[i - 1] - 1.0) / 0.5;
  }
  // Bounds are four standard errors.
  double root = std::sqrt(static_cast<double>(kCount));
  EXPECT_NEAR(sum / kCount, 0, 4 / root);
  EXPECT_NEAR(squares / kCount, 1, 4 * std::sqrt(2.0) / root);
  EXPECT_NEAR(fourth / kCount, 3, 4 * std::sqrt(96.0) / root);
  EXPECT_NEAR(neighbours / (kCount / 2), 0, 4 * std::sqrt(2.0) / root);
  EXPECT_NEAR(static_cast<double>(beyondTwo) / kCount, 0.0455, 4 * std::sqrt(0.0455 * 0.9545) / root);
}

TYPED_TEST(FillTest, EdgesOfUniform) {
  TypeParam out[64];
  fillUniform({1, 1}, 0, 64, 2.0f, 2.0f, out);
  EXPECT_TRUE(std::all_of(out, out + 64, [](TypeParam value) { return value == 2; }));
  // Only two floats lie in [lo, hi): rounding must not give the third.
  float lo = 1.0f, hi = std::nextafter(std::nextafter(lo, 2.0f), 2.0f);
  fillUniform({1, 1}, 0, 64, lo, hi, out);
  EXPECT_TRUE(std::all_of(out, out + 64, [&](TypeParam value) { return value >= lo && value < hi; }));
}

TYPED_TEST(FillTest, Constant) {
  std::vector<TypeParam> out(5, 9);
  fillConstant(4, 0.1, out.data());
  EXPECT_EQ(out, (std::vector<TypeParam>{TypeParam(0.1), TypeParam(0.1), TypeParam(0.1), TypeParam(0.1), 9}));
}

TEST(FillAcrossTypesTest, FloatsAreRoundedDoubles) {
  for (Kind kind : {Kind::Uniform, Kind::Normal}) {
    std::vector<float> floats = fill<float>(kind, {5, 6}, 3, 1000);
    std::vector<double> doubles = fill<double>(kind, {5, 6}, 3, 1000);
    for (size_t i = 0; i < floats.size(); ++i)
      EXPECT_EQ(floats[i], static_cast<float>(doubles[i]));
  }
}

} // namespace
} // namespace splitcast::runtime
