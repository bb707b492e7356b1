#include "tests/property/GraphGenerator.h"

#include "passes/global/Passes.h"
#include "tests/differential/EveryPass.h"
#include "tests/differential/OptimizerAs.h"
#include "tests/property/Kinds.h"
#include "tests/property/ScheduleBuilder.h"
#include "tests/property/TrainingOptions.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace splitcast::property {

namespace {

/// With the same learning rate. Not Lion: the sign of what is nearly 0 is another at each level.
Optimizer otherOptimizer(Random &random, double rate) {
  switch (random.below(3)) {
  case 0:
    return Nesterov{rate, 0.5};
  case 1:
    return Adagrad{rate, 0.0625};
  default:
    return RmsProp{rate, 0.75, 0.0625, random.chance(50) ? 0.5 : 0.0};
  }
}

RateSchedule randomSchedule(Random &random) {
  const double warmup = random.below(3);
  switch (random.below(6)) {
  case 0:
    return ConstantRate{warmup};
  case 1:
    return LinearRate{warmup + random.between(1, 3), 0.25, warmup};
  case 2:
    return CosineRate{warmup + random.between(1, 3), 0.125, warmup};
  case 3:
    return PolynomialRate{warmup + random.between(1, 3), 2.0, 0.0, warmup};
  case 4:
    return StepRate{static_cast<double>(random.between(1, 2)), 0.5, warmup};
  default:
    return ExponentialRate{0.75, warmup};
  }
}

/// Another optimizer in place of those that are no Adam, and schedules of the learning rate. Whether there is any of
/// these.
bool changeTraining(Random &random, ModuleOp module) {
  const bool changesOptimizer = random.chance(20), givesSchedule = random.chance(10);
  std::optional<RateSchedule> schedule;
  module.walk([&](nn::MinimizeOp op) {
    auto optimizer = cast<nn::OptimizerAttr>(op.getOptimizer()).model();
    if (changesOptimizer && !optimizer->countsUpdates())
      op.setOptimizerAttr(nn::OptimizerAttr::get(op.getContext(), otherOptimizer(random, optimizer->learningRate())));
    if (!schedule || random.chance(30)) // its own, or that of the one before
      schedule = randomSchedule(random);
    if (givesSchedule)
      op.setScheduleAttr(nn::RateScheduleAttr::get(op.getContext(), *schedule));
  });
  return givesSchedule && schedule;
}

/// Gradients clipped, in each step or none, by numbers that clip some. Returns by what. By a norm, which is no whole
/// number, more rarely where all else is exact.
std::optional<Feature> clipGradients(Random &random, ModuleOp module, bool isOfIntegers) {
  const int64_t way = random.below(100), norms = isOfIntegers ? 6 : 18;
  if (way >= 30)
    return std::nullopt;
  module.walk([&](nn::MinimizeOp op) {
    auto most = FloatAttr::get(Float64Type::get(op.getContext()), random.pick(std::vector<double>{0.25, 1.0, 8.0}));
    if (way < norms)
      op.setClipNormAttr(most);
    else
      op.setClipValueAttr(most);
  });
  return way < norms ? Feature::ClippedByNorm : Feature::ClippedByValue;
}

/// Losses scaled by powers of two that nothing overflows by, which change from step to step: no bit depends on them.
/// Small floats may overflow.
bool scaleLosses(Random &random, const Traits &traits, ModuleOp module) {
  if (!traits.halves.empty() || !random.chance(15))
    return false;
  const LossScale scale{random.pick(std::vector<double>{0.25, 1.0, 1024.0}), 2.0, 0.5,
                        static_cast<double>(random.below(3))};
  module.walk([&](nn::MinimizeOp op) {
    if (op.getLoss().getType().getElementType().isF32())
      op.setLossScaleAttr(nn::LossScaleAttr::get(op.getContext(), scale));
  });
  return true;
}

/// Some sums of two become one of the two: where the first is not 0, if that is exact, else by a number.
bool selectSome(Random &random, ModuleOp module, bool isOfIntegers) {
  bool selects = false;
  if (!random.chance(15))
    return false;
  module.walk([&](nn::AddOp op) {
    RankedTensorType type = op.getLhs().getType();
    if (!isa<FloatType>(type.getElementType()) || !random.chance(30))
      return;
    OpBuilder b(op);
    Value condition = op.getLhs();
    if (!isOfIntegers) {
      auto number = b.getF64FloatAttr(random.chance(50) ? 1.0 : 0.0);
      condition = b.create<nn::ConstantOp>(op.getLoc(), RankedTensorType::get({}, type.getElementType()), number);
    }
    Value chosen = b.create<nn::SelectOp>(op.getLoc(), op.getType(), condition, op.getLhs(), op.getRhs());
    op.replaceAllUsesWith(chosen);
    op.erase();
    selects = true;
  });
  return selects;
}

/// What each function that minimizes one loss trains.
std::map<StringRef, SmallVector<StringRef>> trainedBy(ModuleOp module) {
  std::map<StringRef, SmallVector<StringRef>> trained;
  OwningOpRef<ModuleOp> differentiated = cast<ModuleOp>(module->clone());
  PassManager passes(module.getContext());
  passes.addPass(createDifferentiatePass());
  if (failed(passes.run(*differentiated)))
    return trained;
  const SymbolTable variables(module); // names outlive the copy
  for (auto function : module.getOps<func::FuncOp>())
    if (llvm::hasSingleElement(function.getOps<nn::MinimizeOp>()))
      for (auto update : differentiated->lookupSymbol<func::FuncOp>(function.getName()).getOps<nn::UpdateOp>())
        trained[function.getName()].push_back(variables.lookup<sbp::VariableOp>(update.getVariable()).getSymName());
  return trained;
}

/// Some variables are updated by half the learning rate, and count for themselves. Whether there are such.
bool groupVariables(Random &random, ModuleOp module) {
  if (!random.chance(12))
    return false;
  bool isGrouped = false;
  llvm::StringMap<bool> isIn; // of the group, in all functions
  for (const auto &[name, variables] : trainedBy(module)) {
    SmallVector<StringRef> patterns;
    for (StringRef variable : variables)
      if (isIn.try_emplace(variable, random.chance(50)).first->second)
        patterns.push_back(variable);
    auto minimize = *module.lookupSymbol<func::FuncOp>(name).getOps<nn::MinimizeOp>().begin();
    auto all = cast<nn::OptimizerAttr>(minimize.getOptimizer());
    std::vector<double> numbers = all.getValues().asArrayRef().vec();
    numbers.front() *= 0.5;
    Builder b(module.getContext());
    auto own = nn::OptimizerAttr::get(b.getContext(), all.getName(), b.getDenseF64ArrayAttr(numbers));
    if (!patterns.empty())
      minimize.setGroupsAttr(b.getArrayAttr(
          nn::ParametersAttr::get(b.getContext(), b.getStringAttr("some"), b.getStrArrayAttr(patterns), own)));
    isGrouped |= !patterns.empty() && patterns.size() < variables.size();
  }
  return isGrouped;
}

bool isAdam(Attribute optimizer) { return cast<nn::OptimizerAttr>(optimizer).model()->countsUpdates(); }

/// Nothing, and what is much for a generated graph, or half of it.
std::vector<int64_t> numbersOf(sbp::Decision decision) {
  return {0, decision == sbp::Decision::PrefetchBytes ? 1 << 20 : 100};
}

sbp::PolicyAttr randomPolicy(Random &random, MLIRContext &context) {
  sbp::Policy policy;
  for (const sbp::DecisionInfo &info : sbp::decisionInfos()) {
    if (info.decision == sbp::Decision::ComputeType) // changes what is computed
      continue;
    if (info.decision == sbp::Decision::Stage ? random.chance(80) : random.chance(30))
      policy.set(info.decision, info.choices.empty() ? random.pick(numbersOf(info.decision))
                                                     : random.below(static_cast<int64_t>(info.choices.size())));
  }
  if (policy.isEmpty())
    policy.setStage(random.below(4));
  return sbp::PolicyAttr::get(&context, policy);
}

/// For some variables, and some groups of them. Whether any was given.
bool givePolicies(Random &random, ModuleOp module) {
  MLIRContext &context = *module.getContext();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  llvm::SetVector<StringRef> groups;
  bool isAny = false;
  for (auto variable : module.getOps<sbp::VariableOp>()) {
    if (variable.getStateOf())
      continue;
    if (!variable.getGroupOrPrefix().empty())
      groups.insert(variable.getGroupOrPrefix());
    if (!random.chance(30))
      continue;
    variable.setPolicyAttr(randomPolicy(random, context));
    isAny = true;
  }
  for (StringRef group : groups)
    if (random.chance(30)) {
      builder.create<sbp::GroupOp>(builder.getUnknownLoc(), group, randomPolicy(random, context));
      isAny = true;
    }
  return isAny;
}

/// Whether reads of the variable say nothing of how it lies.
bool isReadAsItLies(sbp::VariableOp variable) {
  const auto uses = SymbolTable::getSymbolUses(variable, variable->getParentOfType<ModuleOp>());
  return uses && llvm::all_of(*uses, [](const SymbolTable::SymbolUse &use) {
           auto read = dyn_cast<sbp::ReadOp>(use.getUser());
           return !read || !sbp::signatureOf(read.getResult());
         });
}

/// Has some variables lie at one coordinate of an axis along which they are whole, mostly of one axis, as stages of a
/// pipeline do.
bool placeVariables(Random &random, const Traits &traits, ModuleOp module) {
  auto placement = module->getAttrOfType<sbp::PlacementAttr>("sbp.placement");
  if (!random.chance(traits.isOnMesh ? 100 : 25))
    return false;
  const size_t axis = random.below(placement.getNumAxes());
  bool isAny = false;
  for (auto variable : module.getOps<sbp::VariableOp>()) {
    const size_t along = random.chance(80) ? axis : random.below(placement.getNumAxes());
    const auto coordinate = static_cast<int64_t>(random.below(placement.getAxisSizes()[along]));
    const sbp::NdAttr given = sbp::signatureOf(variable.getType());
    sbp::NdSbp signature = (given ? given : sbp::NdAttr::broadcast(placement)).toAlgebra();
    if (!random.chance(60) || variable.getAsMade() || !signature[along].isBroadcast() || !isReadAsItLies(variable))
      continue;
    signature[along] = sbp::Sbp::at(coordinate);
    variable.setTypeAttr(TypeAttr::get(sbp::withSignature(variable.getType(), sbp::NdAttr::get(placement, signature))));
    isAny = true;
  }
  return isAny;
}

Traits randomTraits(uint64_t seed, MLIRContext &context) {
  static const std::vector<std::vector<int64_t>> extents = {{3}, {4}, {5}, {7}, {8},    {16},   {17},   {19},
                                                            {3}, {4}, {2}, {6}, {2, 3}, {3, 4}, {4, 7}, {3, 19}};
  Random random(~seed);
  Traits traits;
  if (random.chance(33))
    traits.extents = random.pick(extents);
  if (random.chance(25)) {
    const Type bf16 = BFloat16Type::get(&context), f16 = Float16Type::get(&context);
    traits.halves = random.pick(std::vector<std::vector<Type>>{{bf16}, {f16}, {bf16, f16}});
  }
  traits.ofUsers = random.chance(45);
  traits.splitsBatch = random.chance(25);
  traits.isOnMesh = seed >= kFirstSeedOnMesh;
  return traits;
}

/// Another Adam; of the same learning rate, since a module has one.
Attribute withOtherBetas(Attribute optimizer) {
  if (auto adam = differential::optimizerAs<Adam>(optimizer)) {
    std::swap(adam->beta1, adam->beta2);
    return nn::OptimizerAttr::get(optimizer.getContext(), *adam);
  }
  AdamW adamw = *differential::optimizerAs<AdamW>(optimizer);
  std::swap(adamw.beta1, adamw.beta2);
  return nn::OptimizerAttr::get(optimizer.getContext(), adamw);
}

/// A second function that trains, by an optimizer of its own where one counts steps; both run in turn.
void addOtherStep(ModelState &model, FunctionBuilder &train, Attribute optimizer, GeneratedGraph &graph) {
  Random &random = model.random;
  if (isAdam(optimizer)) {
    model.features.insert(Feature::TwoAdams);
    if (random.chance(60))
      optimizer = withOtherBetas(optimizer);
  }
  FunctionBuilder other(model, "train_too", graph.isOfIntegers);
  other.build(random.between(1, 5));
  other.minimize(optimizer);
  other.finish();
  auto &calls = graph.experiment.calls;
  calls.push_back(other.call());
  model.features.insert(Feature::TwoFunctions);
  if (random.chance(50)) {
    calls.push_back(train.call());
    calls.push_back(other.call());
  }
}

/// What a user orders himself, after the first step and once more in the end.
void addSchedule(ModelState &model, Attribute optimizer, GeneratedGraph &graph) {
  ScheduleBuilder schedule(model, graph.isOfIntegers, optimizer);
  schedule.build();
  auto &calls = graph.experiment.calls;
  calls.insert(std::next(calls.begin()), {schedule.call(), schedule.call()});
  calls.push_back(schedule.call());
}

/// With one more argument, which is P.
Refusal withPartialArgument(ModuleOp source, sbp::PlacementAttr placement) {
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(source->clone());
  sbp::NdSbp entries(placement.getNumAxes(), sbp::Sbp::broadcast());
  entries.front() = sbp::Sbp::partial();
  auto function = *module->getOps<func::FuncOp>().begin();
  auto type = RankedTensorType::get({4}, Float32Type::get(source.getContext()), sbp::NdAttr::get(placement, entries));
  function.insertArgument(function.getNumArguments(), type, {}, function.getLoc());
  return {std::move(module), "as P"};
}

/// Two states of a variable with one role.
Refusal withEqualRoles(ModuleOp source, sbp::VariableOp of) {
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(source->clone());
  OpBuilder b = OpBuilder::atBlockBegin(module->getBody());
  for (const char *name : {"equal_role", "equal_role_too"}) {
    auto state = b.create<sbp::VariableOp>(b.getUnknownLoc(), name, of.getType());
    state.setStateOf(of.getSymName());
    state.setRole("equal");
  }
  return {std::move(module), "give each a role of its own"};
}

void addRefusals(Random &random, ModelState &model, GeneratedGraph &graph) {
  if (random.chance(10)) {
    graph.refusals.push_back(withPartialArgument(*model.module, model.placement));
    model.features.insert(Feature::PartialArgument);
  }
  if (random.chance(10)) {
    graph.refusals.push_back(withEqualRoles(*model.module, model.known()));
    model.features.insert(Feature::EqualRoles);
  }
}

/// Whether a variable that `split` has and `whole` has not holds bf16 or f16. Each micro-batch then rounds its addend,
/// and no bound for one op holds, as where ranks add halves (below).
bool sumsHalvesOverMicroBatches(ModuleOp whole, ModuleOp split) {
  return llvm::any_of(split.getOps<sbp::VariableOp>(), [&](sbp::VariableOp variable) {
    return !whole.lookupSymbol(variable.getSymName()) && isHalf(getElementTypeOrSelf(variable.getType()));
  });
}

/// The graph after the passes of the global level as one of its ways has them, up to the first after which `isDone`; or
/// null: one of these fails, which is for the check to find.
OwningOpRef<ModuleOp> compiledGlobally(
    const GeneratedGraph &graph, const differential::Configuration &configuration,
    function_ref<bool(ModuleOp)> isDone = [](ModuleOp) { return false; }) {
  OwningOpRef<ModuleOp> module = cast<ModuleOp>((*const_cast<OwningOpRef<ModuleOp> &>(graph.module))->clone());
  if (!configuration.ownPolicies)
    differential::dropPolicies(*module);
  for (const std::string &pass : differential::globalPasses(configuration)) {
    if (isDone(*module))
      break;
    if (!differential::runPass(*module, pass).ok())
      return {};
  }
  return module;
}

/// Whether the step can be computed so, as this way to compile it has it: a group that is recomputed has fences, behind
/// which what is made from nothing is whole.
bool canSplitSteps(const GeneratedGraph &graph, const differential::Configuration &configuration) {
  auto isSplit = [](ModuleOp module) { return isa<sbp::ScheduleOp>(module.lookupSymbol("train")); };
  OwningOpRef<ModuleOp> module = compiledGlobally(graph, configuration, isSplit);
  return module && isSplit(*module) &&
         !sumsHalvesOverMicroBatches(*const_cast<OwningOpRef<ModuleOp> &>(graph.module), *module);
}

/// Whether what a step in micro-batches gathers is gathered before them, as this way to compile it has it.
bool gathersPerStep(const GeneratedGraph &graph, const differential::Configuration &configuration) {
  OwningOpRef<ModuleOp> module = compiledGlobally(graph, configuration);
  return module && llvm::any_of(module->getOps<sbp::ScheduleOp>(), [](sbp::ScheduleOp schedule) {
           auto first = *schedule.getBody().front().getOps<sbp::RunOp>().begin();
           return schedule.getMicroBatches() > 1 && first.getFunction().ends_with(".prologue");
         });
}

/// Each of the ways changed, if the graph can be compiled so in all of them.
bool changeWays(GeneratedGraph &graph, function_ref<void(std::vector<differential::Configuration> &)> change,
                function_ref<bool(const differential::Configuration &)> canBe) {
  std::vector<differential::Configuration> ways = graph.configurations;
  change(ways);
  if (!llvm::all_of(ways, canBe))
    return false;
  graph.configurations = std::move(ways);
  return true;
}

/// In as many micro-batches as divide its inputs, where its step can be made of some.
void splitSteps(Random &random, GeneratedGraph &graph) {
  std::vector<int64_t> counts = {2, 3, 4, 5};
  const bool gathersOnce = random.chance(40);
  const auto order = random.chance(50) ? sbp::AccumulateOrder::PerStep : sbp::AccumulateOrder::PerMicroBatch;
  while (!counts.empty()) {
    const int64_t count = random.pick(counts);
    llvm::erase(counts, count);
    const auto split = [&](std::vector<differential::Configuration> &ways) {
      for (differential::Configuration &way : ways) {
        way.microBatches = count;
        way.order = order;
      }
      if (gathersOnce) {
        ways.back().stage = 3;
        ways.back().keep = sbp::Keep::Step;
      }
    };
    if (!changeWays(graph, split, [&](const auto &way) { return canSplitSteps(graph, way); }))
      continue;
    graph.features.insert(toString(Feature::MicroBatches));
    if (order == sbp::AccumulateOrder::PerStep)
      graph.features.insert(toString(Feature::SummedPerStep));
    if (llvm::any_of(graph.configurations, [&](const auto &way) { return gathersPerStep(graph, way); }))
      graph.features.insert(toString(Feature::GatheredPerStep));
    return;
  }
}

/// Where ranks and micro-batches have equal parts of the batch, and add up nothing else.
void sumExactly(GeneratedGraph &graph) {
  const auto makeExact = [](std::vector<differential::Configuration> &ways) {
    for (differential::Configuration &way : ways)
      way.reproducible = true;
  };
  const auto canBe = [&](const differential::Configuration &way) {
    OwningOpRef<ModuleOp> module = compiledGlobally(graph, way);
    return module && module->walk([](nn::ExactSumOp) { return WalkResult::interrupt(); }).wasInterrupted();
  };
  if (changeWays(graph, makeExact, canBe))
    graph.features.insert(toString(Feature::SummedExactly));
}

/// What is drawn apart from the graph, each by itself: seeds without one of these have the graph that they had.
void changeModel(uint64_t seed, const Traits &traits, ModelState &model, bool isOfIntegers) {
  Random policies(seed ^ 0x9e3779b97f4a7c15);
  if (policies.chance(40) && givePolicies(policies, *model.module))
    model.features.insert(Feature::OwnPolicies);
  if (Random training(seed ^ 0x94d049bb133111eb); changeTraining(training, *model.module))
    model.features.insert(Feature::ScheduledRate);
  Random clips(seed ^ 0xe7037ed1a0b428db);
  if (std::optional<Feature> clipped = clipGradients(clips, *model.module, isOfIntegers))
    model.features.insert(*clipped);
  if (Random scales(seed ^ 0x8ebc6af09c88c6e3); scaleLosses(scales, traits, *model.module))
    model.features.insert(Feature::ScaledLoss);
  if (Random selects(seed ^ 0x589965cc75374cc3); selectSome(selects, *model.module, isOfIntegers))
    model.features.insert(Feature::Selected);
  if (Random groups(seed ^ 0x1d8e4e27c47d124f); groupVariables(groups, *model.module))
    model.features.insert(Feature::Grouped);
  if (Random places(seed ^ 0xc2b2ae3d27d4eb4f); placeVariables(places, traits, *model.module))
    model.features.insert(Feature::Placed);
}

GeneratedGraph generate(uint64_t seed, const Traits &traits, MLIRContext &context) {
  Random random(seed);
  ModelState model(random, traits, context);
  GeneratedGraph graph;
  graph.isOfIntegers = random.chance(traits.halves.empty() ? 60 : 35);
  Attribute optimizer = nn::OptimizerAttr::get(&context, randomOptimizer(random));
  FunctionBuilder train(model, "train", graph.isOfIntegers);
  train.build(random.between(2, 12));
  if (traits.ofUsers)
    train.addFeatures(random.between(1, 3));
  train.minimize(optimizer);
  if (random.chance(40))
    train.useUpdated(random.between(1, 3));
  if (traits.ofUsers && random.chance(30))
    train.minimizeAgain(optimizer);
  if (traits.ofUsers && random.chance(50))
    train.addFeatures(random.between(1, 2));
  train.finish();
  auto &calls = graph.experiment.calls;
  calls.push_back(train.call());
  if (random.chance(25))
    addOtherStep(model, train, optimizer, graph);
  if (random.chance(traits.ofUsers ? 60 : 30)) {
    FunctionBuilder evaluate(model, "evaluate", graph.isOfIntegers);
    evaluate.build(random.between(1, 5));
    if (traits.ofUsers && random.chance(50))
      evaluate.useWhileMoved(/*ofVariable=*/true);
    evaluate.finish();
    calls.push_back(evaluate.call());
    if (traits.ofUsers) {
      calls.push_back(evaluate.call());
      calls.push_back(train.call());
      calls.push_back(evaluate.call());
      model.features.insert(Feature::RepeatedCalls);
    }
  }
  calls.push_back(train.call());
  graph.configurations = randomConfigurations(random, model.placement);
  if (Random schedules(seed ^ 0x94d049bb133111eb); schedules.chance(20))
    addSchedule(model, optimizer, graph);
  changeModel(seed, traits, model, graph.isOfIntegers);
  Random refused(seed ^ 0xd1b54a32d192ed03);
  addRefusals(refused, model, graph);
  graph.experiment.initial = std::move(model.initial);
  graph.module = std::move(model.module);
  for (Feature feature : model.features)
    graph.features.insert(toString(feature));
  Random steps(seed ^ 0xa0761d6478bd642f);
  if (traits.splitsBatch || steps.chance(60))
    splitSteps(steps, graph);
  if (steps.chance(85)) // of the others, sums are as they are by default
    sumExactly(graph);
  return graph;
}

/// Whether bf16 or f16 become P over several ranks. Each rank then rounds its addend, and how far levels are apart
/// depends on what is computed of the sum: no bound for one op holds.
bool isSummedOverRanks(Value value) {
  if (!isHalf(getElementTypeOrSelf(value.getType())))
    return false;
  const sbp::NdSbp signature = sbp::signatureOf(value).toAlgebra();
  const sbp::Placement placement = sbp::signatureOf(value).getPlacement().toAlgebra();
  return llvm::any_of(llvm::zip(signature, placement.axes),
                      [](auto entry) { return std::get<0>(entry).isPartial() && std::get<1>(entry).size > 1; });
}

/// Whether it does so in one of the ways.
bool sumsHalvesOverRanks(const GeneratedGraph &graph) {
  for (const differential::Configuration &configuration : graph.configurations) {
    OwningOpRef<ModuleOp> module = compiledGlobally(graph, configuration);
    if (!module)
      return false;
    WalkResult walk = module->walk([](Operation *op) {
      return llvm::any_of(op->getResults(), isSummedOverRanks) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return true;
  }
  return false;
}

} // namespace

// As the vectors of single ops allow (tests/vectors).
double halfRoundingOf(ModuleOp module) {
  double rounding = 0;
  module.walk([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      const Type element = getElementTypeOrSelf(type);
      rounding = std::max(rounding, element.isBF16() ? 8e-3 : element.isF16() ? 1e-3 : 0.0);
    }
  });
  return rounding;
}

bool GeneratedGraph::isPlainModel() const {
  static const std::set<std::string> plain = {
      toString(Feature::OwnPolicies),     toString(Feature::TwoFunctions),    toString(Feature::TwoAdams),
      toString(Feature::PartOfPart),      toString(Feature::PartialArgument), toString(Feature::EqualRoles),
      toString(Feature::ScheduledRate),   toString(Feature::ClippedByNorm),   toString(Feature::ClippedByValue),
      toString(Feature::ScaledLoss),      toString(Feature::Selected),        toString(Feature::Grouped),
      toString(Feature::RecomputedBlocks)};
  return llvm::all_of(features, [](const std::string &name) { return plain.count(name) > 0; });
}

/// Steps of half the graphs whose inputs are split by rows need all rows at once somewhere. A few are drawn until one
/// does not.
GeneratedGraph generateOf(uint64_t seed, const Traits &traits, MLIRContext &context) {
  constexpr int kAttempts = 4;
  GeneratedGraph graph = generate(seed, traits, context);
  for (uint64_t attempt = 1; traits.splitsBatch && attempt < kAttempts; ++attempt)
    if (!graph.features.count(toString(Feature::MicroBatches)))
      graph = generate(seed + attempt * kNextSeed, traits, context);
  return graph;
}

/// Of graphs that are mostly rounding (differences of what is nearly equal), a few are drawn until one is not, too. A
/// graph that does not run is for the check to find.
GeneratedGraph generateNear(uint64_t seed, const Traits &traits, MLIRContext &context) {
  constexpr int kAttempts = 4;
  GeneratedGraph graph = generateOf(seed, traits, context);
  for (uint64_t attempt = 1; attempt < kAttempts; ++attempt) {
    const absl::StatusOr<bool> isNear = differential::isNearInF32(*graph.module, graph.experiment);
    if (!isNear.ok() || *isNear)
      break;
    graph = generateOf(seed ^ (attempt * kNextSeed), traits, context);
  }
  return graph;
}

/// Where gradients are summed depends on the signatures that the compiler chooses. So graphs with halves are drawn
/// until one sums none over ranks, each split less than the one before.
GeneratedGraph generateGraph(uint64_t seed, MLIRContext &context) {
  if (std::optional<GeneratedGraph> graph = generateOfKind(seed, context))
    return *std::move(graph);
  constexpr int kAttempts = 13, kLessSplit = 5;
  const Traits traits = randomTraits(seed, context);
  Traits next = traits;
  for (uint64_t attempt = 0; !traits.halves.empty() && attempt < kAttempts; ++attempt) {
    GeneratedGraph graph = generate(seed + attempt * kNextSeed, next, context);
    graph.halfRounding = halfRoundingOf(*graph.module);
    if (graph.halfRounding > 0 && !sumsHalvesOverRanks(graph))
      return graph;
    next.percentSplit -= kLessSplit;
  }
  Traits withoutHalves = traits;
  withoutHalves.halves.clear();
  return generateNear(seed, withoutHalves, context);
}

} // namespace splitcast::property
