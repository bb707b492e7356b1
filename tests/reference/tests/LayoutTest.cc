#include "tests/reference/Layout.h"
#include "tests/reference/TreeSum.h"
#include "tests/reference/tests/Fixture.h"

#include <numeric>

namespace splitcast::reference {
namespace {

using sbp::NdSbp;
using sbp::Placement;
using sbp::Sbp;

class LayoutTest : public ReferenceTest {
protected:
  Tensor counting(sbp::Shape shape) {
    std::vector<double> numbers(sbp::numElements(shape));
    std::iota(numbers.begin(), numbers.end(), 1);
    return f32(std::move(shape), numbers);
  }

  const Placement line{"cpu", {{"dp", 4}}, {}};
  const Placement mesh{"cpu", {{"dp", 2}, {"tp", 3}}, {5, 4, 3, 2, 1, 0}};
};

TEST_F(LayoutTest, CutsRaggedRows) {
  absl::StatusOr<std::vector<Tensor>> pieces = cut(counting({5, 2}), {Sbp::split(0)}, line);
  ASSERT_TRUE(pieces.ok()) << pieces.status();
  ASSERT_EQ(pieces->size(), 4u);
  EXPECT_EQ((*pieces)[0].shape, (sbp::Shape{2, 2}));
  EXPECT_EQ((*pieces)[0].floats, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ((*pieces)[3].floats, (std::vector<double>{9, 10}));
}

TEST_F(LayoutTest, CutsColumnsSlotsAndAddends) {
  absl::StatusOr<std::vector<Tensor>> columns = cut(counting({2, 3}), {Sbp::broadcast(), Sbp::split(1)}, mesh);
  ASSERT_TRUE(columns.ok()) << columns.status();
  EXPECT_EQ((*columns)[4].floats, (std::vector<double>{2, 5}));
  // Elements 3..12 of a bucket of 16, in chunks of 4.
  absl::StatusOr<std::vector<Tensor>> flat = cut(counting({10}), {Sbp::flat({"g", 3, 16})}, line);
  ASSERT_TRUE(flat.ok()) << flat.status();
  EXPECT_EQ((*flat)[0].floats, (std::vector<double>{1}));
  EXPECT_EQ((*flat)[1].floats, (std::vector<double>{2, 3, 4, 5}));
  EXPECT_EQ((*flat)[3].floats, (std::vector<double>{10}));
  absl::StatusOr<std::vector<Tensor>> addends = cut(counting({2}), {Sbp::partial()}, line);
  ASSERT_TRUE(addends.ok()) << addends.status();
  EXPECT_EQ((*addends)[0].floats, (std::vector<double>{1, 2}));
  EXPECT_EQ((*addends)[3].floats, (std::vector<double>{0, 0}));
}

TEST_F(LayoutTest, AssemblesWhatItCut) {
  const std::vector<NdSbp> signatures = {
      {Sbp::split(0), Sbp::split(0)},           {Sbp::split(1), Sbp::split(0)},
      {Sbp::split(1), Sbp::broadcast()},        {Sbp::broadcast(), Sbp::broadcast()},
      {Sbp::partial(), Sbp::split(1)},          {Sbp::partial(), Sbp::partial()},
      {Sbp::flat({"g", 2, 64}), Sbp::split(1)}, {Sbp::split(0), Sbp::flat({"g", 0, 30})}};
  for (const NdSbp &signature : signatures)
    for (sbp::Shape shape : {sbp::Shape{5, 4}, {1, 1}, {0, 3}, {7, 2}}) {
      SCOPED_TRACE(toString(signature));
      Tensor global = counting(shape);
      absl::StatusOr<std::vector<Tensor>> pieces = cut(global, signature, mesh);
      ASSERT_TRUE(pieces.ok()) << pieces.status();
      absl::StatusOr<Tensor> whole = assemble(*pieces, shape, signature, mesh, Precision::F32);
      ASSERT_TRUE(whole.ok()) << whole.status();
      EXPECT_EQ(whole->floats, global.floats);
      EXPECT_EQ(whole->shape, shape);
    }
}

TEST_F(LayoutTest, SumsAddendsInTheTree) {
  std::vector<Tensor> addends;
  for (double value : {0x1p24, 1.0, 1.0, 1.0}) // left to right would stay 2^24
    addends.push_back(f32({1}, {value}));
  EXPECT_EQ(assemble(addends, {1}, {Sbp::partial()}, line, Precision::F32)->floats[0], 0x1p24 + 2);
  EXPECT_EQ(assemble(addends, {1}, {Sbp::partial()}, line, Precision::F64)->floats[0], 0x1p24 + 3);
}

TEST_F(LayoutTest, NamesRanksWhoseCopiesDiffer) {
  std::vector<Tensor> copies(6, f32({2}, {1, 2}));
  copies[2].floats[1] = -2; // position 2 is held by rank 3
  absl::Status status = assemble(copies, {2}, {Sbp::broadcast(), Sbp::broadcast()}, mesh, Precision::F32).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "the tensor: element 1 is 2 on rank 5 but -2 on rank 3; copies must have the same bits");
  std::vector<Tensor> zeros = {f32({1}, {0.0}), f32({1}, {-0.0})}; // equal, but not the same bits
  EXPECT_FALSE(assemble(zeros, {1}, {Sbp::broadcast()}, {"cpu", {{"dp", 2}}, {}}, Precision::F32).ok());
}

TEST_F(LayoutTest, RefusesSignaturesAndPiecesThatDoNotFit) {
  Tensor x = counting({4});
  EXPECT_FALSE(cut(x, {}, line).ok());
  EXPECT_FALSE(cut(x, {Sbp::split(1)}, line).ok());
  EXPECT_FALSE(cut(x, {Sbp::flat({"g", 0, 18})}, line).ok()); // no multiple of 4
  EXPECT_FALSE(cut(x, {Sbp::flat({"g", 1, 4})}, line).ok());  // one element too many
  EXPECT_TRUE(cut(x, {Sbp::flat({"g", 0, 4})}, line).ok());
  EXPECT_FALSE(cut(x, {Sbp::flat({"g", 0, 4}), Sbp::flat({"g", 0, 6})}, mesh).ok());
  EXPECT_FALSE(assemble({x}, {4}, {Sbp::broadcast()}, line, Precision::F32).ok());
  EXPECT_FALSE(assemble({x, x, x, x}, {4}, {Sbp::split(0)}, line, Precision::F32).ok());
  Tensor integer = tensor("tensor<1xi32>", {1});
  EXPECT_FALSE(assemble({integer, integer, integer, integer}, {1}, {Sbp::partial()}, line, Precision::F32).ok());
}

// The tree of runtime/api/Communicator.h, written out for each number of addends.
TEST_F(LayoutTest, TreeSumIsTheTreeOfTheContract) {
  std::vector<float> a;
  uint64_t state = 7;
  for (int i = 0; i < 9; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    a.push_back(static_cast<float>(static_cast<int64_t>(state)) * 1e-15f * (i % 3 == 1 ? 1000 : 1));
  }
  float four = (a[0] + a[1]) + (a[2] + a[3]);
  const float expected[] = {a[0],
                            a[0] + a[1],
                            (a[0] + a[1]) + a[2],
                            four,
                            four + a[4],
                            four + (a[4] + a[5]),
                            four + ((a[4] + a[5]) + a[6]),
                            four + ((a[4] + a[5]) + (a[6] + a[7])),
                            (four + ((a[4] + a[5]) + (a[6] + a[7]))) + a[8]};
  std::vector<Tensor> addends;
  for (int count = 1; count <= 9; ++count) {
    addends.push_back(f32({1}, {a[count - 1]}));
    EXPECT_EQ(treeSum(addends, Precision::F32).floats[0], expected[count - 1]) << count;
  }
}

} // namespace
} // namespace splitcast::reference
