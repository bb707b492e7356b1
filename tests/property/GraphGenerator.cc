#include "tests/property/GraphGenerator.h"

#include "tests/property/FunctionBuilder.h"

using namespace mlir;

namespace splitcast::property {

namespace {

FloatAttr number(MLIRContext &context, double value) { return FloatAttr::get(Float64Type::get(&context), value); }

/// Rates are powers of two, so that updates of integers are exact.
Attribute randomOptimizer(Random &random, MLIRContext &context) {
  FloatAttr rate = number(context, random.pick(std::vector<double>{1.0, 0.5, 0.25}));
  FloatAttr half = number(context, 0.5), threeQuarters = number(context, 0.75), epsilon = number(context, 0.0625);
  switch (random.below(6)) {
  case 0:
  case 1:
    return nn::SgdAttr::get(&context, rate);
  case 2:
  case 3:
    return nn::MomentumAttr::get(&context, rate, half);
  case 4:
    return nn::AdamAttr::get(&context, rate, half, threeQuarters, epsilon);
  default:
    return nn::AdamWAttr::get(&context, rate, half, threeQuarters, epsilon, number(context, 0.125));
  }
}

bool isAdam(Attribute optimizer) { return isa<nn::AdamAttr, nn::AdamWAttr>(optimizer); }

std::vector<differential::Configuration> randomConfigurations(Random &random, const ModelState &model) {
  differential::Configuration common;
  if (model.placement.getNumAxes() > 1 && random.chance(50))
    common.axis = "tp";
  std::vector<differential::Configuration> result;
  int64_t stage = random.below(4);
  for (int64_t i = 0; i < 2; ++i) {
    differential::Configuration next = common;
    next.stage = (stage + i * random.between(1, 3)) % 4;
    next.strategy = random.chance(60) ? "bucket" : "tensor";
    next.bucketBytes = random.pick(std::vector<int64_t>{0, 0, 100, 1 << 20});
    next.keepLast = random.chance(70);
    next.prefetch = random.chance(70) ? 1 : 0;
    result.push_back(next);
  }
  return result;
}

} // namespace

GeneratedGraph generateGraph(uint64_t seed, MLIRContext &context) {
  Random random(seed);
  ModelState model(random, context);
  GeneratedGraph graph;
  graph.isOfIntegers = random.chance(60);
  Attribute optimizer = randomOptimizer(random, context);
  FunctionBuilder train(model, "train", graph.isOfIntegers);
  train.build(random.between(2, 12));
  train.minimize(optimizer);
  if (random.chance(40))
    train.useUpdated(random.between(1, 3));
  train.finish();
  auto &calls = graph.experiment.calls;
  calls.push_back(train.call());
  if (!isAdam(optimizer) && random.chance(20)) { // steps of one Adam are counted by the module
    FunctionBuilder other(model, "train_too", graph.isOfIntegers);
    other.build(random.between(1, 5));
    other.minimize(optimizer);
    other.finish();
    calls.push_back(other.call());
  }
  if (random.chance(30)) {
    FunctionBuilder evaluate(model, "evaluate", graph.isOfIntegers);
    evaluate.build(random.between(1, 5));
    evaluate.finish();
    calls.push_back(evaluate.call());
  }
  calls.push_back(train.call());
  graph.configurations = randomConfigurations(random, model);
  graph.experiment.initial = std::move(model.initial);
  graph.module = std::move(model.module);
  return graph;
}

} // namespace splitcast::property
