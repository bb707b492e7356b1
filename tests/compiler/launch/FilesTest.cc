#include "compiler/LaunchFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

namespace splitcast {
namespace {

using ::testing::ElementsAre;

std::vector<sbp::Run> rowsOf(const sbp::Shape &shape, const std::vector<sbp::Interval> &box) {
  std::vector<sbp::Run> rows;
  EXPECT_TRUE(forEachRow(shape, box, [&](const sbp::Run &row) {
                rows.push_back(row);
                return absl::OkStatus();
              }).ok());
  return rows;
}

/// Every element of the box, one by one: where it is in the tensor, in the box's order.
std::vector<int64_t> elementsOf(const sbp::Shape &shape, const std::vector<sbp::Interval> &box, size_t dim = 0,
                                int64_t base = 0) {
  if (dim == shape.size())
    return {base};
  std::vector<int64_t> elements;
  for (int64_t i = 0; i < box[dim].count; ++i)
    for (int64_t element : elementsOf(shape, box, dim + 1, base * shape[dim] + box[dim].begin + i))
      elements.push_back(element);
  return elements;
}

TEST(ForEachRow, WholeTensorsAndLeadingSplitsAreOneRow) {
  EXPECT_THAT(rowsOf({}, {}), ElementsAre(sbp::Run{0, 0, 1}));
  EXPECT_THAT(rowsOf({4, 3}, {{0, 4}, {0, 3}}), ElementsAre(sbp::Run{0, 0, 12}));
  EXPECT_THAT(rowsOf({4, 3}, {{2, 2}, {0, 3}}), ElementsAre(sbp::Run{6, 0, 6}));
  EXPECT_THAT(rowsOf({4, 3}, {{1, 2}, {1, 2}}), ElementsAre(sbp::Run{4, 0, 2}, sbp::Run{7, 2, 2}));
}

TEST(ForEachRow, EmptyBoxesHaveNone) {
  EXPECT_THAT(rowsOf({4, 3}, {{4, 0}, {0, 3}}), ElementsAre());
  EXPECT_THAT(rowsOf({0, 3}, {{0, 0}, {0, 3}}), ElementsAre());
  EXPECT_THAT(rowsOf({4, 3}, {{0, 4}, {3, 0}}), ElementsAre());
}

TEST(ForEachRow, AgreesWithElementByElement) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    sbp::Shape shape;
    std::vector<sbp::Interval> box;
    for (size_t dim = 0, rank = random() % 5; dim < rank; ++dim) {
      int64_t extent = 1 + random() % 4, begin = random() % (extent + 1);
      shape.push_back(extent);
      box.push_back({begin, static_cast<int64_t>(random() % (extent - begin + 1))});
    }
    std::vector<int64_t> elements;
    for (const sbp::Run &row : rowsOf(shape, box)) {
      EXPECT_EQ(row.local, static_cast<int64_t>(elements.size()));
      for (int64_t i = 0; i < row.count; ++i)
        elements.push_back(row.logical + i);
    }
    EXPECT_EQ(elements, elementsOf(shape, box));
  }
}

TEST(ForEachRow, StopsAtTheFirstError) {
  int64_t calls = 0;
  absl::Status status = forEachRow({3, 3}, {{0, 3}, {0, 1}}, [&](const sbp::Run &) {
    return ++calls == 2 ? absl::DataLossError("here") : absl::OkStatus();
  });
  EXPECT_EQ(status.message(), "here");
  EXPECT_EQ(calls, 2);
}

} // namespace
} // namespace splitcast
