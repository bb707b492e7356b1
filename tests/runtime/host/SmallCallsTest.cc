//===- SmallCallsTest.cc - Library calls of bf16 and f16 -----------------------===//
//
// Beside the same calls of f32, on operands that are widened, whose results are rounded.
//
//===----------------------------------------------------------------------===//
#include "dialects/exec/AttentionWorkspace.h"
#include "dialects/exec/EmbeddingWorkspace.h"
#include "runtime/api/SmallFloat.h"
#include "tests/runtime/host/KernelFixture.h"

#include "absl/strings/str_cat.h"

#include <cmath>
#include <cstring>
#include <random>

namespace splitcast::runtime {
namespace {

struct SmallType {
  const char *name;
  float (*widen)(uint16_t bits);
  uint16_t (*round)(float value);
  float epsilon; ///< of one rounding
};
const SmallType kTypes[] = {{"bf16", BFloat16::widen, BFloat16::round, 1.0F / 256},
                            {"f16", Float16::widen, Float16::round, 1.0F / 2048}};

class SmallCallsTest : public KernelFixture {
protected:
  std::unique_ptr<Launchable> call(const std::string &name, const std::string &config) {
    exec::LibraryCallAttrInterface parsed = parseCall(name, config);
    EXPECT_TRUE(parsed) << config;
    auto made = device->libraryCall(parsed);
    EXPECT_TRUE(made.ok()) << made.status();
    return made.ok() ? *std::move(made) : nullptr;
  }

  struct Product {
    int64_t products, m, n, k;
    bool ta, tb;
    std::string config(const char *type) const {
      auto flag = [](bool value) { return value ? "true" : "false"; };
      return absl::StrCat("products = ", products, ", m = ", m, ", n = ", n, ", k = ", k, ", transpose_a = ", flag(ta),
                          ", transpose_b = ", flag(tb), ", type = ", type);
    }
  };

  /// Small integers, of which f32 has every sum: what is expected is that, rounded once.
  void expectExactProduct(const SmallType &type, const Product &of) {
    SCOPED_TRACE(of.config(type.name));
    std::mt19937 random(of.m * 31 + of.n * 7 + of.k);
    auto integers = [&](int64_t count) {
      std::vector<float> values(count);
      for (float &value : values)
        value = static_cast<float>(static_cast<int>(random() % 17) - 8);
      return values;
    };
    std::vector<float> a = integers(of.products * of.m * of.k), b = integers(of.products * of.k * of.n);
    std::vector<uint16_t> smallA = rounded(type, a), smallB = rounded(type, b), c(of.products * of.m * of.n, 77);
    auto product = call("matmul", of.config(type.name));
    ASSERT_EQ(product->launch({bufferOf(smallA), bufferOf(smallB), bufferOf(c)}, *stream), absl::OkStatus());
    for (int64_t p = 0; p < of.products; ++p)
      for (int64_t i = 0; i < of.m; ++i)
        for (int64_t j = 0; j < of.n; ++j) {
          float sum = 0;
          for (int64_t l = 0; l < of.k; ++l)
            sum += a[p * of.m * of.k + (of.ta ? l * of.m + i : i * of.k + l)] *
                   b[p * of.k * of.n + (of.tb ? j * of.k + l : l * of.n + j)];
          ASSERT_EQ(c[(p * of.m + i) * of.n + j], type.round(sum)) << p << ", " << i << ", " << j << ": " << sum;
        }
  }

  static std::vector<uint16_t> rounded(const SmallType &type, const std::vector<float> &values) {
    std::vector<uint16_t> small(values.size());
    std::transform(values.begin(), values.end(), small.begin(), type.round);
    return small;
  }
  static std::vector<float> widened(const SmallType &type, const std::vector<uint16_t> &values) {
    std::vector<float> wide(values.size());
    std::transform(values.begin(), values.end(), wide.begin(), type.widen);
    return wide;
  }

  std::vector<uint16_t> random(const SmallType &type, int64_t count) {
    std::vector<uint16_t> values(count);
    for (uint16_t &value : values)
      value = type.round(normal(generator));
    return values;
  }

  /// No element is further from what is expected than its rounding and, of sums in another order, a few ulps of f32.
  static void expectRounded(const SmallType &type, const std::vector<uint16_t> &found,
                            const std::vector<float> &expected) {
    ASSERT_EQ(found.size(), expected.size());
    float largest = 0;
    for (float value : expected)
      largest = std::max(largest, std::abs(value));
    ASSERT_GT(largest, 0);
    for (size_t i = 0; i < found.size(); ++i)
      ASSERT_NEAR(type.widen(found[i]), expected[i], type.epsilon * std::abs(expected[i]) + 4e-6F * largest) << i;
  }

  std::mt19937 generator{11};
  std::normal_distribution<float> normal;
};

// As LibraryCallTest's.
TEST_F(SmallCallsTest, MatmulInBlocks) {
  for (const SmallType &type : kTypes)
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        expectExactProduct(type, {1, 2600, 2500, 2, ta, tb});
        expectExactProduct(type, {1, 1500, 4300, 2, ta, tb});
        expectExactProduct(type, {1, 5, 6500, 1000, ta, tb});
      }
}

// Tiles of A, B and C in f32, of 256 x 1024, 1024 x 512 and 256 x 512 elements at most, for each thread.
TEST_F(SmallCallsTest, TheDeviceKnowsTheScratchOfTheLargestProduct) {
  const auto threads = createHostDevice({/*threads=*/2, "", false});
  auto need = [&](int64_t m, int64_t n, int64_t k) {
    const Product of{1, m, n, k, false, false};
    EXPECT_TRUE(threads->libraryCall(parseCall("matmul", of.config("f16"))).ok());
    return threads->scratchBytes();
  };
  EXPECT_EQ(threads->scratchBytes(), 0);
  EXPECT_EQ(need(2, 3, 5), 2 * 4 * (2 * 5 + 5 * 3 + 2 * 3));
  // Of a block of 128 columns, which needs tiles of at most 256 rows and 1024 sums.
  EXPECT_EQ(need(300, 600, 2000), 2 * 4 * (256 * 1024 + 1024 * 128 + 256 * 128));
  EXPECT_EQ(need(2, 3, 5), 2 * 4 * (256 * 1024 + 1024 * 128 + 256 * 128));
}

// Sizes below a tile, above one in each direction, and none at all.
TEST_F(SmallCallsTest, ProductsAreSumsInF32RoundedOnce) {
  for (const SmallType &type : kTypes)
    for (bool ta : {false, true})
      for (bool tb : {false, true})
        for (Product of : {Product{1, 1, 1, 1, ta, tb},
                           {1, 33, 129, 65, ta, tb},
                           {3, 20, 31, 7, ta, tb},
                           {1, 270, 5, 1100, ta, tb},
                           {1, 3, 530, 20, ta, tb},
                           {1, 0, 5, 3, ta, tb},
                           {1, 5, 0, 3, ta, tb},
                           {2, 5, 3, 0, ta, tb},
                           {0, 5, 3, 2, ta, tb}})
          expectExactProduct(type, of);
}

TEST_F(SmallCallsTest, ProductsAreExactWithTwoThreads) {
  device = createHostDevice({/*threads=*/2, "", false});
  for (const SmallType &type : kTypes)
    expectExactProduct(type, {2, 150, 90, 301, true, false});
}

// Slices of buckets begin anywhere, and where differs from stage to stage: bits must not.
TEST_F(SmallCallsTest, ProductsDoNotDependOnAddresses) {
  for (const SmallType &type : kTypes)
    for (const Product &of : {Product{1, 20, 333, 517, false, true}, {1, 131, 64, 96, true, false}}) {
      SCOPED_TRACE(of.config(type.name));
      constexpr int64_t slack = 64;
      std::vector<uint16_t> a = random(type, of.m * of.k), b = random(type, of.k * of.n), first(of.m * of.n);
      auto product = call("matmul", of.config(type.name));
      Buffer arena = *device->allocate(2 * static_cast<int64_t>(a.size() + b.size() + first.size() + 3 * slack));
      for (int64_t shift = 0; shift < 18; ++shift) {
        int64_t at = 0, factor = 3;
        auto place = [&](const std::vector<uint16_t> &values) {
          const auto bytes = static_cast<int64_t>(2 * values.size());
          Buffer buffer = arena.slice(at + 2 * (shift * factor % 17), bytes);
          std::memcpy(buffer.data, values.data(), bytes);
          at += bytes + 2 * slack;
          factor += 2;
          return buffer;
        };
        const Buffer left = place(a), right = place(b), result = place(first);
        ASSERT_EQ(product->launch({left, right, result}, *stream), absl::OkStatus());
        if (shift == 0)
          std::memcpy(first.data(), result.data, result.bytes);
        EXPECT_EQ(std::memcmp(first.data(), result.data, result.bytes), 0) << "shift " << shift;
      }
      device->release(arena);
    }
}

TEST_F(SmallCallsTest, ProductsStayWithinTheirBuffers) {
  device = createHostDevice({1, "", /*guardPages=*/true});
  for (const SmallType &type : kTypes)
    for (int flags = 0; flags < 4; ++flags) {
      const Product of{2, 19, 67, 131, (flags & 1) != 0, (flags & 2) != 0};
      auto product = call("matmul", of.config(type.name));
      Buffer a = *device->allocate(4 * 19 * 131), b = *device->allocate(4 * 131 * 67),
             c = *device->allocate(4 * 19 * 67);
      EXPECT_EQ(product->launch({a, b, c}, *stream), absl::OkStatus());
      for (Buffer buffer : {a, b, c})
        device->release(buffer);
    }
}

// Of several samples and heads, with and without a mask, in blocks of 64 positions.
TEST_F(SmallCallsTest, AttentionIsThatOfF32Rounded) {
  struct Sizes {
    int64_t samples, positions, keys, heads, width;
    bool causal, masked;
  };
  for (const SmallType &type : kTypes)
    for (const Sizes &sizes : {Sizes{3, 5, 7, 2, 4, false, false},
                               {2, 65, 65, 3, 8, true, true},
                               {1, 130, 40, 2, 5, false, true},
                               {2, 1, 33, 1, 3, false, false}})
      for (bool isGradient : {false, true}) {
        const std::string config =
            absl::StrCat("samples = ", sizes.samples, ", positions = ", sizes.positions, ", keys = ", sizes.keys,
                         ", heads = ", sizes.heads, ", width = ", sizes.width,
                         ", scale = 0.5, causal = ", sizes.causal ? "true" : "false",
                         isGradient ? ", gradient = true" : "", sizes.masked ? ", mask_type = i64" : "", ", type = ");
        SCOPED_TRACE(config + type.name);
        const int64_t query = sizes.samples * sizes.positions * sizes.heads * sizes.width,
                      key = sizes.samples * sizes.keys * sizes.heads * sizes.width;
        std::vector<int64_t> mask(sizes.samples * sizes.keys);
        for (int64_t &seen : mask)
          seen = generator() % 4;
        std::vector<std::vector<uint16_t>> small;
        for (int64_t count : {query, query, key, key})
          small.push_back(random(type, count));
        if (!isGradient)
          small.erase(small.begin());
        std::vector<std::vector<float>> wide;
        for (const std::vector<uint16_t> &operand : small)
          wide.push_back(widened(type, operand));
        const std::vector<int64_t> counts = isGradient ? std::vector<int64_t>{query, key, key} : std::vector{query};
        std::vector<std::vector<uint16_t>> found;
        std::vector<std::vector<float>> expected;
        for (int64_t count : counts) {
          found.emplace_back(count, 77);
          expected.emplace_back(count, 77.0F);
        }
        auto launch = [&](const char *name, auto &operands, auto &results, int64_t elementBytes) {
          const exec::AttentionExtents extents{isGradient, sizes.masked, sizes.samples, sizes.positions,
                                               sizes.keys, sizes.heads,  sizes.width,   elementBytes};
          std::vector<std::byte> workspace(*exec::hostAttentionWorkspace(extents));
          std::vector<Buffer> buffers;
          for (auto &operand : operands)
            buffers.push_back(bufferOf(operand));
          if (sizes.masked)
            buffers.push_back(bufferOf(mask));
          for (auto &result : results)
            buffers.push_back(bufferOf(result));
          buffers.push_back(bufferOf(workspace));
          auto attention = call("attention", config + name);
          ASSERT_EQ(attention->launch(buffers, *stream), absl::OkStatus());
        };
        launch(type.name, small, found, 2);
        launch("f32", wide, expected, 4);
        for (size_t i = 0; i < found.size(); ++i)
          expectRounded(type, found[i], expected[i]);
      }
}

// 256 + 1 is no bf16, and 2048 + 1 no f16: rounded after each addition, 1s would be lost.
TEST_F(SmallCallsTest, EmbeddingGradAddsInF32) {
  for (const SmallType &type : kTypes) {
    SCOPED_TRACE(type.name);
    const float large = 1 / type.epsilon;
    auto gradient = call("embedding_grad",
                         absl::StrCat("rows = 5, vocabulary = 3, width = 2, type = ", type.name, ", index_type = i32"));
    std::vector<int32_t> ids = {2, 0, 2, 2, 2};
    std::vector<uint16_t> dy = rounded(type, {large, 1, 5, 6, 1, 10, 1, 100, 2, 3}), table(6, 77);
    std::vector<std::byte> workspace(*exec::hostEmbeddingGradWorkspace(5, 3, 2, 2));
    ASSERT_EQ(gradient->launch({bufferOf(dy), bufferOf(ids), bufferOf(table), bufferOf(workspace)}, *stream),
              absl::OkStatus());
    EXPECT_EQ(table, rounded(type, {5, 6, 0, 0, large + 4, 114}));
    EXPECT_NE(type.widen(table[4]), large);
    ids[4] = 3;
    absl::Status status =
        gradient->launch({bufferOf(dy), bufferOf(ids), bufferOf(table), bufferOf(workspace)}, *stream);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
}

TEST_F(SmallCallsTest, EmbeddingGradIsTheSameOnAnyNumberOfThreads) {
  constexpr int64_t kRows = 9000, kVocabulary = 5, kWidth = 115;
  for (const SmallType &type : kTypes) {
    SCOPED_TRACE(type.name);
    std::vector<float> addends(kRows * kWidth), sums(kVocabulary * kWidth);
    std::vector<int32_t> ids(kRows);
    for (int64_t n = 0; n < kRows; ++n) {
      ids[n] = static_cast<int32_t>(n * n % kVocabulary);
      for (int64_t h = 0; h < kWidth; ++h) {
        addends[n * kWidth + h] = static_cast<float>((n + h) % 5 - 2);
        sums[ids[n] * kWidth + h] += addends[n * kWidth + h];
      }
    }
    std::vector<uint16_t> dy = rounded(type, addends);
    std::vector<std::byte> workspace(*exec::hostEmbeddingGradWorkspace(kRows, kVocabulary, kWidth, 2));
    for (int threads : {1, 2, 3}) {
      device = createHostDevice({threads, "", false});
      auto gradient =
          call("embedding_grad",
               absl::StrCat("rows = 9000, vocabulary = 5, width = 115, type = ", type.name, ", index_type = i32"));
      std::vector<uint16_t> table(sums.size(), 77);
      ASSERT_EQ(gradient->launch({bufferOf(dy), bufferOf(ids), bufferOf(table), bufferOf(workspace)}, *stream),
                absl::OkStatus());
      EXPECT_EQ(table, rounded(type, sums)) << threads << " threads";
    }
  }
}

} // namespace
} // namespace splitcast::runtime
