//===- Solver.h - Which signature each op of a graph gets ------------------===//
//
// The problem is a graph without MLIR: tensors, the ops that make and use them, and other uses that want a tensor in a
// given signature. A *row* gives each operand and result of an op a signature; along each axis it is one of the legal
// rows of Factors.h. An *assignment* is a row per op. Its cost is that of the boxings: where a use wants a tensor in
// another signature than it is made in, the tensor is boxed, once for each signature that is wanted, however many uses
// want it.
//
// `walk` goes op by op and chooses the row that is cheapest for the signatures that the operands already have; it never
// looks ahead. `solve` starts from that assignment and minimizes the total cost. An example on a mesh of 4 ranks
// (SolverTest.cc, HeaderExample):
//
//   %x: 64x8, S(0)    %w: 8x4096, B
//   %h = matmul %x, %w              : 64x4096
//   %y = softmax %h over dimension 0                  // which no row may split
//
//          %x         %h                    bytes that a rank sends
//   walk   S(0)       S(0), boxed to S(1)   196608    the all-to-all of %h
//   solve  boxed, B   S(1)                    1536    the all-gather of %x; slicing %w is free
//
// Ops whose result may have any signature at no cost (constants, broadcasts of scalars) are *free*: each use gets the
// result in the signature that it wants, except as addends.
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
  NdSbp given;     ///< empty: the row of the op that makes it decides
  int sameAs = -1; ///< the tensor whose signature this one has (that before a fence, say); they are boxed apart. Or -1.
  /// A user has split the tensor: an op uses it in this signature wherever it has a row for that, whatever else must be
  /// boxed. So the split weights of a layer stay split even where the layer's batch has more bytes.
  bool keepsSplits = false;
  /// An earlier tensor of the same elements, as recomputation makes them; -1 if there is none. No choice depends on
  /// which of them an op uses, and an op that makes them again has the row of the first (SolverRepeats.h).
  int sameElements = -1;
};

/// The signature in which each operand is wanted, and in which each result is made. That of a free result is empty.
struct OpRow {
  std::vector<NdSbp> operands, results;
};

/// What an earlier solve requires of a row.
struct RowLimit {
  enum class Kind {
    None,
    Row,          ///< the row is `row`
    PartialPlaces ///< the row has P where `row` has P, and nowhere else; an op that was free has no P
  };
  Kind kind = Kind::None;
  OpRow row;
};

/// The row that an op has along one axis, where its operands can be boxed to it: the kinds and dimensions of its
/// entries, which give all ranks pieces of one length. Operands that are free remain open. Axes before this one do not
/// cut the dimensions that it cuts.
struct AxisRow {
  int64_t axis = 0;
  std::vector<Sbp> operands, results;
};

struct SignatureOp {
  LoopSpec spec;
  std::vector<int> operands, results; ///< tensors
  /// Per result, or no list at all: the signature that its uses see. The result is boxed to it where the row makes it
  /// in another one. If a signature is empty, uses see that of the row.
  std::vector<NdSbp> pinned;
  bool takesPartial = true; ///< false: no operand may be P, as in updates, which use values and never addends
  /// A tensor, or -1: where it is at a coordinate, the op is at the same one, whatever that costs; and where the op's
  /// operands are free, the op is also split as the tensor is.
  int beside = -1;
  RowLimit limit;
  /// So that each rank's addends along an axis are those of the batch's rows: in steps whose sums are exact.
  std::optional<AxisRow> stated;
};

/// A use that is not an op of the graph: an assign, a return, a boxing that a user wrote, an update's fence.
struct Demand {
  int tensor = -1;
  NdSbp wanted; ///< empty: the tensor's signature after `summed`
  NdSbp orAs;   ///< a tensor that has this signature need not be boxed; empty: there is no such exception
};

/// Requires: the placement has at least one axis; ops are in topological order; each tensor is exactly one of given,
/// the same as another, or the result of one op; signatures have an entry per axis, fit the shapes and have no units
/// that make no difference.
struct Problem {
  Placement placement;
  std::vector<TensorInfo> tensors;
  std::vector<SignatureOp> ops;
  std::vector<Demand> demands;
  BoxingCost cost = boxingVolume; ///< nominal: that of no transport
  /// If false, `solve` takes no row with which a rank runs more iterations of the op's loops than with the walk's row.
  /// The score counts boxings and not computation: without this limit, the least score would often be to gather a batch
  /// and compute all of it on each rank, which then need not sum gradients.
  bool mayAddWork = false;
};

//===----------------------------------------------------------------------===//
// The assignment
//===----------------------------------------------------------------------===//

/// Scores are compared field by field; less is better.
struct Score {
  int64_t illegal = 0;        ///< boxings that are not legal (Boxing.h): P is wanted of a tensor that is not P
  int64_t undone = 0;         ///< boxings that take a split from a tensor that keeps its splits
  int64_t cost = 0;           ///< of all boxings, in the cost model's unit
  int64_t boxings = 0;        ///< their number, including those that cost nothing
  int64_t unsplitResults = 0; ///< results that no axis splits
};
bool operator==(const Score &a, const Score &b);
bool operator<(const Score &a, const Score &b);
Score operator+(const Score &a, const Score &b);

/// The row of Factors.h that was chosen along an axis.
struct AxisReason {
  OpSignature::Reason reason = OpSignature::Reason::Replicated;
  int factor = -1;  ///< for FactorSplit
  int64_t unit = 1; ///< of the factor, when it is split
  Ends ends = {};   ///< of the factor's pieces
};

struct OpChoice {
  OpRow row;
  std::vector<AxisReason> axes; ///< empty for a free op and for a row from an earlier solve
  bool isFree = false;          ///< the signature of its result is empty
};

struct Assignment {
  std::vector<OpChoice> ops;
  std::vector<NdSbp> tensors; ///< their signatures as uses see them; empty: free
  Score score;
};

/// The op has no legal row along the axis to whose operands its own operands can be boxed.
struct NoRow {
  int op = -1;
  int64_t axis = -1;
};

/// Counts of the solver's work; tests check how they grow.
struct SolverStatistics {
  int64_t rows = 0;       ///< rows that the ops chose from
  int64_t steps = 0;      ///< rows and sets of boxings that were tried
  int64_t blocks = 0;     ///< sets of ops that were solved together
  int64_t improving = 0;  ///< blocks that lowered the score
  int64_t refused = 0;    ///< blocks that would have raised it; 0, since each is solved with all else fixed
  bool isOptimal = false; ///< no assignment of these rows has a lower score
};

struct Solution {
  Assignment assignment;        ///< meaningless after a failure
  std::optional<NoRow> failure; ///< where the walk ended
  SolverStatistics statistics;
};

/// Chooses op by op and axis by axis the row that is best there. Rows are compared by: how many operands that keep
/// their splits lose one; the cost along the axis of boxing operands and pinned results, without boxings that an
/// earlier op already needed, and of boxing a result that is larger than the op's operands to the tensor that it meets
/// (Tables::metBy); how many of these change; how many results stay unsplit; the order of Factors.h.
Solution walk(const Problem &problem);

/// Starts from the walk's rows and solves one set of ops after the other, each of which forms a forest. Each set is
/// solved exactly while all other ops keep their rows, so that the score is never above the walk's. Where the graph is
/// a forest, and no tensor has very many uses, the score is the least possible (statistics.isOptimal). Time grows with
/// the number of ops; nothing recurses over the graph. Fails where the walk fails.
Solution solve(const Problem &problem);

/// Another row for an op.
struct RunnerUp {
  OpRow row;
  std::vector<AxisReason> axes;
  Score score; ///< of the whole graph with this row, and the assigned rows for all other ops
};

/// Returns, for each of `ops`, up to `most` rows other than the assigned one, the best first. Messages use them to
/// explain an op's row: they show what the other rows would cost.
std::vector<std::vector<RunnerUp>> runnersUp(const Problem &problem, const Assignment &assignment,
                                             const std::vector<int> &ops, size_t most);

//===----------------------------------------------------------------------===//
// Bits that do not depend on how variables are stored
//===----------------------------------------------------------------------===//

/// Returns the signature that a tensor has when its addends are summed and all ranks have it: each P or At becomes B. A
/// free tensor, which has no signature, becomes B, as a return gets it.
NdSbp summed(NdSbp seen, size_t axes);

struct Phases {
  Solution logical, stored;
};

/// Solves the same program twice. In `logical`, each variable's update has the logical signature of the variable, and
/// the cost is nominal. In `stored`, updates have the signatures that ZeRO gave them, and the cost is the transport's.
/// How variables are stored, and on which transport, must not change a bit of the results. Bits depend on where sums
/// are cut: on the rows of ops that are not elementwise, whose loops a row cuts into addends, and on whether an
/// elementwise op gets addends or their sum, since a sum of rounded addends is not the rounded sum. Both are decided in
/// `logical` and kept in `stored`. `stored` still chooses how the other ops are split, which changes no element, and
/// the rows of ops whose sums are exact (LoopSpec::exactSums).
///
/// Requires: both have the same ops, tensors and demands in the same order. They differ only in cost, and in split and
/// broadcast entries of signatures that are given and wanted; they have the same P. A demand without a wanted
/// signature, such as that of a return, wants the signature that the tensor has in `logical`. `chooser` is walk or
/// solve. When `logical` fails, `stored` fails in the same way.
Phases solveInPhases(const Problem &logical, Problem stored, Solution (*chooser)(const Problem &) = solve);

/// Returns the score of `problem` with these rows. Free ops and signatures of tensors are read from `ops`.
Score scoreOf(const Problem &problem, const std::vector<OpChoice> &ops);

/// Returns the most iterations of the op's loops that any rank runs. For a slot, a rank's share of the bucket is taken
/// for its share of the tensor.
int64_t iterationsOf(LoopSpec spec, const std::vector<AxisReason> &axes, const Placement &placement);

/// Whether every loop is parallel and runs over the first result, and each dimension has at most one loop: elements are
/// computed one by one, in any order, with the same bits however they are split.
bool isElementwise(const LoopSpec &spec);

/// Returns the entry along an axis of operand `index` of an elementwise op when its first result has `result` there,
/// for operands that are made in the signature that their use wants. Requires that `result` is not P.
Sbp operandOfElementwise(const LoopSpec &spec, size_t index, const Sbp &result);

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVER_H
