//===- SolverGraphs.h - Problems for the tests of the solver ---------------===//
//
// A graph is built op by op, like the graph of a program, or at random from a seed. The functions here also check what
// must hold for any assignment. They use the definitions in Factors.h and Boxing.h, and none of the solver's tables.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_SOLVERGRAPHS_H
#define SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_SOLVERGRAPHS_H

#include "dialects/sbp/algebra/Solver.h"

#include <random>

namespace splitcast::sbp {

/// Whether an elementwise op of two operands is linear: in none, in each of them (a product), or in both together (a
/// sum).
enum class Linearity { None, Each, Together };

/// Builds a problem. Each function that adds an op returns the index of its result.
class Graph {
public:
  explicit Graph(const std::vector<int64_t> &mesh);

  Problem problem;

  const Shape &shapeOf(int tensor) const { return problem.tensors[tensor].shape; }
  SignatureOp &lastOp() { return problem.ops.back(); }

  int given(Shape shape, NdSbp sbp);
  int sameAs(int tensor);
  int constant(Shape shape);
  /// A negation if `isLinear`, else a tanh.
  int unary(int x, bool isLinear);
  int binary(int x, int y, Linearity linearity);
  /// The product of x[m, k] and y[k, n].
  int matmul(int x, int y);
  int sum(int x, int64_t dim);
  /// Every element of the result needs all elements along `dim`.
  int softmax(int x, int64_t dim);
  int transpose(int x);
  /// [a, b, ...] -> [a * b, ...]
  int merge(int x);
  /// [a * b, ...] -> [a, b, ...]; `a` divides the first extent.
  int split(int x, int64_t a);
  /// Adds a first dimension with this extent.
  int broadcast(int x, int64_t extent);
  /// An op with two results: the sum over `dim`, and elements computed from it.
  std::pair<int, int> normalize(int x, int64_t dim);

  void demand(int tensor, NdSbp wanted, NdSbp orAs = {}) {
    problem.demands.push_back({tensor, std::move(wanted), std::move(orAs)});
  }

private:
  std::vector<int> apply(LoopSpec spec, const std::vector<int> &operands);
};

enum class GraphKind { Chain, Tree, Any };

/// Returns a random graph of `ops` ops with small, ragged extents, and demands for some of the tensors that no op uses.
Problem randomProblem(std::mt19937_64 &engine, GraphKind kind, size_t ops, const std::vector<int64_t> &mesh);

/// Adds repeats to a problem, as recomputation does: ops that make again what earlier ops made, of fenced operands or
/// of other repeats, before a use that then takes the repeat. The results of an op are repeated together. Returns, per
/// op, the number of its original in `problem`.
std::vector<int> addRepeats(std::mt19937_64 &engine, Problem &problem, int count);

/// Returns a training step with `layers` blocks: a norm, two products with a tanh between, and a sum; their gradients;
/// and the updates. The update of a variable is demanded in `update` along the first axis. There are 27 ops per layer.
/// The batch of 30 rows is S(0) along the first axis; variables are B.
Problem trainingStep(int layers, const std::vector<int64_t> &mesh, const Sbp &update = Sbp::broadcast());

/// Whether the slots before and after a boxing belong to the same piece; see 'keepsSlots' in SolverTables.h.
bool slotsFit(const NdSbp &from, const NdSbp &to);

/// Whether a boxing removes a split from a tensor that must keep it: along an axis of several ranks, it is split in
/// another way or not at all.
bool losesSplit(const Problem &problem, int tensor, const NdSbp &from, const NdSbp &to);

/// Returns what is wrong with the assignment, or an empty string. Rows must be legal along each axis, reachable by
/// boxing, and as given, pinned, not forbidden and within limits; and the signatures of tensors must follow from them.
std::string findIllegal(const Problem &problem, const Assignment &assignment);

/// Computes the score of an assignment from its signatures, by the definition.
Score plainScore(const Problem &problem, const Assignment &assignment);

/// Returns a text of everything that affects bits: the rows of ops that are not elementwise, and where others have P.
std::string sumsOf(const Problem &problem, const Assignment &assignment);

/// Returns a line per op, with the signatures of its operands and results, for messages.
std::string describe(const Problem &problem, const Assignment &assignment);

} // namespace splitcast::sbp

#endif // SPLITCAST_TESTS_DIALECTS_SBP_ALGEBRA_SOLVERGRAPHS_H
