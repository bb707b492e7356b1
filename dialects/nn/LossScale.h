//===- LossScale.h - The factor of a loss for backward ---------------===//
#ifndef SPLITCAST_DIALECTS_NN_LOSSSCALE_H
#define SPLITCAST_DIALECTS_NN_LOSSSCALE_H

#include "dialects/nn/Hyperparameters.h"

namespace splitcast {

/// The gradient of a loss is multiplied by a scale, so that the gradients that follow from it fit into f16; gradients
/// are divided by the scale before they are clipped and used. A step in which a gradient is not finite changes no
/// variable and no state, and the scale is multiplied by `backoff`. After `interval` steps in a row in which all
/// gradients were finite, it is multiplied by `growth` (Micikevicius et al. 2018, arXiv:1710.03740). The scale and both
/// factors are powers of two, so that no bit depends on them where nothing overflows or underflows. The scale is a
/// variable of the module, @optimizer.loss_scale, between 2^-126 and 2^126.
struct LossScale {
  double initial = 65536.0, growth = 2.0, backoff = 0.5;
  double interval = 2000.0; ///< 0: the scale never changes

  static LossScale fixed(double scale) { return {scale, 2.0, 0.5, 0.0}; }

  static constexpr std::string_view kName = "loss_scale";
  template <typename Self, typename Each> static void numbers(Self &self, Each &&each) {
    each("initial", self.initial, Bounds::PowerOfTwo);
    each("growth", self.growth, Bounds::PowerOfTwo);
    each("backoff", self.backoff, Bounds::PowerOfTwo);
    each("interval", self.interval, Bounds::CountOrNone);
  }
};

namespace nn {

class LossScaleModel : public HyperparametersOf<LossScale, Hyperparameters> {
public:
  using HyperparametersOf::HyperparametersOf;
  /// Also returns an error if `backoff` would make the scale larger, or `growth` would make it smaller.
  std::optional<std::string> wrong() const override;
  const LossScale &scale() const { return held; }
};

} // namespace nn

} // namespace splitcast

#endif // SPLITCAST_DIALECTS_NN_LOSSSCALE_H
