//===- Random.h - Initial values by element index ---------------------------===//
//
// A counter-based generator: element i of a variable depends on the run's seed, the variable's name and i, and on
// nothing else. So every rank makes only its own pieces, in any order, and the values are the same for every sharding.
//
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011) turns a counter of
// 128 bits and a key of 64 bits into 128 random bits. Here the key is the seed; the counter of a pair of elements is
//   words 0, 1   the pair's number, i / 2, low word first
//   words 2, 3   the hash of the name, low word first
// Each element has 64 of the 128 bits. Values are computed in double and rounded once to T, so float values are the
// rounded double values.
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

/// FNV-1a, 64 bits.
uint64_t hashName(const std::string &name);

/// Philox4x32 with 10 rounds.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Elements [logicalBegin, logicalBegin + count) of a variable, T float or double. Requires logicalBegin >= 0.

/// Evenly distributed over [lo, hi); lo when hi <= lo.
template <typename T> void fillUniform(RandomKey key, int64_t logicalBegin, int64_t count, float lo, float hi, T *out);

/// Box-Muller over the pair of elements 2j and 2j + 1: at most 8.6 standard deviations from the mean.
template <typename T>
void fillNormal(RandomKey key, int64_t logicalBegin, int64_t count, float mean, float stddev, T *out);

template <typename T> void fillConstant(int64_t count, double value, T *out) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = static_cast<T>(value);
}

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_IO_RANDOM_H
