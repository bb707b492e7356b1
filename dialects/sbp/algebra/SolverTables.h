//===- SolverTables.h - A problem, in numbers ------------------------------===//
//
// What walk and solve share: signatures, shapes and specs as numbers, in the order in which they are first seen; what
// each boxing costs, computed once; and who uses which tensor. The numbers depend on the problem alone.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERTABLES_H
#define SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERTABLES_H

#include "dialects/sbp/algebra/Solver.h"

#include <deque>
#include <map>
#include <unordered_map>

namespace splitcast::sbp::solver {

using Key = std::vector<int64_t>;

struct KeyHash {
  size_t operator()(const Key &key) const;
};

/// A boxing: the number of a shape, those of two signatures.
struct Change {
  int shape, from, to;
  bool operator==(const Change &other) const { return shape == other.shape && from == other.from && to == other.to; }
};

struct ChangeHash {
  size_t operator()(const Change &change) const;
};

/// Numbers keys from 0 on. Iteration never follows the hash.
class KeyNumbers {
public:
  /// The key's number, and whether it is new.
  std::pair<int, bool> numberOf(Key key);

private:
  std::unordered_map<Key, int, KeyHash> numbers;
};

/// In place of a signature's number: the tensor is free.
inline constexpr int kFree = -1;

class Signatures {
public:
  int idOf(const NdSbp &sbp);
  const NdSbp &operator[](int id) const { return all[id]; }
  /// As sbp::summed.
  int summed(int id);

private:
  KeyNumbers numbers;
  std::map<std::string, int> buckets;
  std::deque<NdSbp> all; ///< of which nothing moves when it grows
};

/// A row in numbers. Results are as made; that of a free op is kFree, as are operands that are free.
struct RowIds {
  std::vector<int> operands, results;
  std::vector<AxisReason> axes;
};

/// Whether a boxing keeps the slots that it begins and ends with: a slot lies in the range of its bucket as the piece
/// that the other axes leave of its variable, so that these may only be summed.
bool keepsSlots(const NdSbp &from, const NdSbp &to);

class Tables {
public:
  explicit Tables(const Problem &problem);

  const Problem &problem;
  Signatures signatures;
  int broadcast; ///< the signature that is B on every axis

  struct Use {
    int op, operand;
  };
  std::vector<std::vector<Use>> uses;    ///< per tensor
  std::vector<std::vector<int>> demands; ///< per tensor
  std::vector<int> source;               ///< per tensor: that whose signature it has, mostly itself

  /// The first tensor of the same elements.
  int elementsOf(int tensor) const {
    const int same = problem.tensors[tensor].sameElements;
    return same < 0 ? tensor : same;
  }
  const NdSbp &pinned(int op, int result) const;
  /// What a demand makes of the tensor, or of what it is added up to; empty where none says so.
  const NdSbp &wantedLater(int tensor) const { return later[tensor]; }
  /// Of what an elementwise op makes larger than all that it takes, as a broadcast does: a tensor of its shape, made
  /// before, that the first elementwise op to need both takes beside it, or that what it takes is made of; else -1.
  int metBy(int tensor) const { return met[tensor]; }
  int specOf(int op) const { return specs[op]; }
  /// With the bytes of an element, and whether splits are kept.
  int shapeOf(int tensor) const { return shapes[tensor]; }

  /// A boxing of the tensor, as a score; of nothing when the signatures are equal.
  const Score &boxing(int tensor, int from, int to);
  /// Whether the tensor keeps its splits, and a boxing takes one away.
  bool undoesSplit(int tensor, const NdSbp &from, const NdSbp &to) const;
  /// What it costs when `axis` alone makes the change.
  int64_t costAlong(int64_t axis, int tensor, const NdSbp &from, const NdSbp &to);
  /// What the demand makes of a tensor of signature `seen`.
  int wantedBy(int demand, int seen);

  /// As uses see it when the row makes it so.
  int seenAs(int op, int result, int made);
  /// What the row itself costs: pinned results and unsplit ones.
  Score ownScore(int op, const RowIds &row);

  /// As uses see them.
  std::vector<int> seen(const std::vector<RowIds> &rows);
  Score score(const std::vector<RowIds> &rows);
  /// What boxings of the tensor for its uses and demands cost when they see it so.
  Score usesScore(int tensor, int seen, const std::vector<RowIds> &rows);
  Assignment assignment(const std::vector<RowIds> &rows);
  std::vector<RowIds> rowsOf(const std::vector<OpChoice> &ops);

private:
  void noteWantedLater();
  void noteMeetings();
  int madeBefore(int tensor, int op, const std::vector<int> &makers) const;
  int meetingOf(int tensor, const std::vector<int> &makers, const std::vector<std::vector<int>> &behind) const;

  std::vector<NdSbp> later; ///< per tensor
  std::vector<int> met;     ///< per tensor
  KeyNumbers specNumbers, shapeNumbers;
  std::vector<int> specs, shapes;                        ///< per op; per tensor
  std::unordered_map<Change, Score, ChangeHash> prices;  ///< of whole boxings
  std::unordered_map<Change, int64_t, ChangeHash> costs; ///< of changes along an axis
};

/// The rule of `walk`, in rows; or the op and axis at which it ends.
std::optional<NoRow> walkRows(Tables &tables, std::vector<RowIds> &rows);

} // namespace splitcast::sbp::solver

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERTABLES_H
