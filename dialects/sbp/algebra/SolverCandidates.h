//===- SolverCandidates.h - The rows that each op chooses from -------------===//
//
// Candidates are computed in the order of the ops. The rows of an op follow from the signatures that its operands may
// have, and from their units and slots; the signatures of its results follow from the rows. On one axis, an op gets all
// its legal rows in this way. On several axes a candidate has a row per axis; where the combinations are many, the
// least promising are left out, but never the walk's row.
//
// Equal ops share one list. A graph of 100 equal layers needs only the lists of a few.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERCANDIDATES_H
#define SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERCANDIDATES_H

#include "dialects/sbp/algebra/SolverTables.h"

namespace splitcast::sbp::solver {

/// The ways in which an op's rows use or make one tensor. An option of a user is the set of signatures that the row
/// wants, ascending; there may be more than one where the tensor is several operands. An option of the op that makes
/// the tensor is the signature that its uses see.
struct Port {
  bool isMaker = false;
  std::vector<std::vector<int>> options;
  std::vector<int> ofRow; ///< per row: the number of its option

  /// Whether all rows mean the same for the tensor.
  bool isConstant() const { return options.size() == 1; }
};

struct OpKind {
  std::vector<RowIds> rows; ///< the walk's first
  std::vector<Score> own;   ///< per row: its cost without the boxing of operands
  std::vector<Port> ports;  ///< operands that are not free, in order of their first use; then results that are not free
};

class Candidates {
public:
  /// `walked` is a row per op; it decides which tensors are free.
  Candidates(Tables &tables, const std::vector<RowIds> &walked);

  const OpKind &kindOf(int op) const { return kinds[kindNumbers[op]]; }
  /// Returns the tensor of each port. The tensor of a maker's port is followed by the tensors that have its signature.
  const std::vector<int> &tensorsOf(int op) const { return tensors[op]; }

private:
  struct Operands;
  void addOp(int op, const RowIds &walked);
  Operands operandsOf(int op, const RowIds &walked) const;
  bool staysAt(int op, const RowIds &walked) const;
  Key keyOf(int op, const Operands &operands, const RowIds &walked);
  OpKind makeKind(int op, const Operands &operands, const RowIds &walked);
  void addPorts(int op, const Operands &operands, OpKind &kind);

  Tables &tables;
  KeyNumbers numbers, setNumbers;
  std::deque<OpKind> kinds;
  std::vector<int> kindNumbers;          ///< per op
  std::vector<std::vector<int>> tensors; ///< per op
  std::vector<std::vector<int>> aliases; ///< per tensor: the tensors that have its signature
  std::vector<std::vector<int>> seenAs;  ///< per tensor: the signatures that it may have; none when it is free
  std::vector<int> setOf;                ///< per tensor: the number of that list
};

} // namespace splitcast::sbp::solver

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERCANDIDATES_H
