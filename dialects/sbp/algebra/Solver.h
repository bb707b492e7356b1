//===- Solver.h - Which signature each op of a graph gets ------------------===//
//
// A graph without MLIR: tensors, the ops that make and use them, and what else wants a tensor in a given signature. A
// *row* gives each operand and result of an op a signature, along each axis one of the legal rows of Factors.h. An
// *assignment* is a row per op. What it costs are boxings: where a use wants a tensor otherwise than it is made, the
// tensor is boxed, once for each signature that it is wanted in, however many uses want it so.
//
// `walk` chooses op by op, each the row that is cheapest for what its operands already are; it never looks ahead.
// `solve` starts from there and minimizes the cost of the whole. On a mesh of 4 ranks (SolverTest.cc, HeaderExample):
//
//   %x: 64x8, S(0)    %w: 8x4096, B
//   %h = matmul %x, %w              : 64x4096
//   %y = softmax %h over dimension 0                  // which no row may split
//
//          %x         %h                    bytes that a rank sends
//   walk   S(0)       S(0), boxed to S(1)   196608    the all-to-all of %h
//   solve  boxed, B   S(1)                    1536    the all-gather of %x; to slice %w is free
//
// Ops whose result may have any signature at no cost (constants, broadcasts of scalars) are *free*: each use gets the
// result as it wants it, except as addends.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVER_H
#define SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVER_H

#include "dialects/sbp/algebra/Boxing.h"
#include "dialects/sbp/algebra/Factors.h"

#include <optional>

namespace splitcast::sbp {

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

struct TensorInfo {
  Shape shape;
  int64_t elementBytes = 4;
  NdSbp given;     ///< empty: chosen by the op that makes it
  int sameAs = -1; ///< the tensor whose signature this one has, as behind a fence; they are boxed apart. Or -1.
  /// A user has split it: it is used as it lies wherever an op has a row that does so, whatever else is boxed for that.
  /// What is split of a layer's weights stays so, even where its batch has more bytes.
  bool keepsSplits = false;
  /// A tensor of the same elements, made before, or itself: -1. What one of them has been boxed to for an op costs the
  /// next nothing, so that no signature depends on which of them the op uses: where one is made again, not to be kept.
  int sameElements = -1;
};

/// A signature for each operand, as it is wanted, and for each result, as it is made. That of a free result is empty.
struct OpRow {
  std::vector<NdSbp> operands, results;
};

/// What an earlier solve says about a row.
struct RowLimit {
  enum class Kind {
    None,
    Row,          ///< it is `row`
    PartialPlaces ///< it has P where `row` has P, and nowhere else; an op that was free has no P
  };
  Kind kind = Kind::None;
  OpRow row;
};

struct SignatureOp {
  LoopSpec spec;
  std::vector<int> operands, results; ///< tensors
  /// Per result, or no list at all: the signature that its uses see; the result is boxed to it where the row makes it
  /// otherwise. Empty: they see what the row makes.
  std::vector<NdSbp> pinned;
  bool takesPartial = true; ///< false: no operand may be P. Updates are computed with values, never with addends.
  /// A tensor: where that is at a coordinate, so is the op, whatever that costs; and where the op's operands are free,
  /// it is also split as that. Or -1.
  int beside = -1;
  RowLimit limit;
};

/// A use that is no op of the graph: an assign, a return, a boxing that a user wrote, an update's fence.
struct Demand {
  int tensor = -1;
  NdSbp wanted; ///< empty: the signature that the tensor has, as `summed` makes it
  NdSbp orAs;   ///< a tensor that has this signature need not have the wanted one. Empty: it must.
};

/// Requires: a placement of at least one axis; ops in topological order; each tensor is given, the same as another, or
/// the result of one op, and no two of these; signatures have an entry per axis, fit the shapes and have no idle units.
struct Problem {
  Placement placement;
  std::vector<TensorInfo> tensors;
  std::vector<SignatureOp> ops;
  std::vector<Demand> demands;
  BoxingCost cost = boxingVolume; ///< nominal: no transport's
  /// False: `solve` takes no row by which a rank runs more iterations of the op's loops than by the walk's. The score
  /// counts boxings, not what is computed; to gather a batch and compute all of it on each rank, which then need not
  /// sum gradients, would often be its least.
  bool mayAddWork = false;
};

//===----------------------------------------------------------------------===//
// The assignment
//===----------------------------------------------------------------------===//

/// Less is better, field by field.
struct Score {
  int64_t illegal = 0;        ///< boxings that no one can make (Boxing.h): demands for P of what is none
  int64_t undone = 0;         ///< boxings of what keeps its splits to other ones
  int64_t cost = 0;           ///< of all boxings, in the model's unit
  int64_t boxings = 0;        ///< those that cost nothing included
  int64_t unsplitResults = 0; ///< results that no axis splits
};
bool operator==(const Score &a, const Score &b);
bool operator<(const Score &a, const Score &b);
Score operator+(const Score &a, const Score &b);

/// Which of the rows of Factors.h was chosen along an axis.
struct AxisReason {
  OpSignature::Reason reason = OpSignature::Reason::Replicated;
  int factor = -1;  ///< of FactorSplit
  int64_t unit = 1; ///< of the factor, when it is split
  Ends ends = {};   ///< of the factor's pieces
};

struct OpChoice {
  OpRow row;
  std::vector<AxisReason> axes; ///< empty for a free op and for a row from an earlier solve
  bool isFree = false;          ///< its result's signature is empty
};

struct Assignment {
  std::vector<OpChoice> ops;
  std::vector<NdSbp> tensors; ///< as uses see them; empty: free
  Score score;
};

/// No legal row of the op along the axis has operands that these can be boxed to.
struct NoRow {
  int op = -1;
  int64_t axis = -1;
};

/// Counts of what was done, for tests of growth.
struct SolverStatistics {
  int64_t rows = 0;       ///< that the ops chose from
  int64_t steps = 0;      ///< rows and sets of boxings that were looked at
  int64_t blocks = 0;     ///< sets of ops that were solved together
  int64_t improving = 0;  ///< blocks that lowered the score
  int64_t refused = 0;    ///< blocks that would have raised it; none, as each is solved with all else as it is
  bool isOptimal = false; ///< no assignment of these rows has a lower score
};

struct Solution {
  Assignment assignment;        ///< of no meaning after a failure
  std::optional<NoRow> failure; ///< where the walk ended
  SolverStatistics statistics;
};

/// Op by op, axis by axis, the row that costs least where it stands: by how many operands that keep their splits lose
/// one; then by the cost of boxing operands and pinned results along the axis, but for what was boxed so for an op
/// before, and results that are made larger than what they are of to what they meet; then by how many change; then by
/// how many results stay unsplit; then by the order of Factors.h.
Solution walk(const Problem &problem);

/// From the walk's rows on, sets of ops that form forests in turn, each solved exactly while the others stay; so the
/// score is never above the walk's. Where the graph is a forest, and no tensor has very many uses, it is the least that
/// there is (statistics.isOptimal). Time grows with the number of ops; nothing recurses over the graph. Fails where the
/// walk fails.
Solution solve(const Problem &problem);

/// Another row for an op.
struct RunnerUp {
  OpRow row;
  std::vector<AxisReason> axes;
  Score score; ///< of the whole graph with this row, and all other ops as they are
};

/// For each of `ops`, up to `most` rows beside the assigned one, the best first. A message says with them why an op has
/// its row: what the others would cost.
std::vector<std::vector<RunnerUp>> runnersUp(const Problem &problem, const Assignment &assignment,
                                             const std::vector<int> &ops, size_t most);

//===----------------------------------------------------------------------===//
// Bits that do not depend on where variables lie
//===----------------------------------------------------------------------===//

/// What a tensor is when nothing of it is left to be summed, and all ranks have it: with each P or At as B. A free one,
/// which has no signature, is B, as whoever returns it gets it.
NdSbp summed(NdSbp seen, size_t axes);

struct Phases {
  Solution logical, stored;
};

/// The same program twice: `logical`, with each variable's update in the signature that the variable has for the graph,
/// and a nominal cost; and `stored`, with updates in the signatures that ZeRO gave them, and the cost of the transport.
/// Neither may change a bit of what the program computes. A bit depends on what is summed where: on the rows of ops
/// that are more than elementwise, whose loops a row cuts into addends, and on whether an elementwise op gets addends
/// or their sum, since the sum of what is rounded is not the rounded sum. Both are decided in `logical` and kept in
/// `stored`. There is left to choose how the others are split, which changes no element, and the rows of ops whose sums
/// are exact (LoopSpec::exactSums).
///
/// Requires: both have the same ops, tensors and demands in the same order, and differ in split and broadcast entries
/// of what is given and wanted, in cost, and in no P. A demand for a tensor as it is, as that of a return, is for what
/// it is in `logical`. `chooser`: walk or solve. When `logical` fails, `stored` fails alike.
Phases solveInPhases(const Problem &logical, Problem stored, Solution (*chooser)(const Problem &) = solve);

/// What `problem` costs with these rows. Free ops and signatures of tensors are read from `ops`.
Score scoreOf(const Problem &problem, const std::vector<OpChoice> &ops);

/// Of the op's loops, the most that any rank runs; in a slot, a rank's share of the bucket is taken for that of the
/// tensor.
int64_t iterationsOf(LoopSpec spec, const std::vector<AxisReason> &axes, const Placement &placement);

/// Every loop is parallel and runs over the first result, and each dimension has at most one: elements are computed
/// one by one, in any order, with the same bits however they are split.
bool isElementwise(const LoopSpec &spec);

/// The entry along an axis of operand `index` of such an op when its first result has `result` there: for what is made
/// as its use wants it. Requires: no P.
Sbp operandOfElementwise(const LoopSpec &spec, size_t index, const Sbp &result);

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVER_H
