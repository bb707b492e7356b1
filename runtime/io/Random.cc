#include "runtime/io/Random.h"

#include <cmath>

namespace splitcast::runtime {

uint64_t hashName(const std::string &name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : name)
    hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  // The multipliers and key increments are those of section 4.3 of the paper.
  constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = kMultiplier0 * counter[0], product1 = kMultiplier1 * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return counter;
}

namespace {

constexpr double kTwoToMinus53 = 1.0 / 9007199254740992.0;
constexpr double kTwoPi = 6.283185307179586476925286766559;

/// Returns 53 random bits for each element of a pair.
std::array<uint64_t, 2> pairBits(RandomKey key, uint64_t pair) {
  auto low = [](uint64_t value) { return static_cast<uint32_t>(value); };
  auto high = [](uint64_t value) { return static_cast<uint32_t>(value >> 32); };
  std::array<uint32_t, 4> words =
      philox({low(pair), high(pair), low(key.nameHash), high(key.nameHash)}, {low(key.seed), high(key.seed)});
  auto join = [](uint32_t lowWord, uint32_t highWord) { return (uint64_t{highWord} << 32 | lowWord) >> 11; };
  return {join(words[0], words[1]), join(words[2], words[3])};
}

/// Calls valuesOf(pair), which returns two values, for every pair that the
/// range touches, and stores the values within the range.
template <typename T, typename ValuesOf>
void fillPairs(int64_t logicalBegin, int64_t count, T *out, const ValuesOf &valuesOf) {
  for (int64_t i = 0; i < count;) {
    int64_t element = logicalBegin + i;
    std::array<double, 2> values = valuesOf(static_cast<uint64_t>(element) / 2);
    for (int64_t half = element % 2; half < 2 && i < count; ++half, ++i)
      out[i] = static_cast<T>(values[half]);
  }
}

} // namespace

template <typename T> void fillUniform(RandomKey key, int64_t logicalBegin, int64_t count, float lo, float hi, T *out) {
  double width = hi > lo ? static_cast<double>(hi) - lo : 0.0;
  fillPairs(logicalBegin, count, out, [&](uint64_t pair) -> std::array<double, 2> {
    std::array<uint64_t, 2> bits = pairBits(key, pair);
    return {lo + width * (bits[0] * kTwoToMinus53), lo + width * (bits[1] * kTwoToMinus53)};
  });
  // Rounding to T may give `hi`, which is excluded.
  for (int64_t i = 0; i < count && hi > lo; ++i)
    if (out[i] >= static_cast<T>(hi))
      out[i] = std::nextafter(static_cast<T>(hi), static_cast<T>(lo));
}

template <typename T>
void fillNormal(RandomKey key, int64_t logicalBegin, int64_t count, float mean, float stddev, T *out) {
  fillPairs(logicalBegin, count, out, [&](uint64_t pair) -> std::array<double, 2> {
    std::array<uint64_t, 2> bits = pairBits(key, pair);
    double u = (bits[0] + 1) * kTwoToMinus53; // in (0, 1], so that its logarithm is finite
    double radius = std::sqrt(-2.0 * std::log(u)), angle = kTwoPi * (bits[1] * kTwoToMinus53);
    return {mean + stddev * (radius * std::cos(angle)), mean + stddev * (radius * std::sin(angle))};
  });
}

template void fillUniform(RandomKey, int64_t, int64_t, float, float, float *);
template void fillUniform(RandomKey, int64_t, int64_t, float, float, double *);
template void fillNormal(RandomKey, int64_t, int64_t, float, float, float *);
template void fillNormal(RandomKey, int64_t, int64_t, float, float, double *);

} // namespace splitcast::runtime
