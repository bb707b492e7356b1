//===- ExactGrid.h - The units of the parts of exact sums ------------------------===//
//
// nn.exact_part cuts a number into parts, and part k is a multiple of unit(k). The parts of one sum have the same units
// whatever the numbers are, and together they reach over all of f32, from 2^-149 to 2^128: nothing of an f32 is lost,
// and neither is the difference of large numbers and small ones. An f64 has 53 bits, so what is needed for the carries
// of a sum is missing in its parts: more addends take more parts.
//
//   parts   bits of a part   most addends   units
//   6       47               127            2^82, 2^35, 2^-12, 2^-59, 2^-106, 2^-153
//   7       40               16,383         2^89, 2^49, ..., 2^-151
//   8       35               524,287        2^94, 2^59, ..., 2^-151
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_NN_EXACTGRID_H
#define SPLITCAST_DIALECTS_NN_EXACTGRID_H

#include <cmath>
#include <cstdint>
#include <optional>

namespace splitcast::nn {

struct ExactGrid {
  static constexpr int64_t kFewestParts = 6, kMostParts = 8;
  static constexpr int kTopExponent = 128;     ///< from 2^kTopExponent on, a number counts as infinite
  static constexpr int kLowestExponent = -149; ///< every f32 is a multiple of 2^kLowestExponent
  static constexpr int kDoubleBits = 53;       ///< an f64 holds all integers up to 2^kDoubleBits
  int64_t numParts;

  /// Each unit is smaller than the one before by 2^partBits(). Part 0 is at most 2^(partBits() - 1) units, and so is
  /// each later part, since the earlier ones leave at most half of their unit.
  int partBits() const {
    const int64_t bits = kTopExponent + 1 - kLowestExponent;
    return static_cast<int>((bits + numParts - 1) / numParts);
  }
  double unit(int64_t part) const {
    return std::ldexp(1.0, kTopExponent + 1 - partBits() * static_cast<int>(part + 1));
  }
  /// So many parts, and what nn.exact_sum carries from one to the next, are at most 2^kDoubleBits units.
  int64_t mostAddends() const { return (int64_t{1} << (kDoubleBits + 1 - partBits())) - 1; }

  /// Returns the grid of the fewest parts, or nothing if no grid has sums of so many addends.
  static std::optional<ExactGrid> forAddends(int64_t addends) {
    for (ExactGrid grid{kFewestParts}; grid.numParts <= kMostParts; ++grid.numParts)
      if (addends <= grid.mostAddends())
        return grid;
    return std::nullopt;
  }
};

} // namespace splitcast::nn

#endif // SPLITCAST_DIALECTS_NN_EXACTGRID_H
