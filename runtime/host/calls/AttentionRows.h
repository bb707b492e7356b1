//===- AttentionRows.h - The computations of attention on one row of scores --===//
//
// Sums run in 16 lanes, which are then added in a fixed tree. So a row gives the same bits on every CPU.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_CALLS_ATTENTIONROWS_H
#define SPLITCAST_RUNTIME_HOST_CALLS_ATTENTIONROWS_H

#include <cstdint>

namespace splitcast::runtime {

template <typename Float> struct AttentionRows {
  /// The sum of exp(score), as sum * exp(max); the sum is 0 if all scores are -infinity.
  struct Sum {
    Float max, sum;
  };
  /// Computes the softmax of `count` scores, in place, and returns their sum. If all are -infinity, all become 0. A NaN
  /// or +infinity among them makes all NaN. `count` may be 0.
  Sum (*softmax)(Float *scores, int64_t count);
  /// Sets slopes to weights * (slopes - sum(weights * slopes)) * scale.
  void (*softmaxGrad)(const Float *weights, Float *slopes, int64_t count, Float scale);

  /// The score of a key that is not seen: -infinity, whose exponential is 0, so that no seen score is too low beside
  /// it.
  static Float unseen();
  /// Returns the fastest implementation that this CPU runs. All give the same bits.
  static AttentionRows forThisCpu();
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_CALLS_ATTENTIONROWS_H
