//===- ModelState.h - What the functions of a random module share -------------------===//
#ifndef SPLITCAST_TESTS_PROPERTY_MODELSTATE_H
#define SPLITCAST_TESTS_PROPERTY_MODELSTATE_H

#include "dialects/nn/Nn.h"
#include "tests/differential/Oracle.h"
#include "tests/property/Random.h"

namespace splitcast::property {

/// Its module, placement, variables and their values.
class ModelState {
public:
  ModelState(Random &random, mlir::MLIRContext &context);

  /// A variable of this shape: one that is there, which is then shared, or a new one.
  sbp::VariableOp variable(const sbp::Shape &shape, mlir::Type element, bool mayBeFrozen);
  /// One of those that `variable` has made, of which there must be some.
  sbp::VariableOp known() { return random.pick(variables); }
  /// One that no other call returns, and that no gradient reaches: for assigning by hand.
  sbp::VariableOp counter(const sbp::Shape &shape, mlir::Type element);

  /// Any signature without P that fits the shape; null sometimes when `mayBeNone`.
  sbp::NdAttr signature(const sbp::Shape &shape, bool mayBeNone);
  mlir::RankedTensorType typed(const sbp::Shape &shape, mlir::Type element, int percentSigned);

  /// Integers from `low` to `high`.
  differential::Tensor integers(const sbp::Shape &shape, mlir::Type element, int64_t low, int64_t high);

  void startLayer() { ++layer; }

  Random &random;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  sbp::PlacementAttr placement;
  differential::Variables initial;

private:
  sbp::VariableOp create(const std::string &name, const sbp::Shape &shape, mlir::Type element, bool frozen);

  int layer = 0;
  std::vector<sbp::VariableOp> variables;
};

} // namespace splitcast::property

#endif // SPLITCAST_TESTS_PROPERTY_MODELSTATE_H
