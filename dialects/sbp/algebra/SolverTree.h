//===- SolverTree.h - The best rows of a forest of ops ---------------------===//
//
// Ops and tensors are nodes. An edge joins an op and a tensor that it uses or makes, unless all its rows mean the same
// for the tensor. Some ops may choose, and all others keep their rows. If the ops that may choose form a forest with
// their tensors, dynamic programming finds the best choice: from the leaves to the root of each tree, a node's table
// has the least score of its subtree per signature that its parent may ask for; then, from the root to the leaves, the
// rows that have this score are assigned.
//
//   tensor -> the op that makes it   per signature that it is made in: boxings and uses (SolverBoxings.h)
//   tensor -> an op that uses it     per set of signatures that this wants: the same, and the best signature to make
//   op -> tensor                     per signature: the best row that has it, with the tables of its other tensors
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERTREE_H
#define SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERTREE_H

#include "dialects/sbp/algebra/SolverBoxings.h"
#include "dialects/sbp/algebra/SolverCandidates.h"

namespace splitcast::sbp::solver {

class ForestSolver {
public:
  ForestSolver(Tables &tables, const Candidates &candidates, SolverStatistics &statistics);

  /// Goes through the ops in this order and selects each that forms no cycle with those selected before.
  std::vector<bool> forestOf(const std::vector<int> &order);

  /// Chooses the rows of the forest's ops anew, given those of all other ops. `rows` has, per op, the number of its
  /// row.
  void solve(const std::vector<bool> &forest, std::vector<int> &rows);

  /// Whether all calls of solve so far found the least scores.
  bool isExact() const { return boxings.isExact(); }

private:
  struct PortOfOp {
    int op, port;
  };
  struct Node {
    int number;
    bool isTensor;
  };

  void listNeighbours();
  void visitTree(int root, std::vector<Node> &order);
  const Port &portOf(const PortOfOp &at) const { return candidates.kindOf(at.op).ports[at.port]; }
  int optionOf(const PortOfOp &at) const { return portOf(at).ofRow[(*rows)[at.op]]; }
  bool isChild(const PortOfOp &at, int tensor) const { return (*forest)[at.op] && parentOfTensor[tensor].op != at.op; }

  void fillOp(int op);
  void fillTensor(int tensor);
  int assignOp(int op);
  void assignTensor(int tensor);
  Score scoreOfRow(int op, size_t row) const;
  Score withOption(int tensor, int option, int &madeOption, std::vector<int> &chosen);
  Score madeAs(int tensor, int signature, const std::vector<int> &asked, std::vector<int> &chosen);
  void prepareTensor(int tensor);

  Tables &tables;
  const Candidates &candidates;
  SolverStatistics &statistics;
  BoxingChoice boxings;

  // Per tensor of the problem.
  std::vector<std::vector<PortOfOp>> users;   ///< ops whose rows differ in the signatures that they want it in
  std::vector<PortOfOp> makers;               ///< an op whose rows differ in the signature that they make; or -1
  std::vector<std::vector<int>> alwaysWanted; ///< wanted by demands, and by ops whose rows do not differ
  std::vector<std::vector<int>> openDemands;  ///< demands that depend on the tensor's signature
  std::vector<int> seen;                      ///< its signature where no maker may choose

  // For the forest that is being solved.
  const std::vector<bool> *forest = nullptr;
  std::vector<int> *rows = nullptr;
  std::vector<int> parentPort;                            ///< per op, -1 at a root
  std::vector<PortOfOp> parentOfTensor;                   ///< per tensor
  std::vector<std::vector<Score>> opScores, tensorScores; ///< per option of the parent
  std::vector<std::vector<int>> opRows;                   ///< per op and option of its parent's port: the row
  std::vector<int> askedOfOp, askedOfTensor;              ///< the option that their parent was assigned

  // For the tensor that is being visited.
  std::vector<PortOfOp> childUsers;
  std::vector<Chooser> choosers;
  std::vector<int> wantedByFixed;
};

} // namespace splitcast::sbp::solver

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERTREE_H
