#include "runtime/host/Peaks.h"

#include "runtime/host/HostMemory.h"
#include "runtime/workers/WorkerPool.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>

namespace splitcast::runtime {
namespace {

constexpr int64_t kCopiedBytes = 64 << 20;
constexpr int kCopies = 5;
constexpr int kMultiplications = 7;
constexpr int64_t kRounds = 400'000;

double bestSeconds(int tries, const std::function<void()> &run) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < tries; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

/// A vector of `Lanes` floats. kCount independent sums hide the latency of one,
/// and fit into the registers of every CPU.
template <int Lanes> struct Sums {
  typedef float Vector __attribute__((vector_size(Lanes * sizeof(float)))); // NOLINT: no alias takes the attribute
  static constexpr int kCount = 12;
  static constexpr double kFlops = 2.0 * kCount * Lanes * kRounds;
};

// The loop for each vector width. It is a macro because the instruction set is
// an attribute of the function.
#define SPLITCAST_MULTIPLY(lanes)                                                                                      \
  Sums<lanes>::Vector sums[Sums<lanes>::kCount] = {};                                                                  \
  const Sums<lanes>::Vector factor = {0.5F}, addend = {1.0F};                                                          \
  for (int64_t round = 0; round < kRounds; ++round)                                                                    \
    _Pragma("clang loop unroll(full)") for (auto &sum : sums) {                                                        \
      sum = sum * factor + addend;                                                                                     \
      asm volatile("" : "+v"(sum)); /* so that the compiler cannot fold the sum */                                     \
    }                                                                                                                  \
  float total = 0;                                                                                                     \
  for (auto &sum : sums)                                                                                               \
    total += sum[0];                                                                                                   \
  return total

__attribute__((target("avx512f"))) float multiply16() {
#pragma clang fp contract(fast)
  SPLITCAST_MULTIPLY(16);
}
__attribute__((target("avx2,fma"))) float multiply8() {
#pragma clang fp contract(fast)
  SPLITCAST_MULTIPLY(8);
}
float multiply4() { SPLITCAST_MULTIPLY(4); }

float multiply() {
  if (__builtin_cpu_supports("avx512f"))
    return multiply16();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? multiply8() : multiply4();
}

double flopsOfMultiply() {
  if (__builtin_cpu_supports("avx512f"))
    return Sums<16>::kFlops;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? Sums<8>::kFlops : Sums<4>::kFlops;
}

double measureFlops(WorkerPool &pool) {
  const double seconds = bestSeconds(kMultiplications, [&] {
    pool.run(pool.threads(), [](int64_t) { [[maybe_unused]] volatile float kept = multiply(); });
  });
  return flopsOfMultiply() * pool.threads() / seconds;
}

/// An update like Adam's, without the square root. The four arrays have `count`
/// floats each, and follow each other.
__attribute__((target_clones("avx512f", "avx2", "default"))) void update(float *arrays, int64_t count) {
  float *weight = arrays, *first = arrays + count, *second = first + count;
  const float *gradient = second + count;
#pragma clang loop vectorize(assume_safety) interleave(enable)
  for (int64_t i = 0; i < count; ++i) {
    const float slope = gradient[i];
    first[i] = 0.9F * first[i] + 0.1F * slope;
    second[i] = 0.99F * second[i] + 0.01F * slope * slope;
    weight[i] -= 0.001F * first[i];
  }
}
constexpr int64_t kUpdateArrays = 4, kUpdatePasses = 7; ///< three arrays are read and written, one is read

double measureMoves(WorkerPool &pool) {
  HostMemory memory{HostMemoryOptions()};
  const absl::StatusOr<Buffer> from = memory.allocate(kCopiedBytes), to = memory.allocate(kCopiedBytes);
  if (!from.ok() || !to.ok())
    return 0;
  const int64_t part = kCopiedBytes / pool.threads();
  std::memset(from->data, 1, kCopiedBytes);
  std::memset(to->data, 2, kCopiedBytes);
  const double seconds = bestSeconds(kCopies, [&] {
    pool.run(pool.threads(), [&](int64_t i) { std::memcpy(to->data + i * part, from->data + i * part, part); });
  });
  const int64_t count = part / static_cast<int64_t>(kUpdateArrays * sizeof(float));
  std::fill_n(reinterpret_cast<float *>(to->data), kCopiedBytes / sizeof(float), 1.0F); // so that no denormals occur
  const double updateSeconds = bestSeconds(kCopies, [&] {
    pool.run(pool.threads(), [&](int64_t i) { update(reinterpret_cast<float *>(to->data + i * part), count); });
  });
  const auto threads = static_cast<double>(pool.threads());
  return std::max(2.0 * static_cast<double>(part) * threads / seconds,
                  static_cast<double>(kUpdatePasses * count) * sizeof(float) * threads / updateSeconds);
}

} // namespace

Peaks measurePeaks(int threads) {
  WorkerPool pool(threads);
  return {measureMoves(pool), measureFlops(pool)};
}

} // namespace splitcast::runtime
