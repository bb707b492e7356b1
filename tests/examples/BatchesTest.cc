#include "examples/common/Batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace splitcast {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorInfo infoOf(const std::string &name, runtime::ElementType type, const sbp::Shape &shape) {
  TensorInfo info;
  info.name = name;
  info.type = type;
  info.shape = shape;
  return info;
}

const TensorInfo kX = infoOf("x", runtime::ElementType::F32, {8, 3});
const TensorInfo kLabels = infoOf("labels", runtime::ElementType::I64, {8});

absl::Status fillX(int64_t step, const sbp::Interval &rows, absl::Span<float> to) {
  for (size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<float>(step * 100 + rows.begin * 3) + static_cast<float>(i);
  return absl::OkStatus();
}

absl::Status fillLabels(int64_t step, const sbp::Interval &rows, absl::Span<int64_t> to) {
  for (int64_t row = 0; row < rows.count; ++row)
    to[row] = step * 100 + rows.begin + row;
  return absl::OkStatus();
}

Batches xAndLabels() {
  Batches batches;
  batches.add<float>("x", fillX).add<int64_t>("labels", fillLabels);
  return batches;
}

template <typename T> absl::Span<std::byte> bytesOf(std::vector<T> &values) {
  return {reinterpret_cast<std::byte *>(values.data()), values.size() * sizeof(T)};
}

/// That it fails, and says all this.
template <typename... Parts> void expectInvalid(const absl::Status &status, const Parts &...parts) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(parts)...));
}

TEST(Batches, MakeRowsOfEachInputWithItsFill) {
  const Batches batches = xAndLabels();
  std::vector<float> x(6);
  std::vector<int64_t> labels(2);
  EXPECT_TRUE(batches.make(kX, 1, {4, 2}, bytesOf(x)).ok());
  EXPECT_TRUE(batches.make(kLabels, 2, {6, 2}, bytesOf(labels)).ok());
  EXPECT_THAT(x, ElementsAre(112, 113, 114, 115, 116, 117));
  EXPECT_THAT(labels, ElementsAre(206, 207));
}

// A rank without rows of a batch that is smaller than the number of ranks.
TEST(Batches, NoRowsNeedNoRoom) {
  const Batches batches = xAndLabels();
  EXPECT_TRUE(batches.make(kX, 0, {8, 0}, {}).ok());
  std::vector<float> x(1);
  expectInvalid(batches.make(kX, 0, {8, 0}, bytesOf(x)), "0 rows of the input 'x' have 0 bytes", "room for 4");
}

TEST(Batches, RoomIsThatOfTheRows) {
  const Batches batches = xAndLabels();
  for (size_t elements : {0, 5, 7}) {
    std::vector<float> x(elements);
    expectInvalid(batches.make(kX, 0, {0, 2}, bytesOf(x)), "2 rows of the input 'x' have 24 bytes");
  }
  expectInvalid(batches.make(infoOf("x", runtime::ElementType::F32, {}), 0, {0, 0}, {}), "'x' has no dimensions");
}

TEST(Batches, TypesAreThoseOfTheInputs) {
  const Batches batches = xAndLabels();
  const TensorInfo narrow = infoOf("labels", runtime::ElementType::I32, {8});
  std::vector<int32_t> labels(8);
  expectInvalid(batches.make(narrow, 0, {0, 8}, bytesOf(labels)), "'labels' has elements of i32", "added with i64");
  expectInvalid(batches.check("train", {kX, narrow}), "@train", "'labels' has elements of i32", "added with i64");
}

TEST(Batches, OnlyWhatWasAddedIsMade) {
  std::vector<int64_t> labels(8);
  expectInvalid(Batches().make(kLabels, 0, {0, 8}, bytesOf(labels)), "the input 'labels' has no fill", "for none");
  Batches batches;
  batches.add<float>("x", fillX);
  expectInvalid(batches.make(kLabels, 0, {0, 8}, bytesOf(labels)), "the input 'labels' has no fill", "for 'x'");
}

TEST(Batches, InputsAndFillsAreTheSame) {
  Batches batches = xAndLabels();
  EXPECT_TRUE(batches.check("train", {kX, kLabels}).ok());
  const TensorInfo mask = infoOf("mask", runtime::ElementType::F32, {8});
  expectInvalid(batches.check("train", {kX, kLabels, mask}), "@train, whose inputs are 'x', 'labels', 'mask'",
                "the input 'mask' has no fill", "fills were added for 'x', 'labels'");
  expectInvalid(batches.check("train", {kX}), "@train, whose inputs are 'x'", "'labels' is not an input",
                "fills were added for 'x', 'labels'");
  expectInvalid(batches.check("train", {}), "whose inputs are none", "'x' is not an input");
  EXPECT_TRUE(batches.check("train", {kX}, {kX, kLabels}).ok()); // another function takes the labels
}

TEST(Batches, ErrorsOfFillsAreThoseOfMake) {
  Batches batches;
  batches.add<float>(
      "x", [](int64_t, const sbp::Interval &, absl::Span<float>) { return absl::DataLossError("the file ends"); });
  std::vector<float> x(3);
  const absl::Status status = batches.make(kX, 0, {0, 1}, bytesOf(x));
  EXPECT_EQ(status, absl::DataLossError("the file ends"));
}

TEST(Batches, TheLastFillOfANameHolds) {
  Batches batches = xAndLabels();
  batches.add<float>("x", [](int64_t, const sbp::Interval &, absl::Span<float> to) {
    std::fill(to.begin(), to.end(), 7.0F);
    return absl::OkStatus();
  });
  std::vector<float> x(3);
  EXPECT_TRUE(batches.make(kX, 0, {0, 1}, bytesOf(x)).ok());
  EXPECT_THAT(x, ElementsAre(7, 7, 7));
  EXPECT_TRUE(batches.check("train", {kX, kLabels}).ok());
}

} // namespace
} // namespace splitcast
