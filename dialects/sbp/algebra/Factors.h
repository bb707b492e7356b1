//===- Factors.h - Which signatures an op may have -------------------------===//
//
// An op states two facts, from which all its legal signatures along one axis follow:
//
// - *Factors*: the loops that it runs over, and which of them each dimension of each operand and result runs over. A
//   factor may be split: operands and results that have it become S in that dimension, and the others stay B; a result
//   that does not have a summed factor becomes P.
// - *Linear sets*: the operands in which it is linear (all together, the others held fixed). If these are P, so are the
//   results.
//
// Matrix product C[m,n] = sum_k A[m,k] B[k,n], linear in A and in B, at any axis size:
//
//   A     B     C
//   B     B     B      always
//   S(0)  B     S(0)   factor m split
//   B     S(1)  S(1)   factor n
//   S(1)  S(0)  P      factor k, which is summed
//   P     B     P      linear in A
//   B     P     P      linear in B
//
// In a dimension made of several factors the leading one may be split, and the pieces keep the inner ones whole: a
// split of the factor by a unit of u is a split of the dimension by a unit of u x (extents of the inner ones). An
// example is a reshape of 32 samples of 256 positions on 3 ranks:
//
//   [32, 256, w]   [8192, w]
//   S(0)           S(0 by 256)      the samples, 11, 11 and 10 of them
//
// Rows that keep a unit together exist for every unit, and rows that split a loop to given ends (S(0 to [2, 5])) exist
// for all ends, where no tensor has another loop in that dimension. Only those are listed whose unit or ends an operand
// or result already has.
//
// There is also a row in which everything lies at one coordinate, At(k), for each k that an operand or result already
// has: the ranks there compute what all ranks would compute in the row `B B B`.
//
// On several axes the rule holds axis by axis, on the shapes that the earlier axes leave.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ALGEBRA_FACTORS_H
#define SPLITCAST_DIALECTS_SBP_ALGEBRA_FACTORS_H

#include "dialects/sbp/algebra/Signature.h"

#include <optional>

namespace splitcast::sbp {

enum class FactorKind {
  Parallel, ///< iterations are independent: all results have it
  Sum,      ///< results that do not have it are sums over it
  Whole,    ///< each result needs all of it at once (a softmax's classes): it is never split
};

struct Factor {
  int64_t extent = 1;
  FactorKind kind = FactorKind::Parallel;
  Grain grain = {extent}; ///< less than the extent (the longest on any rank) if an axis has cut it raggedly
};

/// Per dimension, the factors that it runs over, the outermost first. Most dimensions have one factor; those of a
/// reshape may have several; a dimension of extent 1 that is broadcast has none.
using TensorFactors = std::vector<std::vector<int>>;

/// Operands in which the op is linear together. `results` are the results that depend on these operands; the others do
/// not, and keep their entries. If `results` is empty, all results depend on them.
struct LinearSet {
  std::vector<int> operands;
  std::vector<int> results;
};

struct LoopSpec {
  std::vector<Factor> factors;
  std::vector<TensorFactors> operands, results;
  std::vector<LinearSet> linear;
  /// The op means the same on tensors of any shape: no attribute names a dimension, and no element depends on its
  /// position. So an elementwise op may run on a flat piece of its tensors.
  bool anyShape = false;
  /// The op adds up its sums without rounding, so that no order and no division of the addends changes a bit: the op
  /// may be computed on any pieces, flat ones included.
  bool exactSums = false;

  int addFactor(int64_t extent, FactorKind kind = FactorKind::Parallel);
};

/// One legal row: an entry per operand and per result.
struct OpSignature {
  enum class Reason { Replicated, FactorSplit, Linear, FlatElementwise, At };
  std::vector<Sbp> operands, results;
  Reason reason = Reason::Replicated;
  int factor = -1;  ///< for FactorSplit: the factor that is split
  int64_t unit = 1; ///< of the factor, when it is split
  Ends ends = {};   ///< of the factor's pieces, if the unit is 1
};

/// Returns all legal rows along an axis of `axisSize` ranks, the replicated one first; flat splits are left out. Of the
/// rows that split a factor by a unit or to ends, and of those at a coordinate, it returns the ones whose unit, ends or
/// coordinate the given entries have.
std::vector<OpSignature> deriveSignatures(const LoopSpec &spec, int64_t axisSize, const std::vector<Sbp> &operands = {},
                                          const std::vector<Sbp> &results = {});

/// The row in which all operands and results are at the coordinate.
OpSignature rowAt(const LoopSpec &spec, int64_t coordinate);

/// Cuts the factor that the row splits: `spec` then has the loops that the next axis splits further.
void splitLoops(LoopSpec &spec, const OpSignature &row, int64_t axisSize);

/// Returns the row in which `slot` splits every operand and result; it is empty where that is not legal. It is legal
/// for an elementwise op of any shape whose operands run over all factors of the results in the same order, or over
/// none (scalars, which stay B). It is also legal for an op of one operand that sums all of it exactly: the slot's
/// elements are the addends, and the results are P.
OpSignature flatSignature(const LoopSpec &spec, const Slot &slot);

/// Returns the row, of those above, that has these entries; nothing when the entries are not legal.
std::optional<OpSignature> rowOf(const LoopSpec &spec, int64_t axisSize, const std::vector<Sbp> &operands,
                                 const std::vector<Sbp> &results);
/// Whether there is such a row.
bool isLegal(const LoopSpec &spec, int64_t axisSize, const std::vector<Sbp> &operands, const std::vector<Sbp> &results);

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_FACTORS_H
