#include "tests/property/ScheduleBuilder.h"

#include <numeric>

using namespace mlir;

namespace splitcast::property {

static constexpr char kName[] = "stepwise";

ScheduleBuilder::ScheduleBuilder(ModelState &model, bool ofIntegers, Attribute optimizer)
    : model(model), random(model.random), ofIntegers(ofIntegers), optimizer(optimizer),
      microBatches(random.between(1, 3)) {}

void ScheduleBuilder::build() {
  const auto count = static_cast<size_t>(random.between(1, 5));
  if (count > 1 && random.chance(40))
    addKept();
  while (runs.size() < count)
    addSegment(/*mayBeSplit=*/runs.size() <= 2);
  create();
  model.features.insert(Feature::UserSchedule);
}

FunctionBuilder ScheduleBuilder::startSegment() {
  return {model, "segment" + std::to_string(numFunctions++), ofIntegers};
}

/// The next step leaves it out, so nothing that it reads may be assigned here.
void ScheduleBuilder::addKept() {
  FunctionBuilder segment = startSegment();
  segment.keep(carried);
  segment.finishRun(FunctionBuilder::Gives::Nothing);
  addRun(segment, 0, 1, /*givesParts=*/false);
  runs.back().isKept = true;
  model.features.insert(Feature::KeptRun);
}

void ScheduleBuilder::addSegment(bool mayBeSplit) {
  // For one micro-batch, for some, or for all of them: in one run, or in two with another segment in between.
  const int64_t begin = random.chance(50) ? 0 : random.below(microBatches);
  const int64_t end = begin == 0 && random.chance(60) ? microBatches : random.between(begin + 1, microBatches);
  const bool runsOnce = end - begin == 1, isOfAll = begin == 0 && end == microBatches;
  FunctionBuilder segment = startSegment();
  segment.build(random.between(1, 4));
  segment.useCarried(carried, random.between(0, 2));
  // More updates of integers than those of the model have more digits than f32.
  if (!ofIntegers && !runs.empty() && !runs.front().isKept && runsOnce && random.chance(40))
    segment.minimize(optimizer);
  if (random.chance(30))
    segment.useNumber();
  for (int64_t i = random.between(1, 2); i > 0; --i)
    segment.carry(carried, end - begin);
  using Gives = FunctionBuilder::Gives;
  segment.finishRun(runsOnce ? Gives::All : isOfAll ? Gives::Parts : Gives::Nothing);
  if (!mayBeSplit || runsOnce || random.chance(60))
    return addRun(segment, begin, end, !runsOnce);
  addRun(segment, begin, begin + 1, /*givesParts=*/true);
  const Run first = runs.back();
  addSegment(/*mayBeSplit=*/false);
  runs.push_back(first);
  runs.back().begin = begin + 1;
  runs.back().end = end;
}

void ScheduleBuilder::addRun(FunctionBuilder &segment, int64_t begin, int64_t end, bool givesParts) {
  Run run{segment.get(), begin, end, {}, {}, segment.takesNumber(), false, {}, {}};
  for (const FunctionBuilder::Input &input : segment.getInputs()) {
    const bool isCut = !shapeOf(input.value).empty() && random.chance(70);
    run.takes.push_back(static_cast<int64_t>(inputs.size()));
    run.cuts.push_back(isCut ? 0 : -1);
    inputs.push_back({input, isCut});
  }
  const unsigned results = run.function.getNumResults();
  for (unsigned i = 0; i < results; ++i) {
    run.gives.push_back(numResults++);
    run.joins.push_back(givesParts ? 0 : -1);
  }
  runs.push_back(run);
}

void ScheduleBuilder::create() {
  OpBuilder b = OpBuilder::atBlockEnd(model.module->getBody());
  auto schedule = b.create<sbp::ScheduleOp>(b.getUnknownLoc(), kName, nullptr, microBatches);
  b = OpBuilder::atBlockBegin(&schedule.getBody().emplaceBlock());
  for (Run &run : runs)
    b.create<sbp::RunOp>(b.getUnknownLoc(), run.function.getSymName(), run.begin, run.end, run.takes, run.cuts,
                         run.isNumbered, run.gives, run.joins, run.isKept);
}

differential::Call ScheduleBuilder::call() {
  differential::Call call{kName, {}};
  for (const Input &input : inputs) {
    sbp::Shape shape = shapeOf(input.of.value);
    if (input.isCut)
      shape.front() *= microBatches;
    call.inputs.push_back(model.integers(shape, elementOf(input.of.value), input.of.low, input.of.high));
  }
  return call;
}

} // namespace splitcast::property
