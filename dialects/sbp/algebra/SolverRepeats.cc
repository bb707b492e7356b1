#include "dialects/sbp/algebra/SolverRepeats.h"

#include "dialects/sbp/algebra/SolverTables.h"

#include <algorithm>

namespace splitcast::sbp::solver {

namespace {

/// A problem without its repeats, and the way back.
class Originals {
public:
  explicit Originals(const Problem &whole) : whole(whole), makers(whole.tensors.size(), -1) {
    for (size_t op = 0; op < whole.ops.size(); ++op)
      for (int result : whole.ops[op].results)
        makers[result] = static_cast<int>(op);
    for (size_t tensor = 0; tensor < whole.tensors.size(); ++tensor)
      first.push_back(firstOf(tensor));
    for (size_t op = 0; op < whole.ops.size(); ++op)
      originals.push_back(originalOf(op));
    for (size_t tensor = 0; tensor < first.size(); ++tensor)
      if (!isReplaced(tensor))
        first[tensor] = static_cast<int>(tensor);
  }

  Problem problem() {
    Problem result = whole;
    result.ops.clear();
    for (size_t tensor = 0; tensor < first.size(); ++tensor) {
      TensorInfo &info = result.tensors[tensor];
      info.sameElements = -1;
      if (first[tensor] != static_cast<int>(tensor)) { // nothing uses it
        info.given = {};
        info.sameAs = first[tensor];
      }
    }
    for (size_t op = 0; op < whole.ops.size(); ++op) {
      numbers.push_back(static_cast<int>(result.ops.size()));
      if (originals[op] != static_cast<int>(op))
        continue;
      result.ops.push_back(whole.ops[op]);
      for (int &operand : result.ops.back().operands)
        operand = first[operand];
      if (int &beside = result.ops.back().beside; beside >= 0)
        beside = first[beside];
    }
    for (Demand &demand : result.demands)
      demand.tensor = first[demand.tensor];
    return result;
  }

  /// Returns the choices of all ops, given those of the problem without
  /// repeats.
  std::vector<OpChoice> allOf(const std::vector<OpChoice> &choices) const {
    std::vector<OpChoice> all;
    for (size_t op = 0; op < whole.ops.size(); ++op) {
      const OpChoice &choice = choices[numbers[originals[op]]];
      all.push_back(choice.isFree && !mayBeFree(op, all) ? broadcastOf(op) : choice);
    }
    return all;
  }

  /// Returns the number that an op of the problem without repeats has in the
  /// whole one.
  int numberInWhole(int op) const {
    // An original is the last op with its number of originals before it.
    return static_cast<int>(std::upper_bound(numbers.begin(), numbers.end(), op) - numbers.begin()) - 1;
  }

private:
  int firstOf(int tensor) const {
    while (whole.tensors[tensor].sameElements >= 0)
      tensor = whole.tensors[tensor].sameElements;
    return tensor;
  }

  /// Returns the op of which this one is a repeat, or itself.
  int originalOf(int op) const {
    const std::vector<int> &results = whole.ops[op].results;
    if (results.empty())
      return op;
    const int original = makers[first[results.front()]];
    if (original < 0 || original == op || whole.ops[original].results.size() != results.size())
      return op;
    for (size_t i = 0; i < results.size(); ++i)
      if (first[results[i]] != whole.ops[original].results[i])
        return op;
    return original;
  }

  /// Whether uses of the tensor count as uses of the first of its elements: not
  /// if it is the result of an op that is no repeat, or was given another
  /// signature.
  bool isReplaced(int tensor) const {
    if (makers[tensor] >= 0)
      return originals[makers[tensor]] != makers[tensor];
    const NdSbp &given = whole.tensors[tensor].given, &before = whole.tensors[first[tensor]].given;
    return given.empty() || before.empty() || given == before;
  }

  /// Whether all operands of the op are scalars or free. The fence of a free
  /// tensor is not free, unlike that tensor, for which a repeat has it.
  bool mayBeFree(int op, const std::vector<OpChoice> &choices) const {
    return std::all_of(whole.ops[op].operands.begin(), whole.ops[op].operands.end(), [&](int operand) {
      return whole.tensors[operand].shape.empty() || (makers[operand] >= 0 && choices[makers[operand]].isFree);
    });
  }

  /// Returns the choice in which every operand and result is B.
  OpChoice broadcastOf(int op) const {
    const NdSbp broadcast(whole.placement.axes.size());
    OpChoice choice;
    choice.row.operands.assign(whole.ops[op].operands.size(), broadcast);
    choice.row.results.assign(whole.ops[op].results.size(), broadcast);
    choice.axes.resize(broadcast.size());
    return choice;
  }

  const Problem &whole;
  std::vector<int> makers;    ///< per tensor: the op that makes it, or -1
  std::vector<int> first;     ///< per tensor: the one whose uses its own are
  std::vector<int> originals; ///< per op: the op of which it is a repeat, or itself
  std::vector<int> numbers;   ///< per op: how many ops before it are no repeats
};

} // namespace

Solution onOriginals(const Problem &problem, Solution (*choose)(const Problem &)) {
  if (std::none_of(problem.tensors.begin(), problem.tensors.end(),
                   [](const TensorInfo &info) { return info.sameElements >= 0; }))
    return choose(problem);
  Originals originals(problem);
  const Problem reduced = originals.problem();
  Solution solution = choose(reduced);
  if (solution.failure) {
    solution.failure->op = originals.numberInWhole(solution.failure->op);
    return solution;
  }
  Tables tables(problem);
  solution.assignment = tables.assignment(tables.rowsOf(originals.allOf(solution.assignment.ops)));
  return solution;
}

} // namespace splitcast::sbp::solver
