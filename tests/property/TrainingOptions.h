//===- TrainingOptions.h - Random optimizers and configurations ---------------------===//
#ifndef SPLITCAST_TESTS_PROPERTY_TRAININGOPTIONS_H
#define SPLITCAST_TESTS_PROPERTY_TRAININGOPTIONS_H

#include "dialects/nn/Optimizers.h"
#include "dialects/sbp/Sbp.h"
#include "tests/differential/PassList.h"
#include "tests/property/Random.h"

namespace splitcast::property {

/// Rates are powers of two, so that updates of integers are exact.
Optimizer randomOptimizer(Random &random);

/// Two ways to compile a graph, of any stage and strategy.
std::vector<differential::Configuration> randomConfigurations(Random &random, sbp::PlacementAttr placement);

} // namespace splitcast::property

#endif // SPLITCAST_TESTS_PROPERTY_TRAININGOPTIONS_H
