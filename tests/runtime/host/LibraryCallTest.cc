#include "tests/runtime/host/KernelFixture.h"

#include "gmock/gmock.h"

#include <algorithm>
#include <cstring>
#include <random>

// These are libgomp's functions: see OneDnn.cc.
extern "C" void omp_set_num_threads(int threads);
extern "C" int omp_get_max_threads();

namespace splitcast::runtime {
namespace {

using testing::HasSubstr;

class LibraryCallTest : public KernelFixture {
protected:
  absl::StatusOr<std::unique_ptr<Launchable>> call(const std::string &name, const std::string &config) {
    exec::LibraryCallAttrInterface parsed = parseCall(name, config);
    EXPECT_TRUE(parsed) << config;
    return device->libraryCall(parsed);
  }

  static std::string matmulConfig(int64_t m, int64_t n, int64_t k, bool ta, bool tb, const std::string &type) {
    auto flag = [](bool value) { return value ? "true" : "false"; };
    return "m = " + std::to_string(m) + ", n = " + std::to_string(n) + ", k = " + std::to_string(k) +
           ", transpose_a = " + flag(ta) + ", transpose_b = " + flag(tb) + ", type = " + type;
  }

  static std::string manyConfig(int64_t products, const std::string &one) {
    return "products = " + std::to_string(products) + ", " + one;
  }

  /// Small integers: every sum is exact, in every order.
  template <typename T> void expectExactProduct(int64_t m, int64_t n, int64_t k, bool ta, bool tb, const char *type) {
    SCOPED_TRACE(matmulConfig(m, n, k, ta, tb, type));
    std::mt19937 random(m * 31 + n * 7 + k);
    std::vector<T> a(m * k), b(k * n), c(m * n, -99), expected(m * n, 0);
    for (T &value : a)
      value = static_cast<int>(random() % 17) - 8;
    for (T &value : b)
      value = static_cast<int>(random() % 13) - 6;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        for (int64_t l = 0; l < k; ++l)
          expected[i * n + j] += (ta ? a[l * m + i] : a[i * k + l]) * (tb ? b[j * k + l] : b[l * n + j]);
    auto product = call("matmul", matmulConfig(m, n, k, ta, tb, type));
    ASSERT_TRUE(product.ok()) << product.status();
    ASSERT_EQ((*product)->launch({bufferOf(a), bufferOf(b), bufferOf(c)}, *stream), absl::OkStatus());
    EXPECT_EQ(c, expected);
  }

  /// Several products have the bits that each has alone.
  template <typename T> void expectProductsStandAlone(int64_t products, bool ta, bool tb, const std::string &type) {
    constexpr int64_t m = 33, n = 21, k = 70;
    std::mt19937 random(3);
    std::normal_distribution<T> normal;
    std::vector<T> a(products * m * k), b(products * k * n), c(products * m * n, 77), one(m * n);
    for (std::vector<T> *operand : {&a, &b})
      for (T &value : *operand)
        value = normal(random);
    std::string config = matmulConfig(m, n, k, ta, tb, type);
    auto many = call("matmul", manyConfig(products, config)), single = call("matmul", config);
    ASSERT_TRUE(many.ok() && single.ok()) << many.status() << single.status();
    ASSERT_EQ((*many)->launch({bufferOf(a), bufferOf(b), bufferOf(c)}, *stream), absl::OkStatus());
    auto part = [](std::vector<T> &all, int64_t index, int64_t count) {
      return bufferOf(all).slice(index * count * sizeof(T), count * sizeof(T));
    };
    for (int64_t i = 0; i < products; ++i) {
      ASSERT_EQ((*single)->launch({part(a, i, m * k), part(b, i, k * n), bufferOf(one)}, *stream), absl::OkStatus());
      EXPECT_EQ(std::memcmp(one.data(), c.data() + i * m * n, sizeof(T) * m * n), 0) << i << " of " << config;
    }
  }

  /// The same operands at addresses that are different multiples of 4 bytes.
  void expectSameBitsAnywhere(int64_t m, int64_t n, int64_t k, bool ta, bool tb) {
    constexpr int64_t slack = 64;
    std::mt19937 random(5);
    std::normal_distribution<float> normal;
    std::vector<float> a(m * k), b(k * n), first(m * n), other(m * n);
    for (std::vector<float> *operand : {&a, &b})
      for (float &value : *operand)
        value = normal(random);
    auto product = call("matmul", matmulConfig(m, n, k, ta, tb, "f32"));
    ASSERT_TRUE(product.ok()) << product.status();
    Buffer arena = *device->allocate(4 * (m * k + k * n + m * n + 3 * slack));
    for (int64_t shift = 0; shift < 18; ++shift) {
      Buffer left = arena.slice(4 * (shift * 5 % 17), 4 * m * k);
      Buffer right = arena.slice(4 * (m * k + slack + shift * 7 % 17), 4 * k * n);
      Buffer result = arena.slice(4 * (m * k + k * n + 2 * slack + shift * 3 % 17), 4 * m * n);
      std::memcpy(left.data, a.data(), left.bytes);
      std::memcpy(right.data, b.data(), right.bytes);
      ASSERT_EQ((*product)->launch({left, right, result}, *stream), absl::OkStatus());
      std::memcpy(shift ? other.data() : first.data(), result.data, result.bytes);
      if (shift)
        EXPECT_EQ(std::memcmp(first.data(), other.data(), result.bytes), 0)
            << matmulConfig(m, n, k, ta, tb, "f32") << ", shift " << shift;
    }
    device->release(arena);
  }
};

TEST_F(LibraryCallTest, MatmulIsExactOnIntegers) {
  struct Sizes {
    int64_t m, n, k;
  };
  for (Sizes size : {Sizes{1, 1, 1},
                     {20, 200, 200},
                     {7, 5, 3},
                     {33, 129, 65},
                     {100, 1, 300},
                     {1, 100, 300},
                     {300, 200, 20},
                     {0, 5, 3},
                     {5, 0, 3},
                     {5, 3, 0},
                     {0, 0, 0}})
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        expectExactProduct<float>(size.m, size.n, size.k, ta, tb, "f32");
        expectExactProduct<double>(size.m, size.n, size.k, ta, tb, "f64");
      }
}

TEST_F(LibraryCallTest, MatmulTakesSeveralProducts) {
  for (int threads : {1, 2}) {
    device = createHostDevice({threads, "", false});
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        expectProductsStandAlone<float>(5, ta, tb, "f32");
        expectProductsStandAlone<double>(3, ta, tb, "f64");
        expectProductsStandAlone<float>(1, ta, tb, "f32");
      }
  }
  // None at all.
  std::vector<float> nothing;
  auto none = call("matmul", manyConfig(0, matmulConfig(2, 3, 4, false, false, "f32")));
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ((*none)->launch({bufferOf(nothing), bufferOf(nothing), bufferOf(nothing)}, *stream), absl::OkStatus());
}

// Products that are done in blocks: of rows, of columns, and of columns whose rows are few.
TEST_F(LibraryCallTest, MatmulInBlocks) {
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      expectExactProduct<float>(2100, 1550, 3, ta, tb, "f32");
      expectExactProduct<float>(1100, 3001, 3, ta, tb, "f32");
      expectExactProduct<float>(5, 3300, 1000, ta, tb, "f32");
      expectExactProduct<double>(1100, 2001, 2, ta, tb, "f64");
      expectExactProduct<float>(1800, 1800, 0, ta, tb, "f32");
      expectProductsStandAlone<float>(35, ta, tb, "f32");
    }
}

// Sums of nothing are written, of every product.
TEST_F(LibraryCallTest, MatmulOfNothingIsZeroInEveryProduct) {
  auto empty = call("matmul", manyConfig(3, matmulConfig(2, 2, 0, false, false, "f32")));
  ASSERT_TRUE(empty.ok()) << empty.status();
  std::vector<float> nothing, c(12, 77);
  EXPECT_EQ((*empty)->launch({bufferOf(nothing), bufferOf(nothing), bufferOf(c)}, *stream), absl::OkStatus());
  EXPECT_EQ(c, std::vector<float>(12, 0));
}

TEST_F(LibraryCallTest, MatmulIsExactWithTwoThreads) {
  device = createHostDevice({/*threads=*/2, "", false});
  expectExactProduct<float>(20, 500, 300, false, false, "f32");
  expectExactProduct<float>(20, 500, 300, false, true, "f32");
  expectExactProduct<float>(500, 300, 20, true, false, "f32");
}

// Slices of buckets begin at any multiple of 4 bytes, and where differs from stage to stage: bits must not.
// A program's other libraries, such as PyTorch, go by the number of threads that it has set.
TEST_F(LibraryCallTest, TheThreadsOfOtherLibrariesStayAsTheyAre) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  for (const char *type : {"f32", "bf16", "f64"})
    for (int64_t rows : {1, 64, 300}) // of the primitive and of sgemm
      ASSERT_TRUE(call("matmul", matmulConfig(rows, 32, 64, false, false, type)).ok());
  expectExactProduct<float>(32, 64, 16, false, true, "f32");
  expectExactProduct<float>(300, 64, 16, true, false, "f32");
  EXPECT_EQ(omp_get_max_threads(), 3);
  omp_set_num_threads(before);
}

TEST_F(LibraryCallTest, MatmulDoesNotDependOnAddresses) {
  for (int threads : {1, 2}) {
    device = createHostDevice({threads, "", false});
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        expectSameBitsAnywhere(20, 333, 517, ta, tb);
        expectSameBitsAnywhere(131, 64, 96, ta, tb);
        expectSameBitsAnywhere(3, 10, 50, ta, tb);
      }
  }
}

TEST_F(LibraryCallTest, MatmulStaysWithinItsBuffers) {
  device = createHostDevice({1, "", /*guardPages=*/true});
  for (int flags = 0; flags < 4; ++flags) {
    auto product = call("matmul", manyConfig(2, matmulConfig(19, 67, 131, flags & 1, flags & 2, "f32")));
    Buffer a = *device->allocate(8 * 19 * 131), b = *device->allocate(8 * 131 * 67), c = *device->allocate(8 * 19 * 67);
    EXPECT_EQ((*product)->launch({a, b, c}, *stream), absl::OkStatus());
    for (Buffer buffer : {a, b, c})
      device->release(buffer);
  }
}

TEST_F(LibraryCallTest, MatmulChecksItsBuffers) {
  auto product = call("matmul", matmulConfig(2, 2, 2, false, false, "f32"));
  std::vector<float> four(4), three(3);
  EXPECT_EQ((*product)->launch({bufferOf(four), bufferOf(three), bufferOf(four)}, *stream),
            absl::InvalidArgumentError("library call 'matmul': buffer 1 has 12 bytes; argument 1 needs 16"));
  auto many = call("matmul", manyConfig(3, matmulConfig(2, 2, 2, false, false, "f32")));
  std::vector<float> twelve(12);
  EXPECT_EQ((*many)->launch({bufferOf(twelve), bufferOf(twelve), bufferOf(four)}, *stream),
            absl::InvalidArgumentError("library call 'matmul': buffer 2 has 16 bytes; argument 2 needs 48"));
}

// A call that no device knows cannot be said.
TEST_F(LibraryCallTest, UnknownCallsAreNoAttributes) {
  mlir::ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &) {});
  EXPECT_FALSE(parseCall("fft", "m = 2"));
  EXPECT_TRUE(parseCall("matmul", matmulConfig(2, 2, 2, false, false, "f32")));
}

// 1e8 + 1 - 1e8 is 0 in f32 in this order and 1 in others.
TEST_F(LibraryCallTest, EmbeddingGradAddsRowsInOrder) {
  auto gradient = call("embedding_grad", "rows = 4, vocabulary = 3, width = 2, type = f32, "
                                         "index_type = i64");
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  std::vector<int64_t> ids = {2, 0, 2, 2};
  std::vector<float> dy = {1e8f, 1, 5, 6, 1, 10, -1e8f, 100}, table(6, 77);
  ASSERT_EQ((*gradient)->launch({bufferOf(dy), bufferOf(ids), bufferOf(table)}, *stream), absl::OkStatus());
  EXPECT_EQ(table, (std::vector<float>{5, 6, 0, 0, 0, 111}));
}

// Threads share the columns, of which the last share has a few more.
TEST_F(LibraryCallTest, EmbeddingGradAddsInOneOrderOnAnyNumberOfThreads) {
  constexpr int64_t kRows = 5000, kVocabulary = 37, kWidth = 115;
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> dy(kRows * kWidth), expected(kVocabulary * kWidth);
  std::generate(dy.begin(), dy.end(), [&] { return normal(random); });
  std::vector<int64_t> ids(kRows);
  std::generate(ids.begin(), ids.end(), [&] { return random() % kVocabulary; });
  for (int64_t n = 0; n < kRows; ++n)
    for (int64_t h = 0; h < kWidth; ++h)
      expected[ids[n] * kWidth + h] += dy[n * kWidth + h];
  for (int threads : {1, 2, 3}) {
    device = createHostDevice({threads, "", false});
    auto gradient = call("embedding_grad", "rows = 5000, vocabulary = 37, width = 115, type = f32, index_type = i64");
    ASSERT_TRUE(gradient.ok()) << gradient.status();
    std::vector<float> table(expected.size(), 77);
    ASSERT_EQ((*gradient)->launch({bufferOf(dy), bufferOf(ids), bufferOf(table)}, *stream), absl::OkStatus());
    EXPECT_EQ(table, expected) << threads << " threads";
  }
}

TEST_F(LibraryCallTest, EmbeddingGradTakesI32AndF64) {
  auto gradient = call("embedding_grad", "rows = 3, vocabulary = 2, width = 1, type = f64, "
                                         "index_type = i32");
  ASSERT_TRUE(gradient.ok()) << gradient.status();
  std::vector<int32_t> ids = {1, 1, 0};
  std::vector<double> dy = {1e15, 0.5, 3}, table(2, 77);
  ASSERT_EQ((*gradient)->launch({bufferOf(dy), bufferOf(ids), bufferOf(table)}, *stream), absl::OkStatus());
  EXPECT_EQ(table, (std::vector<double>{3, 1e15 + 0.5}));
}

TEST_F(LibraryCallTest, EmbeddingGradRefusesIdsOutsideTheVocabulary) {
  auto gradient = call("embedding_grad", "rows = 2, vocabulary = 3, width = 1, type = f32, "
                                         "index_type = i32");
  std::vector<float> dy(2, 1), table(3, 77);
  for (int32_t bad : {-1, 3}) {
    std::vector<int32_t> ids = {0, bad};
    absl::Status status = (*gradient)->launch({bufferOf(dy), bufferOf(ids), bufferOf(table)}, *stream);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("ids[1] is " + std::to_string(bad) + "; the vocabulary has 3"));
    EXPECT_EQ(table, std::vector<float>(3, 77));
  }
}

// Kernels trust indices that come from outside, so they are checked first; the op that they are for is named.
TEST_F(LibraryCallTest, CheckIndicesRefusesWhatIsOutside) {
  auto check = call("check_indices", "count = 3, places = 5, type = i64, what = \"nn.embedding\"");
  ASSERT_TRUE(check.ok()) << check.status();
  std::vector<int64_t> ids = {0, 4, 2};
  EXPECT_EQ((*check)->launch({bufferOf(ids)}, *stream), absl::OkStatus());
  for (int64_t bad : {-1, 5}) {
    ids[2] = bad;
    absl::Status status = (*check)->launch({bufferOf(ids)}, *stream);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("'nn.embedding': index 2 of its input is " + std::to_string(bad)));
  }
}

// One label stands for no class; all others are still checked, and a class may be that label.
TEST_F(LibraryCallTest, CheckIndicesLetsTheIgnoredOnePass) {
  auto statusOf = [&](const char *type, int64_t ignored, auto ids) {
    auto check =
        call("check_indices", "count = 4, places = 5, type = " + std::string(type) +
                                  ", what = \"nn.softmax_cross_entropy\", ignored = " + std::to_string(ignored));
    EXPECT_TRUE(check.ok()) << check.status();
    return check.ok() ? (*check)->launch({bufferOf(ids)}, *stream) : check.status();
  };
  EXPECT_EQ(statusOf("i64", -100, std::vector<int64_t>{-100, 4, 0, -100}), absl::OkStatus());
  EXPECT_EQ(statusOf("i32", -1, std::vector<int32_t>{-1, -1, -1, -1}), absl::OkStatus());
  EXPECT_EQ(statusOf("i32", 5, std::vector<int32_t>{5, 4, 0, 1}), absl::OkStatus());
  EXPECT_EQ(statusOf("i64", 3, std::vector<int64_t>{3, 4, 0, 1}), absl::OkStatus());
  for (int64_t bad : {-99, -101, 5}) {
    absl::Status status = statusOf("i64", -100, std::vector<int64_t>{-100, bad, 0, -100});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("'nn.softmax_cross_entropy': index 1 of its input is " +
                                                         std::to_string(bad) + "; it must be from 0 to 4"));
  }
  EXPECT_EQ(statusOf("i32", 3, std::vector<int32_t>{3, 4, -1, 1}).code(), absl::StatusCode::kInvalidArgument);
  // No i32 is 2^32 - 1, although its lower half is -1's.
  EXPECT_EQ(statusOf("i32", 4294967295, std::vector<int32_t>{0, 4, -1, 1}).code(), absl::StatusCode::kInvalidArgument);
}

} // namespace
} // namespace splitcast::runtime
