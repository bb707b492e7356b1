//===- LossScale.h - By what a loss is multiplied for backward ---------------===//
#ifndef SPLITCAST_DIALECTS_NN_LOSSSCALE_H
#define SPLITCAST_DIALECTS_NN_LOSSSCALE_H

#include "dialects/nn/Hyperparameters.h"

namespace splitcast {

/// The gradient of a loss is multiplied by a scale, so that f16 holds the gradients that follow; gradients are divided
/// by it before they are clipped and used. A step in which one of them is not finite changes no variable and no state;
/// then the scale is multiplied by `backoff`, and by `growth` after `interval` steps in a row in which all were finite
/// (Micikevicius et al. 2018, arXiv:1710.03740). All are powers of two, so that where nothing overflows or underflows
/// no bit depends on them. The scale is a variable of the module, @optimizer.loss_scale, between 2^-126 and 2^126.
struct LossScale {
  double initial = 65536.0, growth = 2.0, backoff = 0.5;
  double interval = 2000.0; ///< 0: the scale stays

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
  /// Also when the scale would grow as it backs off, or the other way round.
  std::optional<std::string> wrong() const override;
  const LossScale &scale() const { return held; }
};

} // namespace nn

} // namespace splitcast

#endif // SPLITCAST_DIALECTS_NN_LOSSSCALE_H
