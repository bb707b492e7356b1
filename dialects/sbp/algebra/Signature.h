//===- Signature.h - Placements, signatures and where bytes lie -----------===//
//
// The basic terms of Splitcast in plain C++, without MLIR: what a placement is, how a tensor is laid out on it, and
// which elements a rank then holds. All code that needs to know where bytes lie (boxing, initialization, checkpoints,
// reports) calls `pieces`; no other code may compute it again.
//
// In the following example, a variable of 10 rows of 4 elements lies on a mesh of 4 ranks, [dp = 4]:
//
//   B      every rank holds rows 0..9                                    shapes 10x4 10x4 10x4 10x4
//   S(0)   rank 0 holds rows 0..2, 1: 3..5, 2: 6..7, 3: 8..9 (ragged)   shapes 3x4 3x4 2x4 2x4
//   P      every rank holds 10x4 addends, whose sum over ranks is the value
//   S(@g, 8 of 64)  its 40 elements are elements 8..47 of a bucket of 64, and rank r holds elements 16r..16r+15 of the
//          bucket: of this variable 8, 16, 16 and 0 elements           (an empty piece is legal)
//   At(2)  rank 2 holds rows 0..9, the others nothing: what belongs to one stage of a pipeline
//
// A split may have a unit, whose elements stay together. An example is a batch of 10 samples of 6 positions each, as 60
// rows:
//
//   S(0 by 6)  rank 0 holds rows 0..17, the positions of samples 0..2, as S(0) does of the tensor 10x6; then 18, 12 and
//          12 rows. S(0) would be 15 rows each, and cut samples.
//
// A unit that makes no difference is written as 1: two entries of an axis mean the same layout only when they are
// equal.
//
// A split may instead say where the pieces end, for example that of a bucket whose members must not be divided:
//
//   S(0 to [2, 2, 9, 10])  rank 0 holds rows 0 and 1, rank 1 none, rank 2 rows 2..8, rank 3 row 9
//   S(@g, 8 of 64 to [8, 48, 64, 64])  all 40 elements lie on rank 1, from element 0 of its chunk on
//
// With several axes the entries apply in the order of the axes, each to the piece that the earlier ones left; an entry
// S(@bucket) applies last, whatever its axis.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ALGEBRA_SIGNATURE_H
#define SPLITCAST_DIALECTS_SBP_ALGEBRA_SIGNATURE_H

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace splitcast::sbp {

using Shape = std::vector<int64_t>;

/// Returns the number of elements of `shape`; 1 for a scalar.
int64_t numElements(const Shape &shape);

/// A named axis of a placement's mesh.
struct Axis {
  std::string name;
  int64_t size = 1;
  bool operator==(const Axis &other) const { return name == other.name && size == other.size; }
};

/// A mesh of ranks of one kind of device. Position p of the mesh (row-major over the axes) is held by rank ranks[p], or
/// by rank p when `ranks` is empty.
struct Placement {
  std::string deviceKind;
  std::vector<Axis> axes;
  std::vector<int64_t> ranks;

  int64_t numPositions() const;
  /// Returns the coordinates of a position, one per axis.
  std::vector<int64_t> coordinates(int64_t position) const;
  int64_t positionOf(const std::vector<int64_t> &coordinates) const;
  /// Returns the positions that differ from `position` only along these axes, which ascend. They are ordered by their
  /// coordinates there, the first axis being the most significant.
  std::vector<int64_t> groupAlong(const std::vector<int64_t> &axes, int64_t position) const;
  std::vector<int64_t> groupAlong(int64_t axis, int64_t position) const {
    return groupAlong(std::vector{axis}, position);
  }
  /// Returns the index of the axis of that name, or -1.
  int64_t axisIndex(const std::string &name) const;
  bool operator==(const Placement &other) const;
};

/// Where the pieces of a length end, per rank: ends do not descend, and the last is the end of the length. If it is
/// empty, pieces are as even as possible. The ends of even pieces are always left out.
using Ends = std::vector<int64_t>;

/// A variable's place in a bucket. Its elements (those of the piece that the other axes leave on a rank) start at
/// element `offset` of a flat range of `total` elements, which is split over the axis, evenly or to `ends`.
struct Slot {
  std::string bucket;
  int64_t offset = 0;
  int64_t total = 0;
  Ends ends = {};
  bool operator==(const Slot &other) const {
    return bucket == other.bucket && offset == other.offset && total == other.total && ends == other.ends;
  }
};

/// How a tensor is laid out along one axis.
struct Sbp {
  enum class Kind { Split, FlatSplit, Broadcast, Partial, At };
  Kind kind = Kind::Broadcast;
  int64_t dim = -1; ///< for Split the dimension; for At the coordinate of the ranks that hold the tensor
  Slot slot;        ///< for FlatSplit
  int64_t unit = 1; ///< for Split: so many elements of the dimension stay together
  Ends ends = {};   ///< for Split with unit 1

  static Sbp split(int64_t dim, int64_t unit = 1) { return {Kind::Split, dim, {}, unit}; }
  static Sbp splitTo(int64_t dim, Ends ends) { return {Kind::Split, dim, {}, 1, std::move(ends)}; }
  static Sbp flat(Slot slot) { return {Kind::FlatSplit, -1, std::move(slot)}; }
  static Sbp broadcast() { return {}; }
  static Sbp partial() { return {Kind::Partial, -1, {}}; }
  static Sbp at(int64_t coordinate) { return {Kind::At, coordinate, {}}; }

  bool isSplit() const { return kind == Kind::Split; }
  bool isFlat() const { return kind == Kind::FlatSplit; }
  bool isBroadcast() const { return kind == Kind::Broadcast; }
  bool isPartial() const { return kind == Kind::Partial; }
  bool isAt() const { return kind == Kind::At; }
  /// Whether the rank at this coordinate of the axis holds anything.
  bool isHeldAt(int64_t coordinate) const { return !isAt() || dim == coordinate; }
  /// Whether it is S(dim), without a unit or ends.
  bool isPlain() const { return isSplit() && unit == 1 && ends.empty(); }
  bool splitsSameDimAs(const Sbp &other) const { return isSplit() && other.isSplit() && dim == other.dim; }
  bool operator==(const Sbp &other) const {
    return kind == other.kind && dim == other.dim && slot == other.slot && unit == other.unit && ends == other.ends;
  }
  bool operator!=(const Sbp &other) const { return !(*this == other); }
};

/// One entry per axis of the placement.
using NdSbp = std::vector<Sbp>;

/// Returns the text of the IR: "B", "P", "S(0)", "S(0 by 6)", "S(0 to [2, 5])", "S(@g, 8 of 64)", "At(2)".
std::string toString(const Sbp &sbp);
/// Returns the text of the IR: "[S(0), B]".
std::string toString(const NdSbp &sbp);

/// The half-open interval [begin, begin + count).
struct Interval {
  int64_t begin = 0;
  int64_t count = 0;
  bool operator==(const Interval &other) const { return begin == other.begin && count == other.count; }
};

/// Returns piece `index` of `extent` elements cut into `parts` pieces: the first extent % parts pieces have one element
/// more. The pieces are disjoint, ordered and cover everything; a piece is empty when extent < parts and index >=
/// extent.
///
///   extent parts -> pieces
///   10     4        [0,3) [3,6) [6,8) [8,10)
///   2      3        [0,1) [1,2) [2,2)
///   0      2        [0,0) [0,0)
///
/// With a unit, which divides the extent, whole units are cut in the same way.
Interval pieceOf(int64_t extent, int64_t parts, int64_t index, int64_t unit = 1);
/// Returns the piece of rank `index` according to the ends; without ends the even piece.
Interval pieceTo(const Ends &ends, int64_t extent, int64_t parts, int64_t index);
/// Returns the piece according to a Split entry.
Interval pieceOf(int64_t extent, int64_t parts, int64_t index, const Sbp &entry);

/// Returns the first rank that has a longest piece according to the ends; 0 without ends.
int64_t longestPiece(const Ends &ends);

/// Whether the ends are those of even pieces.
bool areEven(const Ends &ends, int64_t length);

/// Returns what is wrong with the ends of a length on `parts` ranks, as the predicate of a sentence; empty if nothing
/// is.
std::string faultOfEnds(const Ends &ends, int64_t length, int64_t parts);

/// A box of elements of a tensor: an interval per dimension.
using Box = std::vector<Interval>;

/// Returns the intersection, which may be empty.
Interval overlap(const Interval &a, const Interval &b);

/// The greatest common divisor of the lengths that a loop or dimension has on all ranks; a unit must divide it. It is
/// the length itself until an axis has cut it into unequal pieces.
struct Grain {
  int64_t elements = 1;

  bool canSplitBy(int64_t unit) const { return unit > 0 && elements % unit == 0; }
  /// Whether the unit cuts every rank's length into equal pieces; these are then the same as with unit 1.
  bool splitsEvenly(int64_t unit, int64_t parts) const { return elements / unit % parts == 0; }
  /// Returns the grain of the pieces. Unequal pieces differ by one unit, so that nothing larger divides both.
  Grain afterSplit(int64_t unit, int64_t parts) const { return {splitsEvenly(unit, parts) ? elements / parts : unit}; }
  Grain afterSplit(const Sbp &entry, int64_t parts) const;
};

/// Returns the grain of dimension `dim` after the entries of the axes before `axis` have cut it.
Grain grainBefore(int64_t axis, int64_t dim, const Shape &shape, const NdSbp &sbp, const Placement &placement);

/// Whether, on every rank, each unit divides the length that it splits, there is one end per rank, and each coordinate
/// is one of its axis.
bool unitsFit(const Shape &shape, const NdSbp &sbp, const Placement &placement);

/// Returns the same layout, with 1 for each unit that makes no difference.
NdSbp withoutIdleUnits(const Shape &shape, NdSbp sbp, const Placement &placement);

/// Adapts the signature of a tensor of another shape, where a unit may no longer divide the length that it splits: its
/// largest part that does divide the length becomes the unit. Ends of another length are left out.
NdSbp withUnitsFitted(const Shape &shape, NdSbp sbp, const Placement &placement);

/// The part of a slot's `elements` that lies in chunk `index` of the bucket's `parts` chunks.
struct SlotPiece {
  int64_t elementBegin = 0; ///< the first element, in the variable's own flat order
  int64_t chunkBegin = 0;   ///< its offset in the chunk
  int64_t count = 0;
};
SlotPiece slotPiece(const Slot &slot, int64_t elements, int64_t parts, int64_t index);

/// Whether the rank holds a piece, even an empty one: its coordinates are those of all At entries.
bool isHeld(const NdSbp &sbp, const std::vector<int64_t> &coordinates);

/// Returns the coordinates of a rank that holds a piece: those of At entries, and 0 along all other axes.
std::vector<int64_t> firstHolder(const NdSbp &sbp);

/// Returns the shape of the piece that the rank at `coordinates` holds. A flat split gives one dimension: the elements
/// of the variable that lie in the rank's chunk of the bucket (see slotPiece). A tensor that the rank does not hold
/// (isHeld) also has one dimension, of 0 elements, even if it is a scalar. For `last` see localBox.
Shape localShape(const Shape &shape, const NdSbp &sbp, const Placement &placement,
                 const std::vector<int64_t> &coordinates, int64_t last = -1);

/// Returns the box (one interval per dimension) that the Split entries leave on the rank; all other entries leave
/// everything. Requires isHeld. The entry of axis `last`, if given, applies after those of all other axes; no signature
/// is like this, only an intermediate state of a boxing (Boxing.h).
Box localBox(const Shape &shape, const NdSbp &sbp, const Placement &placement, const std::vector<int64_t> &coordinates,
             int64_t last = -1);

/// Returns the largest number of elements that any rank's box has.
int64_t maxBoxElements(const Shape &shape, const NdSbp &sbp, const Placement &placement);

/// Return the extents that a dimension has in the ranks' boxes, and the numbers of elements of the boxes, each once.
std::set<int64_t> boxExtents(int64_t dim, const Shape &shape, const NdSbp &sbp, const Placement &placement);
std::set<int64_t> boxSizes(const Shape &shape, const NdSbp &sbp, const Placement &placement);

/// A run of `count` elements: they begin at `logical` in the whole tensor (in row-major order), and at `local` in the
/// rank's piece.
struct Run {
  int64_t logical = 0;
  int64_t local = 0;
  int64_t count = 0;
  bool operator==(const Run &other) const {
    return logical == other.logical && local == other.local && count == other.count;
  }
};

/// Returns where the elements of a tensor lie on the rank at `coordinates`. Runs ascend in `logical` and in `local`,
/// none is empty, and adjacent runs are joined. For P they are the places of the addends.
std::vector<Run> pieces(const Shape &shape, const NdSbp &sbp, const Placement &placement,
                        const std::vector<int64_t> &coordinates);

/// Whether this rank writes its piece when the tensor is saved: it has coordinate 0 on every axis with B, and holds a
/// piece according to the other axes.
bool ownsPiece(const NdSbp &sbp, const std::vector<int64_t> &coordinates);

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_SIGNATURE_H
