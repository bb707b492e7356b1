//===- Random.h - Random choices that depend only on a seed -------------------------===//
#ifndef SPLITCAST_TESTS_PROPERTY_RANDOM_H
#define SPLITCAST_TESTS_PROPERTY_RANDOM_H

#include <cstdint>
#include <vector>

namespace splitcast::property {

/// From the seed of a graph that is drawn again to the next.
inline constexpr uint64_t kNextSeed = 0x632be59bd9b4e019;

/// SplitMix64 (Steele, Lea and Flood 2014). It gives the same numbers everywhere, unlike the standard library's
/// distributions.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Returns a number from 0 to count - 1.
  int64_t below(int64_t count) { return next() % static_cast<uint64_t>(count); }
  /// Returns a number from `first` to `last`, both included.
  int64_t between(int64_t first, int64_t last) { return first + below(last - first + 1); }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T> const T &pick(const std::vector<T> &from) { return from[below(from.size())]; }

private:
  uint64_t state;
};

} // namespace splitcast::property

#endif // SPLITCAST_TESTS_PROPERTY_RANDOM_H
