//===- Window.h - The windows of a convolution or pool along a dimension ---------------------------------===//
#ifndef SPLITCAST_DIALECTS_EXEC_WINDOW_H
#define SPLITCAST_DIALECTS_EXEC_WINDOW_H

#include <cstdint>

namespace splitcast::exec {

/// All numbers count elements. Tap k of window i covers element i * stride + k * dilation - padding.
struct Window {
  /// The limit of each number and of the dimension's extent, so that no sum or product of two overflows.
  static constexpr int64_t kMost = (int64_t{1} << 31) - 1;

  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;

  /// Returns the number of elements from the first tap to the last.
  int64_t span() const { return dilation * (kernel - 1) + 1; }
  /// Returns the number of windows along a dimension of this extent.
  int64_t windows(int64_t extent) const {
    const int64_t last = extent + 2 * padding - span(); // the last start in the padded dimension
    return last < 0 ? 0 : last / stride + 1;
  }
};

} // namespace splitcast::exec

#endif // SPLITCAST_DIALECTS_EXEC_WINDOW_H
