//===- TreeSumTest.cc - The fixed order of sums ----------------------------===//
#include "runtime/host/communicator/TreeSum.h"
#include "tests/runtime/conformance/SuiteSupport.h"

namespace splitcast::runtime::conformance {
namespace {

template <typename T> std::vector<std::vector<T>> roughAddends(int64_t count, int64_t elements) {
  std::vector<std::vector<T>> addends(count, std::vector<T>(elements));
  for (int64_t a = 0; a < count; ++a)
    for (int64_t i = 0; i < elements; ++i)
      addends[a][i] = static_cast<T>(roughAt(a, i));
  return addends;
}

template <typename T> std::vector<T> expectedSums(const std::vector<std::vector<T>> &addends) {
  std::vector<T> sums;
  for (size_t i = 0; i < addends.front().size(); ++i) {
    std::vector<T> column;
    for (const std::vector<T> &addend : addends)
      column.push_back(addend[i]);
    sums.push_back(counterSum<T>(column));
  }
  return sums;
}

template <typename T> std::vector<const void *> pointers(const std::vector<std::vector<T>> &addends, int64_t begin) {
  std::vector<const void *> result;
  for (const std::vector<T> &addend : addends)
    result.push_back(addend.data() + begin);
  return result;
}

template <typename T> class TreeSumTest : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(TreeSumTest, Types);

// Any number of addends gives the bits of the binary counter, for lengths on both sides of a vector and of a block.
TYPED_TEST(TreeSumTest, IsTheBinaryCounter) {
  for (int64_t count : {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 64, 100, 1000})
    for (int64_t elements : {0, 1, 7, 33, 255, 256, 257, 700}) {
      auto addends = roughAddends<TypeParam>(count, elements);
      std::vector<TypeParam> out(elements);
      treeSum(elementType<TypeParam>(), out.data(), pointers(addends, 0).data(), count, elements);
      ASSERT_EQ(out, expectedSums(addends)) << count << " addends of " << elements;
    }
}

// The result may replace any addend.
TYPED_TEST(TreeSumTest, InPlace) {
  for (int64_t count = 1; count <= 9; ++count)
    for (int64_t target = 0; target < count; ++target) {
      auto addends = roughAddends<TypeParam>(count, 600);
      std::vector<TypeParam> expected = expectedSums(addends);
      treeSum(elementType<TypeParam>(), addends[target].data(), pointers(addends, 0).data(), count, 600);
      ASSERT_EQ(addends[target], expected) << target << " of " << count;
    }
}

// Where the array is cut, and how it is aligned, changes no bit.
TYPED_TEST(TreeSumTest, CutAnywhere) {
  const int64_t elements = 1031;
  for (int64_t count : {2, 3, 4, 7, 13}) {
    auto addends = roughAddends<TypeParam>(count, elements);
    std::vector<TypeParam> expected = expectedSums(addends), out(elements);
    for (int64_t step : {1, 3, 17, 500}) {
      std::fill(out.begin(), out.end(), TypeParam(0));
      for (int64_t begin = 0; begin < elements; begin += step)
        treeSum(elementType<TypeParam>(), out.data() + begin, pointers(addends, begin).data(), count,
                std::min(step, elements - begin));
      ASSERT_EQ(out, expected) << count << " addends in steps of " << step;
    }
  }
}

// The examples of Communicator.h, in numbers whose sum shows the order: a huge one swallows a 1 before it is cancelled.
TEST(TreeSumExamples, ShowTheOrder) {
  const float huge = 1e30f;
  auto sum = [](std::vector<float> values) {
    std::vector<const void *> addends;
    for (float &value : values)
      addends.push_back(&value);
    float out = 0;
    treeSum(ElementType::F32, &out, addends.data(), addends.size(), 1);
    return out;
  };
  EXPECT_EQ(sum({huge, -huge, 1}), 1); // (a0+a1)+a2
  EXPECT_EQ(sum({huge, 1, -huge}), 0);
  EXPECT_EQ(sum({huge, -huge, 1, 2}), 3); // (a0+a1)+(a2+a3)
  EXPECT_EQ(sum({huge, 1, -huge, 2}), 0);
  EXPECT_EQ(sum({0, 0, 0, 0, huge, -huge, 1}), 1); // ((a0+a1)+(a2+a3))+((a4+a5)+a6)
  EXPECT_EQ(sum({1, 0, 0, 0, huge, -huge, 1}), 2);
  EXPECT_EQ(sum({0, 0, 0, huge, -huge, 1, 1}), 0);
}

} // namespace
} // namespace splitcast::runtime::conformance
