// The embedding's gradient as a GPU's threads make it: tables that end within a block, rows wider than registers hold,
// rows that occur often, few indices. Sums are rounded, and compared exactly: their order is that of the indices, or of
// pieces of these.
#include "runtime/gpu/EmbeddingGradKernel.h"
#include "tests/gpu/DeviceCallTest.h"

#include <functional>

namespace splitcast::gpu_tests {
namespace {

struct Shape {
  int64_t rows, vocabulary, width;
};

using runtime::EmbeddingGradKernel;
using IdOf = std::function<int64_t(int64_t)>;

class EmbeddingGradTest : public DeviceCallTest {
protected:
  /// The table, which held other values, and what it should be.
  void compare(const Shape &shape, const IdOf &idOf) {
    const auto [rows, vocabulary, width] = shape;
    std::vector<int64_t> ids(rows);
    std::vector<float> gradient(rows * width), table(vocabulary * width, 77);
    for (int64_t i = 0; i < rows; ++i) {
      ids[i] = idOf(i);
      for (int64_t column = 0; column < width; ++column)
        gradient[i * width + column] = static_cast<float>((i * 7 + column) % 101) / 7;
    }
    std::vector<int32_t> workspace(3 * rows + vocabulary + 1, -1);
    launch(absl::StrCat("embedding_grad<rows = ", rows, ", vocabulary = ", vocabulary, ", width = ", width,
                        ", type = f32, index_type = i64, workspace = ",
                        *exec::deviceEmbeddingGradWorkspace(rows, vocabulary), ">"),
           {bufferOf(gradient), bufferOf(ids), bufferOf(table), bufferOf(workspace)});
    EXPECT_EQ(table, expectedOf(shape, ids, gradient));
  }

  static std::vector<float> expectedOf(const Shape &shape, const std::vector<int64_t> &ids,
                                       const std::vector<float> &gradient) {
    const auto [rows, vocabulary, width] = shape;
    std::vector<float> expected(vocabulary * width);
    for (int64_t row = 0; row < vocabulary; ++row) {
      std::vector<int64_t> listed;
      for (int64_t i = 0; i < rows; ++i)
        if (ids[i] == row)
          listed.push_back(i);
      const auto count = static_cast<int64_t>(listed.size());
      const int64_t pieces = count > EmbeddingGradKernel::kMostAlone ? EmbeddingGradKernel::kPieces : 1;
      for (int64_t column = 0; column < width; ++column)
        for (int64_t piece = 0; piece < pieces; ++piece) {
          float sum = 0;
          for (int64_t i = count * piece / pieces; i < count * (piece + 1) / pieces; ++i)
            sum += gradient[listed[i] * width + column];
          expected[row * width + column] += sum;
        }
    }
    return expected;
  }
};

TEST_F(EmbeddingGradTest, TheLastBlockHasFewRows) {
  compare({/*rows=*/300, /*vocabulary=*/130, /*width=*/5}, [](int64_t i) { return i * 37 % 130; });
}

TEST_F(EmbeddingGradTest, ARowIsWiderThanRegistersHold) {
  compare({/*rows=*/9, /*vocabulary=*/3, /*width=*/1100}, [](int64_t i) { return i % 2 * 2; });
}

// Fewer than parts of the indices, as many as a thread loads at once in each, and one more.
TEST_F(EmbeddingGradTest, FewIndices) {
  for (const int64_t rows : {1, 3, 4, 5, 32, 33, 37}) {
    SCOPED_TRACE(rows);
    compare({rows, /*vocabulary=*/65, /*width=*/33}, [](int64_t i) { return 64 - i % 2 * 64; });
  }
}

// They are found by a kernel beside this one, which must write nothing elsewhere meanwhile.
TEST_F(EmbeddingGradTest, IndicesOutsideOfTheTableAreNobodys) {
  const std::vector<int64_t> wrong = {-1, 70, 127, 128, INT64_MIN, INT64_MAX};
  compare({/*rows=*/60, /*vocabulary=*/70, /*width=*/4},
          [&](int64_t i) { return i % 2 ? i : wrong[i / 2 % wrong.size()]; });
}

TEST_F(EmbeddingGradTest, RowsThatOccurOften) {
  compare({/*rows=*/2001, /*vocabulary=*/66, /*width=*/3}, [](int64_t) { return 1; });
  // As many as one warp adds, and one more; columns of two slices; several such rows of one block.
  compare({/*rows=*/580, /*vocabulary=*/9, /*width=*/259}, [](int64_t i) { return i < 64 ? 0 : i < 129 ? 2 : i % 7; });
  compare({/*rows=*/2050, /*vocabulary=*/200, /*width=*/3},
          [](int64_t i) { return i < 1900 ? i * 5 % 64 : 64 + i % 130; });
}

} // namespace
} // namespace splitcast::gpu_tests
