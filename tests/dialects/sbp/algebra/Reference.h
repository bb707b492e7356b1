//===- Reference.h - A simple reference of layouts and boxing --------------===//
//
// A second definition of what dialects/sbp/algebra computes, element by element, for comparison; and a simulator of
// boxing, which moves integers between the positions of a mesh.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_REFERENCE_H
#define SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_REFERENCE_H

#include "dialects/sbp/algebra/Boxing.h"
#include "dialects/sbp/algebra/Signature.h"

#include <functional>
#include <map>

namespace splitcast::sbp {

/// Returns a placement with axes "a", "b", ... of these sizes.
Placement meshOf(const std::vector<int64_t> &sizes);

/// All lists of `length` values in 0..base-1.
std::vector<std::vector<int64_t>> allTuples(size_t length, int64_t base);

/// All signatures with one of `entries` on each of `axes` axes.
std::vector<NdSbp> allSignatures(size_t axes, const std::vector<Sbp> &entries);

/// B and S of every dimension; also P if `withPartial`.
std::vector<Sbp> entriesOf(size_t rank, bool withPartial);

/// The same, and also S by every unit above 1 that divides the dimension.
std::vector<Sbp> entriesWithUnits(const Shape &shape, bool withPartial);

/// All signatures of these entries whose units fit and make a difference.
std::vector<NdSbp> signaturesWithUnits(const Shape &shape, const Placement &placement, bool withPartial);

/// All ends of pieces of a dimension with extent `length` on `ranks` ranks, except those of even pieces.
std::vector<Ends> allEnds(int64_t length, int64_t ranks);

/// All signatures that split dimension 0 with ends along `axis`, and have B, P or S of another dimension along others.
std::vector<NdSbp> signaturesWithEnds(const Shape &shape, const Placement &placement, size_t axis, bool withPartial);

/// All signatures of B, P, S of every dimension and, along each axis, its first and last coordinate.
std::vector<NdSbp> signaturesWithCoordinates(size_t rank, const Placement &placement);

/// The logical indices of the elements that a position holds, in their local order.
std::vector<int64_t> heldBy(const Shape &shape, const NdSbp &sbp, const Placement &placement, int64_t position);

/// "3x2 on [2, 3]: [S(0), B]", for messages.
std::string describe(const Shape &shape, const Placement &placement, const NdSbp &sbp);
std::string describe(const Shape &shape, const Placement &placement, const NdSbp &from, const NdSbp &to);

/// The rule of Boxing.h: a step along `axis` may split or join a dimension only if no later axis splits it, too, and no
/// other axis has a flat split.
bool ruleAllows(const NdSbp &state, size_t axis, const Sbp &to);

/// Moves tensors of one shape over one mesh.
class Simulator {
public:
  /// values[p][i] is element i of position p.
  using Values = std::vector<std::vector<int64_t>>;

  Simulator(Shape shape, Placement placement) : shape(std::move(shape)), placement(std::move(placement)) {}

  /// Distributes a tensor. Positions along axes with P get different addends.
  Values scatter(const NdSbp &sbp);

  /// Returns what the positions hold after a step, which moves data only within groups along its axes; a slice moves
  /// none. Returns an empty list if a position needs an element that its group does not have.
  Values apply(const BoxingStep &step, const Values &before);

  /// Whether `values` are the tensor that scatter(origin) distributed, in the signature `sbp`.
  bool isTensor(const Values &values, const NdSbp &sbp, const NdSbp &origin);

  /// The largest number of elements that a position sends in the step.
  int64_t mostSent(const BoxingStep &step);

  /// The result of heldBy, cached. If `last` is an axis, it splits last, as if it were the mesh's last axis.
  const std::vector<int64_t> &held(const NdSbp &sbp, int64_t position, int64_t last = -1);

private:
  int64_t sentElements(const BoxingStep &step, int64_t position);

  Shape shape;
  Placement placement;
  std::map<std::string, std::vector<std::vector<int64_t>>> layouts; ///< heldBy of every position, by signature
};

} // namespace splitcast::sbp

#endif // SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_REFERENCE_H
