//===- Peaks.h - What this machine can do at most, measured --------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_PEAKS_H
#define SPLITCAST_RUNTIME_HOST_PEAKS_H

namespace splitcast::runtime {

/// Of a rank's threads together, while other ranks of its machine may do the same: the best of several tries.
struct Peaks {
  /// Read and written, of memory that no cache holds: by a copy, or by an update of three arrays by a fourth, as an
  /// optimizer's, whichever is faster.
  double movedBytesPerSecond = 0;
  double flopsPerSecond = 0; ///< multiplications and additions of f32, from registers
};

/// On so many threads. Takes 0.4 s and 128 MB for a while.
Peaks measurePeaks(int threads);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_PEAKS_H
