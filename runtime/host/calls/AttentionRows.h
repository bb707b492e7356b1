//===- AttentionRows.h - What attention does with one row of scores ----------===//
//
// Sums run in 16 lanes that are added in a fixed tree, so a row gives the same bits on every CPU.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_CALLS_ATTENTIONROWS_H
#define SPLITCAST_RUNTIME_HOST_CALLS_ATTENTIONROWS_H

#include <cstdint>

namespace splitcast::runtime {

template <typename Float> struct AttentionRows {
  /// The softmax of `count` scores, in place; 0 when count is 0. Scores that are not seen are `unseen()`, and become 0.
  void (*softmax)(Float *scores, int64_t count);
  /// slopes <- weights (slopes - sum of weights slopes) scale
  void (*softmaxGrad)(const Float *weights, Float *slopes, int64_t count, Float scale);

  /// Below every score.
  static Float unseen();
  /// The fastest that this CPU runs; all give the same bits.
  static AttentionRows forThisCpu();
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_CALLS_ATTENTIONROWS_H
