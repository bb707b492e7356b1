//===- Factors.h - Which signatures an op may have -------------------------===//
//
// An op states two facts, and all its legal signatures along one axis follow:
//
// - *Factors*: the loops that it runs over, and which of them each dimension of each operand and result runs over. A
//   factor may be split: operands and results that carry it become S there, the others stay B; a result that does not
//   carry a summed factor becomes P.
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
// In a dimension made of several factors the leading one may be split, and the pieces keep the inner ones whole: split
// by a unit of u is there split by u x (extents of the inner ones). With 32 samples of 256 positions on 3 ranks,
// reshape:
//
//   [32, 256, w]   [8192, w]
//   S(0)           S(0 by 256)      the samples, 11, 11 and 10 of them
//
// Rows that keep a unit together exist for every unit; only those are listed that an operand or result brings along.
// So do rows that split a loop to given ends (S(0 to [2, 5])), where no tensor has another loop in that dimension.
//
// And there is a row in which all lies at one coordinate, At(k), for each that an operand or result brings along: the
// ranks there compute what `B B B` would be on all.
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
  Parallel, ///< every iteration stands alone: all results carry it
  Sum,      ///< results that do not carry it are sums over it
  Whole,    ///< each result needs all of it at once (a softmax's classes): never split
};

struct Factor {
  int64_t extent = 1;
  FactorKind kind = FactorKind::Parallel;
  Grain grain = {extent}; ///< smaller than the extent, the longest on any rank, once an axis has cut it raggedly
};

/// Per dimension, the factors it runs over, the outermost first. Most dimensions have one; a reshape's may have
/// several; a dimension of extent 1 that is broadcast has none.
using TensorFactors = std::vector<std::vector<int>>;

/// Operands in which the op is linear together. `results` empty: in all results; else the results that depend on these
/// operands (the others do not, and stay what they are).
struct LinearSet {
  std::vector<int> operands;
  std::vector<int> results;
};

struct LoopSpec {
  std::vector<Factor> factors;
  std::vector<TensorFactors> operands, results;
  std::vector<LinearSet> linear;
  /// The op means the same on tensors of any shape: no attribute names a dimension, and no element depends on where it
  /// lies. So an elementwise one may run on a flat piece of its tensors.
  bool anyShape = false;
  /// What it sums is added up without rounding, so that no order and no division of the addends changes a bit: the op
  /// may be computed of any pieces, flat ones included.
  bool exactSums = false;

  int addFactor(int64_t extent, FactorKind kind = FactorKind::Parallel);
};

/// One legal row: an entry per operand and per result.
struct OpSignature {
  enum class Reason { Replicated, FactorSplit, Linear, FlatElementwise, At };
  std::vector<Sbp> operands, results;
  Reason reason = Reason::Replicated;
  int factor = -1;  ///< of FactorSplit
  int64_t unit = 1; ///< of the factor, when it is split
  Ends ends = {};   ///< of the factor's pieces, of unit 1
};

/// All legal rows along an axis of `axisSize` ranks, replicated first; flat splits left out. Of the rows that split a
/// factor by a unit or to ends, and of those at a coordinate, those that the entries bring along, as far as these are
/// given.
std::vector<OpSignature> deriveSignatures(const LoopSpec &spec, int64_t axisSize, const std::vector<Sbp> &operands = {},
                                          const std::vector<Sbp> &results = {});

/// The row in which all operands and results are at the coordinate.
OpSignature rowAt(const LoopSpec &spec, int64_t coordinate);

/// Cuts the factor that the row splits: the loops that the next axis finds.
void splitLoops(LoopSpec &spec, const OpSignature &row, int64_t axisSize);

/// The row in which `slot` splits every operand and result: legal for an elementwise op of any shape, whose operands
/// run over all factors of the results in the same order, or over none (scalars, which stay B). Empty rows when it is
/// not. And for an op of one operand that sums all of it exactly: the slot's elements are its addends, and the results
/// are P.
OpSignature flatSignature(const LoopSpec &spec, const Slot &slot);

/// The one of the rows above that has these entries; nothing when they are not legal.
std::optional<OpSignature> rowOf(const LoopSpec &spec, int64_t axisSize, const std::vector<Sbp> &operands,
                                 const std::vector<Sbp> &results);
/// Whether there is one.
bool isLegal(const LoopSpec &spec, int64_t axisSize, const std::vector<Sbp> &operands, const std::vector<Sbp> &results);

} // namespace splitcast::sbp

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_FACTORS_H
