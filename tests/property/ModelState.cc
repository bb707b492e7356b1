#include "tests/property/ModelState.h"

#include <numeric>

using namespace mlir;

namespace splitcast::property {

namespace {

using Axes = std::vector<sbp::Axis>;

/// Meshes of two and three axes, none of size 1.
const std::vector<Axes> &meshesOfAxes() {
  static const std::vector<Axes> meshes = {{{"dp", 2}, {"pp", 2}},
                                           {{"dp", 2}, {"tp", 3}},
                                           {{"dp", 3}, {"pp", 2}},
                                           {{"dp", 2}, {"pp", 2}, {"tp", 2}},
                                           {{"dp", 2}, {"pp", 3}, {"tp", 2}}};
  return meshes;
}

sbp::PlacementAttr randomPlacement(Random &random, const Traits &traits, MLIRContext &context) {
  static const std::vector<Axes> meshes = {{{"dp", 2}},
                                           {{"dp", 2}},
                                           {{"dp", 3}},
                                           {{"dp", 3}},
                                           {{"dp", 4}},
                                           {{"dp", 4}},
                                           {{"dp", 2}, {"tp", 2}},
                                           {{"dp", 2}, {"tp", 2}},
                                           {{"dp", 2}, {"tp", 1}},
                                           {{"dp", 1}, {"tp", 3}},
                                           {{"dp", 1}}};
  // Kernels for GPUs run on a device that emulates them; they are larger, hence fewer.
  sbp::Placement placement{
      random.chance(20) ? "cuda" : "cpu", random.pick(traits.isOnMesh ? meshesOfAxes() : meshes), {}};
  if (!traits.halves.empty() && random.chance(15)) // one rank: none sums with others
    placement.axes = random.chance(50) ? Axes{{"dp", 1}} : Axes{{"dp", 1}, {"tp", 1}};
  if (random.chance(10)) { // ranks in another order
    placement.ranks.resize(placement.numPositions());
    std::iota(placement.ranks.begin(), placement.ranks.end(), 0);
    for (size_t i = placement.ranks.size(); i > 1; --i)
      std::swap(placement.ranks[i - 1], placement.ranks[random.below(i)]);
  }
  return sbp::PlacementAttr::fromAlgebra(&context, placement);
}

} // namespace

ModelState::ModelState(Random &random, Traits traits, MLIRContext &context)
    : random(random), traits(std::move(traits)), module(ModuleOp::create(UnknownLoc::get(&context))),
      placement(randomPlacement(random, this->traits, context)) {
  module.get()->setAttr("sbp.placement", placement);
}

sbp::VariableOp ModelState::variable(const sbp::Shape &shape, Type element, bool mayBeFrozen) {
  if (random.chance(35))
    for (sbp::VariableOp known : variables)
      if (sbp::shapeOf(known.getType()) == shape && known.getTensorType().getElementType() == element &&
          (mayBeFrozen || !known.getFrozen()))
        return known;
  std::string name = "l" + std::to_string(layer) + ".w" + std::to_string(variables.size());
  sbp::VariableOp made = create(name, shape, element, mayBeFrozen && random.chance(15));
  variables.push_back(made);
  return made;
}

sbp::VariableOp ModelState::counter(const sbp::Shape &shape, Type element) {
  return create("counter" + std::to_string(initial.size()), shape, element, true);
}

sbp::VariableOp ModelState::carried(const sbp::Shape &shape, Type element, bool asMade) {
  sbp::VariableOp made = create("carried" + std::to_string(numCarried++), shape, element, true);
  initial.erase(made.getSymName().str());
  made.setCarried(true);
  made.setAsMade(asMade);
  if (asMade)
    made.setType(RankedTensorType::get(shape, element));
  return made;
}

sbp::VariableOp ModelState::copyOf(sbp::VariableOp source) {
  sbp::Shape shape = sbp::shapeOf(source.getType());
  Type element = source.getTensorType().getElementType();
  int64_t in = random.between(0, layer);
  std::string number = std::to_string(initial.size());
  if (random.chance(40)) {
    sbp::VariableOp owner = source.getStateOf() || random.chance(50) ? known() : source;
    const bool isAlike = sbp::shapeOf(owner.getType()) == shape;
    if ((isAlike || random.chance(90)) && !owner.getStateOf()) {
      sbp::VariableOp made = create(owner.getSymName().str() + ".copy" + number, shape, element, false);
      if (isAlike)
        made.setType(random.chance(80) ? sbp::withSignature(made.getType(), sbp::signatureOf(owner.getType()))
                                       : made.getTensorType());
      made.setStateOfAttr(FlatSymbolRefAttr::get(owner.getSymNameAttr()));
      made.setRoleAttr(StringAttr::get(module->getContext(), "copy" + number));
      made.removeGroupAttr();
      features.insert(Feature::CopyOfState);
      if (!isAlike)
        features.insert(Feature::StateOfOther);
      return made;
    }
  }
  sbp::VariableOp made = create("l" + std::to_string(in) + ".copy" + number, shape, element, random.chance(20));
  if (made.getGroupOrPrefix() != source.getGroupOrPrefix())
    features.insert(Feature::CopyBetweenBuckets);
  return made;
}

/// In the order of Feature.
static const std::vector<const char *> &featureNames() {
  static const std::vector<const char *> names = {"copy of a variable",
                                                  "copy between buckets",
                                                  "copy of state",
                                                  "integer variable",
                                                  "assigned twice",
                                                  "empty tensor",
                                                  "unused input",
                                                  "user's fence",
                                                  "computed places",
                                                  "used while moved",
                                                  "user's update",
                                                  "two steps",
                                                  "two functions that train",
                                                  "two Adams",
                                                  "repeated calls",
                                                  "part of a part",
                                                  "state of another shape",
                                                  "argument that is P",
                                                  "two states of one role",
                                                  "several micro-batches",
                                                  "summed per step",
                                                  "gathered per step",
                                                  "summed exactly",
                                                  "user's schedule",
                                                  "kept run of a user's",
                                                  "scheduled learning rate",
                                                  "clipped by norm",
                                                  "clipped by value",
                                                  "scaled loss",
                                                  "selected",
                                                  "stopped gradient",
                                                  "grouped variables",
                                                  "placed variables",
                                                  "own policies",
                                                  "recomputed blocks",
                                                  "norms of batches in a pipeline",
                                                  "reproducible pipelines",
                                                  "masked scores",
                                                  "wide addends",
                                                  "large logits",
                                                  "turns of sessions"};
  return names;
}

std::vector<Feature> allFeatures() {
  std::vector<Feature> all;
  for (size_t i = 0; i < featureNames().size(); ++i)
    all.push_back(static_cast<Feature>(i));
  return all;
}

const char *toString(Feature feature) { return featureNames()[static_cast<int>(feature)]; }

sbp::VariableOp ModelState::create(const std::string &name, const sbp::Shape &shape, Type element, bool frozen) {
  OpBuilder b = OpBuilder::atBlockBegin(module->getBody());
  if (!module->getBody()->empty())
    for (auto variable : module->getOps<sbp::VariableOp>())
      b.setInsertionPointAfter(variable);
  auto type = RankedTensorType::get(shape, element);
  if (random.chance(60))
    type = sbp::withSignature(type, random.chance(75) ? sbp::NdAttr::broadcast(placement) : signature(shape, false));
  const char *group = random.chance(15) ? "shared" : "";
  initial[name] = integers(shape, element, shape.empty() ? 1 : -1, 1);
  auto variable = b.create<sbp::VariableOp>(b.getUnknownLoc(), name, type, Attribute(), group);
  variable.setFrozen(frozen);
  return variable;
}

sbp::NdAttr ModelState::signature(const sbp::Shape &shape, bool mayBeNone) {
  if (mayBeNone && random.chance(50))
    return {};
  sbp::NdSbp entries;
  sbp::Placement algebra = placement.toAlgebra();
  for (int64_t axis = 0; axis < placement.getNumAxes(); ++axis) {
    entries.push_back(shape.empty() || random.chance(100 - traits.percentSplit)
                          ? sbp::Sbp::broadcast()
                          : sbp::Sbp::split(random.below(shape.size())));
    if (!entries.back().isSplit())
      continue;
    // Every second split keeps a unit together: two or three elements, or all.
    int64_t grain = sbp::grainBefore(axis, entries.back().dim, shape, entries, algebra).elements;
    for (int64_t unit : {int64_t{2}, int64_t{3}, grain})
      if (splits % 2 == 0 && unit > 0 && grain % unit == 0 && entries.back().unit == 1)
        entries.back().unit = unit;
    ++splits;
  }
  return sbp::NdAttr::get(placement, sbp::withoutIdleUnits(shape, entries, algebra));
}

Type ModelState::element() {
  return hasHalves() && random.chance(40) ? half() : Float32Type::get(module->getContext());
}

RankedTensorType ModelState::typed(const sbp::Shape &shape, Type element, int percentSigned) {
  auto type = RankedTensorType::get(shape, element);
  return random.chance(percentSigned) ? sbp::withSignature(type, signature(shape, false)) : type;
}

differential::Tensor ModelState::integers(const sbp::Shape &shape, Type element, int64_t low, int64_t high) {
  differential::Tensor tensor = differential::Tensor::zeros(shape, element);
  for (double &value : tensor.floats)
    value = random.between(low, high);
  for (int64_t &value : tensor.integers)
    value = random.between(low, high);
  return tensor;
}

} // namespace splitcast::property
