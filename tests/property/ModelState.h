//===- ModelState.h - The state that the functions of a random module share ---------===//
#ifndef SPLITCAST_TESTS_PROPERTY_MODELSTATE_H
#define SPLITCAST_TESTS_PROPERTY_MODELSTATE_H

#include "dialects/nn/Nn.h"
#include "tests/differential/Oracle.h"
#include "tests/property/Random.h"

#include <set>

namespace splitcast::property {

inline bool isHalf(mlir::Type element) { return element.isBF16() || element.isF16(); }

/// What a user may write in a module besides a model and its step. `features` has those that a graph really has.
enum class Feature {
  CopyOfVariable,     ///< a variable's value is assigned to another variable
  CopyBetweenBuckets, ///< such a copy to a variable of another layer
  CopyOfState,        ///< such a copy from or to a variable that is state of another
  IntegerVariable,    ///< an integer variable is read, incremented and assigned
  AssignedTwice,      ///< the same, and then another value is assigned while the first is still needed
  EmptyTensor,        ///< a tensor with an extent of 0
  UnusedInput,
  UserFence,       ///< a fence, in any phase
  ComputedPlaces,  ///< rows of a product are taken at computed indices, as many as there are
  UsedWhileMoved,  ///< a kernel uses a value while ranks exchange it
  UserUpdate,      ///< ops in the update of a variable, whose result is used with addends and is summed
  TwoSteps,        ///< two nn.minimize in a function; the second uses what the first has updated
  TwoFunctions,    ///< two functions that train, one after the other
  TwoAdams,        ///< the same, with optimizers that count steps
  RepeatedCalls,   ///< a function that assigns nothing runs twice in a row, and again after a step
  PartOfPart,      ///< dropout of a part of another tensor, which ranks then cut
  StateOfOther,    ///< optimizer state with another shape than its parameter
  PartialArgument, ///< a copy of the graph has an argument with P, and must be rejected
  EqualRoles,      ///< a copy of the graph has two states of a variable with equal roles, and must be rejected
  MicroBatches,    ///< the step is a schedule
  SummedPerStep,   ///< the same, with accumulators that are P
  GatheredPerStep, ///< the same, with a prologue that gathers for all micro-batches
  SummedExactly,   ///< the step is reproducible
  UserSchedule,    ///< a schedule of functions that are not parts of one step
  KeptRun,         ///< the same, with a run that is kept
  ScheduledRate,   ///< the learning rate has a schedule
  ClippedByNorm,   ///< gradients of one or several steps are clipped by their norm
  ClippedByValue,  ///< gradients of one or several steps are clipped by value
  ScaledLoss,      ///< the loss is scaled by powers of two, which change
  Selected,        ///< one of two tensors is selected, by a third one or by a number
  StoppedGradient, ///< a user stops the gradient, so that it differs from the loss's finite difference
  Grouped,         ///< variables have an optimizer of their own
  Placed,          ///< variables are at one coordinate of an axis
  OwnPolicies,     ///< variables or groups have policies of ZeRO, which the second configuration ignores
  // The kinds of structured graphs: see Kinds.h.
  RecomputedBlocks,
  PipelinedNorms,
  ReproduciblePipelines,
  MaskedScores,
  WideAddends,
  LargeLogits,
  SessionTurns,
};
const char *toString(Feature feature);
std::vector<Feature> allFeatures();

/// Traits of a graph. They are drawn from random numbers of their own, so that seeds without any have the graphs that
/// they had before traits were introduced.
struct Traits {
  std::vector<int64_t> extents;   ///< one or two of which all shapes are made (many are square); if empty, 1 to 9
  std::vector<mlir::Type> halves; ///< bf16, f16 or both, which are used in addition to f32 and f64
  int percentSplit = 60;          ///< the percentage of a signature's entries that are S
  bool ofUsers = false;           ///< whether it has features
  bool splitsBatch = false;       ///< whether inputs are whole or split by rows, of which there is an even number
  bool isOnMesh = false;          ///< whether its mesh has two or three axes, with variables at coordinates
};

/// The module of a graph, its placement, its variables and their values.
class ModelState {
public:
  ModelState(Random &random, Traits traits, mlir::MLIRContext &context);

  /// Returns a variable of this shape: an existing one, which is then shared, or a new one.
  sbp::VariableOp variable(const sbp::Shape &shape, mlir::Type element, bool mayBeFrozen);
  /// Returns one of the variables that `variable` has made. There must be one.
  sbp::VariableOp known() { return random.pick(variables); }
  /// Makes a variable that is used only once and has no gradient, to be assigned by the user.
  sbp::VariableOp counter(const sbp::Shape &shape, mlir::Type element);
  /// Makes a variable that runs of a schedule carry, with a signature of the user or, if `asMade`, that of the value.
  sbp::VariableOp carried(const sbp::Shape &shape, mlir::Type element, bool asMade);
  /// Makes a variable like `source`, to be assigned. It is in any layer, or the state of a variable.
  sbp::VariableOp copyOf(sbp::VariableOp source);

  /// Returns a random signature without P that fits the shape; sometimes null if `mayBeNone`.
  sbp::NdAttr signature(const sbp::Shape &shape, bool mayBeNone);
  mlir::RankedTensorType typed(const sbp::Shape &shape, mlir::Type element, int percentSigned);

  /// Returns a tensor with random integers from `low` to `high`.
  differential::Tensor integers(const sbp::Shape &shape, mlir::Type element, int64_t low, int64_t high);

  void startLayer() { ++layer; }

  bool splitsBatch() const { return traits.splitsBatch; }
  bool hasHalves() const { return !traits.halves.empty(); }
  bool hasSquares() const { return !traits.extents.empty(); }
  /// Returns a random extent: one of the traits' extents if there are any, else `low` to `high`, both included.
  int64_t extent(int64_t low, int64_t high) {
    return hasSquares() ? random.pick(traits.extents) : random.between(low, high);
  }
  /// The largest number of elements of a tensor. With squares, 19 rows and 19 columns are allowed.
  int64_t mostElements() const { return hasSquares() ? 400 : 300; }
  /// Returns f32 or one of the halves.
  mlir::Type element();
  mlir::Type half() { return random.pick(traits.halves); }

  Random &random;
  const Traits traits;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  sbp::PlacementAttr placement;
  differential::Variables initial;
  std::set<Feature> features; ///< those that the graph has

private:
  int64_t splits = 0; ///< the number of splits in all signatures so far
  sbp::VariableOp create(const std::string &name, const sbp::Shape &shape, mlir::Type element, bool frozen);

  int layer = 0, numCarried = 0;
  std::vector<sbp::VariableOp> variables;
};

} // namespace splitcast::property

#endif // SPLITCAST_TESTS_PROPERTY_MODELSTATE_H
