//===- Reference.h - Layouts and boxing in the plainest way ----------------===//
//
// A second definition of what dialects/sbp/algebra computes, element by element, to compare with; and a simulator of
// boxing that moves integers between the positions of a mesh.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_REFERENCE_H
#define SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_REFERENCE_H

#include "dialects/sbp/algebra/Boxing.h"
#include "dialects/sbp/algebra/Signature.h"

#include <functional>
#include <map>

namespace splitcast::sbp {

/// A placement of axes "a", "b", ... of these sizes.
Placement meshOf(const std::vector<int64_t> &sizes);

/// All lists of `length` values in 0..base-1.
std::vector<std::vector<int64_t>> allTuples(size_t length, int64_t base);

/// All signatures with one of `entries` on each of `axes` axes.
std::vector<NdSbp> allSignatures(size_t axes, const std::vector<Sbp> &entries);

/// B and S of every dimension; with P when asked for.
std::vector<Sbp> entriesOf(size_t rank, bool withPartial);

/// These, and S by every unit above 1 that divides the dimension.
std::vector<Sbp> entriesWithUnits(const Shape &shape, bool withPartial);

/// All signatures of such entries whose units fit and make a difference.
std::vector<NdSbp> signaturesWithUnits(const Shape &shape, const Placement &placement, bool withPartial);

/// All ends of pieces of a length on so many ranks, but those of even pieces.
std::vector<Ends> allEnds(int64_t length, int64_t ranks);

/// All signatures with an entry of ends of dimension 0 on `axis`, and on other axes B, P or S of another dimension.
std::vector<NdSbp> signaturesWithEnds(const Shape &shape, const Placement &placement, size_t axis, bool withPartial);

/// All signatures of B, P, S of every dimension and, on each axis, its first and last coordinate.
std::vector<NdSbp> signaturesWithCoordinates(size_t rank, const Placement &placement);

/// The logical indices of the elements that the position holds, in the order in which they lie there.
std::vector<int64_t> heldBy(const Shape &shape, const NdSbp &sbp, const Placement &placement, int64_t position);

/// "3x2 on [2, 3]: [S(0), B]", for messages.
std::string describe(const Shape &shape, const Placement &placement, const NdSbp &sbp);
std::string describe(const Shape &shape, const Placement &placement, const NdSbp &from, const NdSbp &to);

/// The rule of Boxing.h: a step along `axis` may split or join a dimension only while no later axis splits it too, and
/// only while no other axis has a flat split.
bool ruleAllows(const NdSbp &state, size_t axis, const Sbp &to);

/// Moves tensors of one shape over one mesh.
class Simulator {
public:
  /// values[p][i]: what position p holds at its place i.
  using Values = std::vector<std::vector<int64_t>>;

  Simulator(Shape shape, Placement placement) : shape(std::move(shape)), placement(std::move(placement)) {}

  /// Positions along axes that are P hold different addends.
  Values scatter(const NdSbp &sbp);

  /// What the positions hold after the step, with data moved only within groups along its axes, a slice moving none; or
  /// the empty list when a position needs an element that its group does not have.
  Values apply(const BoxingStep &step, const Values &before);

  /// Whether `values` are those of the tensor that scatter(origin) dealt out, in the layout `sbp`.
  bool isTensor(const Values &values, const NdSbp &sbp, const NdSbp &origin);

  /// Elements that the busiest position sends in the step.
  int64_t mostSent(const BoxingStep &step);

  /// heldBy; where an axis applies last, as on a mesh that has it as its last.
  const std::vector<int64_t> &held(const NdSbp &sbp, int64_t position, int64_t last = -1);

private:
  int64_t sentElements(const BoxingStep &step, int64_t position);

  Shape shape;
  Placement placement;
  std::map<std::string, std::vector<std::vector<int64_t>>> layouts; ///< by signature: heldBy of every position
};

} // namespace splitcast::sbp

#endif // SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_REFERENCE_H
