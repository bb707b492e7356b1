//===- SolverCandidates.h - The rows that each op chooses from -------------===//
//
// In the order of the ops: of what signatures an op's operands may have, and what units and slots these bring along,
// follow its rows, and of those what its results may be. An op of one axis has all its legal rows so. On more axes
// there are a row per axis for each, and where these are many, the least promising are left out; never the walk's.
//
// Ops that are alike share one list. A graph of 100 equal layers has the lists of a few.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERCANDIDATES_H
#define SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERCANDIDATES_H

#include "dialects/sbp/algebra/SolverTables.h"

namespace splitcast::sbp::solver {

/// How an op's rows differ in what they say of one tensor: the signatures that they want it in, ascending and more than
/// one where the tensor is several operands; or for the op that makes it, the one that its uses see.
struct Port {
  bool isMaker = false;
  std::vector<std::vector<int>> options;
  std::vector<int> ofRow; ///< the number of the row's option

  /// Which row is chosen makes no difference to the tensor.
  bool isConstant() const { return options.size() == 1; }
};

struct OpKind {
  std::vector<RowIds> rows; ///< the walk's first
  std::vector<Score> own;   ///< per row: what it costs apart from the boxing of operands
  std::vector<Port> ports;  ///< operands that are not free, in order of their first use, then results that are not
};

class Candidates {
public:
  /// `walked`: a row per op, which decides what is free.
  Candidates(Tables &tables, const std::vector<RowIds> &walked);

  const OpKind &kindOf(int op) const { return kinds[kindNumbers[op]]; }
  /// The tensor of each port. That of a maker is followed by the tensors that have the signature of that one.
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
  std::vector<std::vector<int>> aliases; ///< per tensor: those that have its signature
  std::vector<std::vector<int>> seenAs;  ///< per tensor: signatures that it may have; none when it is free
  std::vector<int> setOf;                ///< per tensor: the number of that list
};

} // namespace splitcast::sbp::solver

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERCANDIDATES_H
