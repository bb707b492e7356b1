// The library calls "attention" and "attention_grad" beyond what vectors show: bits, addresses, long rows, refusals.
#include "tests/runtime/host/KernelFixture.h"

#include "mlir/AsmParser/AsmParser.h"

#include "gmock/gmock.h"

#include <cmath>
#include <cstring>
#include <random>

namespace splitcast::runtime {
namespace {

using testing::HasSubstr;

struct Sizes {
  int64_t samples, positions, keys, heads, width;
  bool causal;

  int64_t query() const { return samples * positions * heads * width; }
  int64_t key() const { return samples * keys * heads * width; }
};

/// What a call reads; the first is the gradient.
template <typename Float> struct Operands {
  std::vector<Float> gradient, query, key, value;
  std::vector<int64_t> mask;
};

/// What attention gives, and the gradients of query, key and value.
template <typename Float> struct Results {
  std::vector<Float> output, queryGrad, keyGrad, valueGrad;

  std::vector<const std::vector<Float> *> all() const { return {&output, &queryGrad, &keyGrad, &valueGrad}; }
};

class LibraryAttentionTest : public KernelFixture {
protected:
  absl::StatusOr<std::unique_ptr<Launchable>> call(const std::string &name, const std::string &config) {
    const bool isGradient = name == "attention_grad";
    exec::LibraryCallAttrInterface parsed = parseCall("attention", (isGradient ? "gradient = true, " : "") + config);
    EXPECT_TRUE(parsed) << config;
    return device->libraryCall(parsed);
  }

  static std::string config(const Sizes &sizes, const std::string &types) {
    auto count = [](const char *name, int64_t value) {
      return std::string(name) + " = " + std::to_string(value) + ", ";
    };
    return count("samples", sizes.samples) + count("positions", sizes.positions) + count("keys", sizes.keys) +
           count("heads", sizes.heads) + count("width", sizes.width) +
           "scale = 0.25, causal = " + (sizes.causal ? "true" : "false") + ", " + types;
  }

  template <typename Float> static Operands<Float> random(const Sizes &sizes) {
    std::mt19937 generator(sizes.query() * 7 + sizes.key());
    std::normal_distribution<float> normal;
    auto floats = [&](int64_t count) {
      std::vector<Float> result(count);
      for (Float &value : result)
        value = normal(generator); // an f32, whatever Float is
      return result;
    };
    Operands<Float> operands{
        floats(sizes.query()), floats(sizes.query()), floats(sizes.key()), floats(sizes.key()), {}};
    for (int64_t i = 0; i < sizes.samples * sizes.keys; ++i)
      operands.mask.push_back(generator() % 4);
    return operands;
  }

  template <typename Float> Results<Float> compute(const Sizes &sizes, Operands<Float> operands, bool isMasked) {
    std::string types = sizeof(Float) == 4 ? "type = f32" : "type = f64";
    if (isMasked)
      types += ", mask_type = i64";
    Results<Float> results{std::vector<Float>(sizes.query()), std::vector<Float>(sizes.query()),
                           std::vector<Float>(sizes.key()), std::vector<Float>(sizes.key())};
    std::vector<Float> workspace(2 * 64 * sizes.keys);
    std::vector<Buffer> inputs = {bufferOf(operands.query), bufferOf(operands.key), bufferOf(operands.value)};
    if (isMasked)
      inputs.push_back(bufferOf(operands.mask));
    auto launch = [&](const char *name, std::vector<Buffer> buffers, const std::vector<Buffer> &outputs) {
      buffers.insert(buffers.end(), outputs.begin(), outputs.end());
      buffers.push_back(bufferOf(workspace));
      auto prepared = call(name, config(sizes, types));
      ASSERT_TRUE(prepared.ok()) << prepared.status();
      EXPECT_EQ((*prepared)->launch(buffers, *stream), absl::OkStatus());
    };
    launch("attention", inputs, {bufferOf(results.output)});
    inputs.insert(inputs.begin(), bufferOf(operands.gradient));
    launch("attention_grad", inputs,
           {bufferOf(results.queryGrad), bufferOf(results.keyGrad), bufferOf(results.valueGrad)});
    return results;
  }

  template <typename Float>
  static std::vector<Float> part(const std::vector<Float> &all, int64_t index, int64_t count) {
    int64_t size = all.size() / count;
    return {all.begin() + index * size, all.begin() + (index + 1) * size};
  }

  template <typename Float> static void expectSameBits(const std::vector<Float> &a, const std::vector<Float> &b) {
    ASSERT_EQ(a.size(), b.size());
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(Float)), 0);
  }

  template <typename Float> void expectSamplesStandAlone(const Sizes &sizes, bool isMasked) {
    Operands<Float> operands = random<Float>(sizes);
    Results<Float> whole = compute(sizes, operands, isMasked);
    Sizes one = sizes;
    one.samples = 1;
    for (int64_t sample = 0; sample < sizes.samples; ++sample) {
      SCOPED_TRACE("sample " + std::to_string(sample));
      auto of = [&](const auto &all) { return part(all, sample, sizes.samples); };
      Results<Float> alone = compute<Float>(
          one, {of(operands.gradient), of(operands.query), of(operands.key), of(operands.value), of(operands.mask)},
          isMasked);
      for (size_t i = 0; i < 4; ++i)
        expectSameBits(of(*whole.all()[i]), *alone.all()[i]);
    }
  }
};

// Blocks are of 64 positions: one, one and a bit, several; rows shorter and longer than the 16 lanes of a sum.
const Sizes kSizes[] = {{3, 5, 7, 2, 4, false},    {2, 64, 64, 1, 16, true},  {2, 65, 65, 3, 8, true},
                        {2, 130, 40, 2, 8, false}, {2, 40, 130, 2, 8, true},  {2, 130, 17, 1, 3, true},
                        {3, 1, 33, 2, 5, false},   {2, 150, 150, 2, 16, true}};

// A rank computes its own samples, a different number at each size of the mesh.
TEST_F(LibraryAttentionTest, ASampleHasTheSameBitsAloneAndAmongOthers) {
  for (int threads : {1, 2}) {
    device = createHostDevice({threads, "", false});
    for (const Sizes &sizes : kSizes)
      for (bool isMasked : {false, true}) {
        SCOPED_TRACE(config(sizes, isMasked ? "masked" : ""));
        expectSamplesStandAlone<float>(sizes, isMasked);
        expectSamplesStandAlone<double>(sizes, isMasked);
      }
  }
}

TEST_F(LibraryAttentionTest, F32IsF64Rounded) {
  for (const Sizes &sizes : kSizes)
    for (bool isMasked : {false, true}) {
      SCOPED_TRACE(config(sizes, isMasked ? "masked" : ""));
      Results<float> found = compute(sizes, random<float>(sizes), isMasked);
      Results<double> expected = compute(sizes, random<double>(sizes), isMasked);
      for (size_t result = 0; result < 4; ++result) {
        double largest = 0;
        for (double value : *expected.all()[result])
          largest = std::max(largest, std::abs(value));
        ASSERT_GT(largest, 0);
        for (size_t i = 0; i < expected.all()[result]->size(); ++i)
          EXPECT_NEAR((*found.all()[result])[i], (*expected.all()[result])[i], 4e-6 * largest) << result << ", " << i;
      }
    }
}

// Slices of buckets begin at any multiple of 4 bytes, and where differs from stage to stage: bits must not.
TEST_F(LibraryAttentionTest, BitsDoNotDependOnAddresses) {
  const Sizes sizes{2, 70, 66, 2, 8, true};
  Operands<float> operands = random<float>(sizes);
  auto forward = call("attention", config(sizes, "type = f32"));
  ASSERT_TRUE(forward.ok()) << forward.status();
  constexpr int64_t slack = 64;
  const int64_t workspaceFloats = 2 * 64 * sizes.keys;
  Buffer arena = *device->allocate(4 * (2 * sizes.query() + 2 * sizes.key() + workspaceFloats + 5 * slack));
  std::vector<float> first(sizes.query());
  for (int64_t shift = 0; shift < 18; ++shift) {
    int64_t at = 0, factor = 3;
    auto place = [&](int64_t floats) {
      Buffer buffer = arena.slice(4 * (at + shift * factor % 17), 4 * floats);
      at += floats + slack;
      factor += 2;
      return buffer;
    };
    Buffer query = place(sizes.query()), key = place(sizes.key()), value = place(sizes.key()),
           result = place(sizes.query()), workspace = place(workspaceFloats);
    std::memcpy(query.data, operands.query.data(), query.bytes);
    std::memcpy(key.data, operands.key.data(), key.bytes);
    std::memcpy(value.data, operands.value.data(), value.bytes);
    ASSERT_EQ((*forward)->launch({query, key, value, result, workspace}, *stream), absl::OkStatus());
    if (shift == 0)
      std::memcpy(first.data(), result.data, result.bytes);
    EXPECT_EQ(std::memcmp(first.data(), result.data, result.bytes), 0) << "shift " << shift;
  }
  device->release(arena);
}

// Causal: what comes later changes nothing that came before, to the bit.
TEST_F(LibraryAttentionTest, LaterKeysDoNotMatter) {
  const Sizes sizes{1, 100, 100, 2, 8, true};
  Operands<float> operands = random<float>(sizes), other = operands;
  Results<float> results = compute(sizes, operands, false);
  for (int64_t changed : {99, 64, 50, 1}) {
    const int64_t from = changed * sizes.heads * sizes.width;
    for (size_t i = from; i < other.key.size(); ++i) {
      other.key[i] = 1e4F;
      other.value[i] = -1e4F;
    }
    Results<float> found = compute(sizes, other, false);
    EXPECT_EQ(std::memcmp(found.output.data(), results.output.data(), from * sizeof(float)), 0) << changed;
    EXPECT_NE(found.output.back(), results.output.back()) << changed;
  }
}

// What is kept changes no bit of either call, and the gradient does not read it.
TEST_F(LibraryAttentionTest, StatisticsChangeNoOtherResult) {
  for (const Sizes &sizes : kSizes) {
    SCOPED_TRACE(config(sizes, ""));
    Operands<float> operands = random<float>(sizes);
    const Results<float> expected = compute(sizes, operands, false);
    Results<float> found{std::vector<float>(sizes.query()), std::vector<float>(sizes.query()),
                         std::vector<float>(sizes.key()), std::vector<float>(sizes.key())};
    std::vector<float> workspace(2 * 64 * sizes.keys), statistics(sizes.samples * sizes.heads * sizes.positions, 77),
        unread(sizes.query(), 77), neither(statistics.size(), 77);
    auto launch = [&](const char *name, const std::vector<Buffer> &buffers) {
      auto prepared = call(name, config(sizes, "type = f32, statistics = true"));
      ASSERT_TRUE(prepared.ok()) << prepared.status();
      EXPECT_EQ((*prepared)->launch(buffers, *stream), absl::OkStatus());
    };
    launch("attention", {bufferOf(operands.query), bufferOf(operands.key), bufferOf(operands.value),
                         bufferOf(found.output), bufferOf(statistics), bufferOf(workspace)});
    launch("attention_grad", {bufferOf(operands.gradient), bufferOf(operands.query), bufferOf(operands.key),
                              bufferOf(operands.value), bufferOf(unread), bufferOf(neither), bufferOf(found.queryGrad),
                              bufferOf(found.keyGrad), bufferOf(found.valueGrad), bufferOf(workspace)});
    for (size_t i = 0; i < 4; ++i)
      expectSameBits(*expected.all()[i], *found.all()[i]);
    EXPECT_FALSE(testing::Value(statistics, testing::Contains(77)));
  }
}

TEST_F(LibraryAttentionTest, ChecksItsBuffers) {
  const Sizes sizes{1, 2, 3, 1, 1, false};
  std::vector<float> two(2), three(3), workspace(2 * 64 * 3);
  auto attention = call("attention", config(sizes, "type = f32, mask_type = i32"));
  ASSERT_TRUE(attention.ok()) << attention.status();
  auto launch = [&](std::vector<Buffer> buffers) { return (*attention)->launch(buffers, *stream); };
  Buffer query = bufferOf(two), key = bufferOf(three), scratch = bufferOf(workspace);
  EXPECT_EQ(launch({query, key, key, key, query, scratch}), absl::OkStatus());
  EXPECT_EQ(launch({query, key, key, query, query, scratch}),
            absl::InvalidArgumentError("library call 'attention': buffer 3 has 8 bytes; argument 3 needs 12"));
  EXPECT_EQ(launch({query, key, key, key, query, scratch.slice(0, scratch.bytes - 4)}),
            absl::InvalidArgumentError("library call 'attention': buffer 5 has 1532 bytes; argument 5 needs 1536"));
  EXPECT_EQ(launch({query, key, key, key, query}),
            absl::InvalidArgumentError("library call 'attention' was launched with 5 buffers; it takes 6"));
}

} // namespace
} // namespace splitcast::runtime
