//===- ModelState.h - What the functions of a random module share -------------------===//
#ifndef SPLITCAST_TESTS_PROPERTY_MODELSTATE_H
#define SPLITCAST_TESTS_PROPERTY_MODELSTATE_H

#include "dialects/nn/Nn.h"
#include "tests/differential/Oracle.h"
#include "tests/property/Random.h"

#include <set>

namespace splitcast::property {

inline bool isHalf(mlir::Type element) { return element.isBF16() || element.isF16(); }

/// What modules hold besides a model and its step, by hand of a user. `features` counts what a graph really has.
enum class Feature {
  CopyOfVariable,     ///< assigned to another variable as it was read
  CopyBetweenBuckets, ///< of these, one to a variable of another layer
  CopyOfState,        ///< from or to a variable that is state of another
  IntegerVariable,    ///< read, counted up and assigned
  AssignedTwice,      ///< likewise, and then again by another value, while the first is still needed
  EmptyTensor,        ///< an extent is 0
  UnusedInput,
  UserFence,       ///< in any phase
  ComputedPlaces,  ///< rows of what a product gave, at computed places, as many as there are
  UsedWhileMoved,  ///< by a kernel, while ranks exchange it
  UserUpdate,      ///< in the update of a variable: what is made of it is used beside addends and summed
  TwoSteps,        ///< two nn.minimize in a function, the second on what the first has updated
  TwoFunctions,    ///< that train, one after the other
  TwoAdams,        ///< of these, whose optimizers count steps
  RepeatedCalls,   ///< a function that assigns nothing runs twice in a row, and again after a step
  PartOfPart,      ///< dropout of what is a part of another tensor before ranks cut it
  StateOfOther,    ///< state of another shape than its parameter
  PartialArgument, ///< in a copy of the graph, which must be refused
  EqualRoles,      ///< likewise, of two states of a variable
  MicroBatches,    ///< the step is a schedule
  SummedPerStep,   ///< of these, whose accumulators are P
  GatheredPerStep, ///< of these, with a prologue of what all micro-batches gather
  SummedExactly,   ///< the step is reproducible
  UserSchedule,    ///< of functions that are no parts of one step
  KeptRun,         ///< of these, with a run that is kept
  ScheduledRate,   ///< the learning rate has a schedule
  ClippedByNorm,   ///< gradients, of one step or each of several
  ClippedByValue,  ///< likewise
  ScaledLoss,      ///< by powers of two, which change
  Selected,        ///< one of two tensors, by a third or by a number
  StoppedGradient, ///< by a user; quotients of a loss do not know of it
  Grouped,         ///< variables with an optimizer of their own
  Placed,          ///< variables are at one coordinate of an axis
  OwnPolicies,     ///< variables or groups say what ZeRO does with them; the second configuration does not listen
};
const char *toString(Feature feature);
std::vector<Feature> allFeatures();

/// What a graph is of. Drawn apart from all else: a seed without any has the graph that it had before there were any.
struct Traits {
  std::vector<int64_t> extents;   ///< one or two that shapes are made of, so that many are square; empty: 1 to 9
  std::vector<mlir::Type> halves; ///< bf16, f16 or both, besides f32 and f64
  int percentSplit = 60;          ///< of a signature's entries
  bool ofUsers = false;           ///< with features
  bool splitsBatch = false;       ///< inputs are split by rows or whole, and their rows an even number
  bool isOnMesh = false;          ///< of two or three axes, with variables at coordinates
};

/// Its module, placement, variables and their values.
class ModelState {
public:
  ModelState(Random &random, Traits traits, mlir::MLIRContext &context);

  /// A variable of this shape: one that is there, which is then shared, or a new one.
  sbp::VariableOp variable(const sbp::Shape &shape, mlir::Type element, bool mayBeFrozen);
  /// One of those that `variable` has made, of which there must be some.
  sbp::VariableOp known() { return random.pick(variables); }
  /// One that no other call returns, and that no gradient reaches: for assigning by hand.
  sbp::VariableOp counter(const sbp::Shape &shape, mlir::Type element);
  /// One that runs of a schedule carry, in a signature of the user's or as it is made.
  sbp::VariableOp carried(const sbp::Shape &shape, mlir::Type element, bool asMade);
  /// One like `source`, to be assigned: in any layer, or as the state of a variable.
  sbp::VariableOp copyOf(sbp::VariableOp source);

  /// Any signature without P that fits the shape; null sometimes when `mayBeNone`.
  sbp::NdAttr signature(const sbp::Shape &shape, bool mayBeNone);
  mlir::RankedTensorType typed(const sbp::Shape &shape, mlir::Type element, int percentSigned);

  /// Integers from `low` to `high`.
  differential::Tensor integers(const sbp::Shape &shape, mlir::Type element, int64_t low, int64_t high);

  void startLayer() { ++layer; }

  bool splitsBatch() const { return traits.splitsBatch; }
  bool hasHalves() const { return !traits.halves.empty(); }
  bool hasSquares() const { return !traits.extents.empty(); }
  /// low to high, both included; or one of those that shapes are made of.
  int64_t extent(int64_t low, int64_t high) {
    return hasSquares() ? random.pick(traits.extents) : random.between(low, high);
  }
  /// Of a tensor; that of 19 rows and columns among them.
  int64_t mostElements() const { return hasSquares() ? 400 : 300; }
  /// f32, or one of the halves.
  mlir::Type element();
  mlir::Type half() { return random.pick(traits.halves); }

  Random &random;
  const Traits traits;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  sbp::PlacementAttr placement;
  differential::Variables initial;
  std::set<Feature> features; ///< that it has

private:
  int64_t splits = 0; ///< that signatures have been given so far
  sbp::VariableOp create(const std::string &name, const sbp::Shape &shape, mlir::Type element, bool frozen);

  int layer = 0, numCarried = 0;
  std::vector<sbp::VariableOp> variables;
};

} // namespace splitcast::property

#endif // SPLITCAST_TESTS_PROPERTY_MODELSTATE_H
