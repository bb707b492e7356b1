#include "tests/property/TrainingOptions.h"

namespace splitcast::property {

Optimizer randomOptimizer(Random &random) {
  const double rate = random.pick(std::vector<double>{1.0, 0.5, 0.25});
  switch (random.below(6)) {
  case 0:
  case 1:
    return Sgd{rate};
  case 2:
  case 3:
    return Momentum{rate, 0.5};
  case 4:
    return Adam{rate, 0.5, 0.75, 0.0625};
  default:
    return AdamW{rate, 0.5, 0.75, 0.0625, 0.125};
  }
}

static sbp::Strategy strategyOf(int64_t percent) {
  return percent < 60 ? sbp::Strategy::Bucket : percent < 80 ? sbp::Strategy::Tensor : sbp::Strategy::Whole;
}

std::vector<differential::Configuration> randomConfigurations(Random &random, sbp::PlacementAttr placement) {
  differential::Configuration common;
  if (placement.getNumAxes() > 1 && random.chance(50))
    common.axis = placement.getAxisNames().back().str();
  std::vector<differential::Configuration> result;
  int64_t stage = random.below(4);
  for (int64_t i = 0; i < 2; ++i) {
    differential::Configuration next = common;
    next.stage = (stage + i * random.between(1, 3)) % 4;
    next.strategy = strategyOf(random.below(100));
    next.bucketBytes = random.pick(std::vector<int64_t>{0, 0, 100, 1 << 20});
    next.keep =
        random.pick(std::vector<sbp::Keep>{sbp::Keep::Last, sbp::Keep::Step, sbp::Keep::Never, sbp::Keep::Always});
    next.prefetch = random.pick(std::vector<int64_t>{0, 1, sbp::kAutomatic, 2, 3});
    next.update = random.chance(70) ? sbp::Update::Reduced : sbp::Update::Last;
    next.ownPolicies = i == 0;
    next.pipeline = i == 0   ? sbp::PipelineSchedule::OneForwardOneBackward
                    : i == 1 ? sbp::PipelineSchedule::Sequential
                             : sbp::PipelineSchedule::Gpipe;
    result.push_back(next);
  }
  return result;
}

} // namespace splitcast::property
