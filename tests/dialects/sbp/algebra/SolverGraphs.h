//===- SolverGraphs.h - Problems for the tests of the solver ---------------===//
//
// A graph is put together op by op, as the graph of a program is; or at random, from a seed. What must hold for any
// assignment is checked here, by the definitions of Factors.h and Boxing.h and with none of the solver's tables.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_SOLVERGRAPHS_H
#define SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_SOLVERGRAPHS_H

#include "dialects/sbp/algebra/Solver.h"

#include <random>

namespace splitcast::sbp {

/// In which operands an elementwise op of two operands is linear.
enum class Linearity { None, Each, Together };

/// Each op returns the tensor that it makes.
class Graph {
public:
  explicit Graph(const std::vector<int64_t> &mesh);

  Problem problem;

  const Shape &shapeOf(int tensor) const { return problem.tensors[tensor].shape; }
  SignatureOp &lastOp() { return problem.ops.back(); }

  int given(Shape shape, NdSbp sbp);
  int sameAs(int tensor);
  int constant(Shape shape);
  /// Linear (a negation) or not (a tanh).
  int unary(int x, bool isLinear);
  int binary(int x, int y, Linearity linearity);
  /// x[m, k] y[k, n]
  int matmul(int x, int y);
  int sum(int x, int64_t dim);
  /// Every element needs all of `dim`.
  int softmax(int x, int64_t dim);
  int transpose(int x);
  /// [a, b, ...] -> [a * b, ...]
  int merge(int x);
  /// [a * b, ...] -> [a, b, ...], where a divides the first extent.
  int split(int x, int64_t a);
  /// A new first dimension.
  int broadcast(int x, int64_t extent);
  /// Two results: the sum over `dim`, and the elements made from it.
  std::pair<int, int> normalize(int x, int64_t dim);

  void demand(int tensor, NdSbp wanted, NdSbp orAs = {}) {
    problem.demands.push_back({tensor, std::move(wanted), std::move(orAs)});
  }

private:
  std::vector<int> apply(LoopSpec spec, const std::vector<int> &operands);
};

enum class GraphKind { Chain, Tree, Any };

/// A graph of `ops` ops on the mesh with small, ragged extents; and demands for some of what no op uses.
Problem randomProblem(std::mt19937_64 &engine, GraphKind kind, size_t ops, const std::vector<int64_t> &mesh);

/// A step of training: `layers` blocks of a norm, two products with a tanh between and a sum; their gradients; and
/// updates, each computed with values and demanded in `update` on the first axis. 27 ops per layer. The batch of 30
/// rows is S(0) on the first axis, variables are B.
Problem trainingStep(int layers, const std::vector<int64_t> &mesh, const Sbp &update = Sbp::broadcast());

/// Whether the slots that a boxing begins and ends with are of the same piece: see 'keepsSlots' in SolverTables.h.
bool slotsFit(const NdSbp &from, const NdSbp &to);

/// Whether a boxing takes a split away from a tensor that keeps its own: on an axis of several ranks, it is split
/// otherwise or not at all.
bool losesSplit(const Problem &problem, int tensor, const NdSbp &from, const NdSbp &to);

/// What is wrong with the assignment, or nothing: rows are legal along each axis, can be boxed to, keep what was given,
/// pinned, forbidden and limited; the signatures of tensors follow from the rows.
std::string findIllegal(const Problem &problem, const Assignment &assignment);

/// The score by its definition, from the assignment's signatures.
Score plainScore(const Problem &problem, const Assignment &assignment);

/// What the bits depend on: the rows of ops that are more than elementwise, and where the others have P.
std::string sumsOf(const Problem &problem, const Assignment &assignment);

/// For messages: an op per line, with the signatures of its operands and results.
std::string describe(const Problem &problem, const Assignment &assignment);

} // namespace splitcast::sbp

#endif // SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_SOLVERGRAPHS_H
