//===- Random.h - Initial values by element index ---------------------------===//
//
// The generator is counter-based: element i of a variable depends on the run's seed, the variable's name and i, and on
// nothing else. So every rank makes only its own pieces, in any order, and the values are the same for every sharding.
//
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011) turns a counter of
// 128 bits and a key of 64 bits into 128 random bits. Here the key is the seed. The counter of a pair of elements is
//   words 0, 1   the pair's number, i / 2, low word first
//   words 2, 3   the hash of the name, low word first
// Each element has 64 of the 128 bits, of which it uses 53. Values are computed in double and rounded once to T, so
// float values are the rounded double values. (A uniform value that would round up to `hi` is the one below it.)
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_IO_RANDOM_H
#define SPLITCAST_RUNTIME_IO_RANDOM_H

#include <array>
#include <cstdint>
#include <string>

namespace splitcast::runtime {

struct RandomKey {
  uint64_t seed = 0;
  uint64_t nameHash = 0;
};

/// Returns the FNV-1a hash of 64 bits.
uint64_t hashName(const std::string &name);

/// Computes Philox4x32 with 10 rounds.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// fillUniform and fillNormal write elements [logicalBegin, logicalBegin + count) of a variable to `out`. T is float or
// double, logicalBegin counts from 0, and `out` has room for `count` elements.

/// Makes values that are uniformly distributed over [lo, hi). If hi <= lo, all are lo. Both are finite.
template <typename T> void fillUniform(RandomKey key, int64_t logicalBegin, int64_t count, float lo, float hi, T *out);

/// Makes normally distributed values, with Box-Muller over the pair of elements 2j and 2j + 1. They are at most 8.6
/// standard deviations from the mean.
template <typename T>
void fillNormal(RandomKey key, int64_t logicalBegin, int64_t count, float mean, float stddev, T *out);

template <typename T> void fillConstant(int64_t count, double value, T *out) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = static_cast<T>(value);
}

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_IO_RANDOM_H
