//===- SolverTables.h - A problem in numbers ------------------------------===//
//
// These tables are shared by walk and solve: signatures, shapes and specs as numbers, in the order in which they are
// first seen; the cost of each boxing, computed once; and the uses of each tensor. The numbers depend on the problem
// alone.
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

/// A boxing: the number of a shape and those of two signatures.
struct Change {
  int shape, from, to;
  bool operator==(const Change &other) const { return shape == other.shape && from == other.from && to == other.to; }
};

struct ChangeHash {
  size_t operator()(const Change &change) const;
};

/// Numbers keys from 0 on. No iteration follows the order of the hash.
class KeyNumbers {
public:
  /// Returns the key's number, and whether it is new.
  std::pair<int, bool> numberOf(Key key);

private:
  std::unordered_map<Key, int, KeyHash> numbers;
};

/// The number for a free tensor, in place of a signature's.
inline constexpr int kFree = -1;

class Signatures {
public:
  int idOf(const NdSbp &sbp);
  const NdSbp &operator[](int id) const { return all[id]; }
  /// The same as sbp::summed.
  int summed(int id);

private:
  KeyNumbers numbers;
  std::map<std::string, int> buckets;
  std::deque<NdSbp> all; ///< a deque, since its elements do not move when it grows
};

/// A row in numbers. Results have the signatures in which the row makes them. The result of a free op is kFree, and so
/// are operands that are free.
struct RowIds {
  std::vector<int> operands, results;
  std::vector<AxisReason> axes;
};

/// Whether a boxing keeps the slots that it begins and ends with. A slot holds the piece of its variable that the other
/// axes leave, so that the other axes may only be summed.
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
  std::vector<int> source;               ///< per tensor: the tensor whose signature it has, mostly itself

  const NdSbp &pinned(int op, int result) const;
  /// Returns the signature that a demand wants of the tensor, or of the sum that it is added to; empty where there is
  /// none.
  const NdSbp &wantedLater(int tensor) const { return later[tensor]; }
  /// For a result that an elementwise op makes larger than all its operands, as a broadcast does, returns an earlier
  /// tensor of its shape that it meets: the first elementwise op that needs both has it, or a value computed from it,
  /// as another operand. Else -1.
  int metBy(int tensor) const { return met[tensor]; }
  int specOf(int op) const { return specs[op]; }
  /// Returns the number of the tensor's shape, the bytes of its elements and whether it keeps its splits.
  int shapeOf(int tensor) const { return shapes[tensor]; }

  /// Returns the score of a boxing of the tensor; zero when the signatures are equal.
  const Score &boxing(int tensor, int from, int to);
  /// Whether the tensor keeps its splits and the boxing removes one.
  bool undoesSplit(int tensor, const NdSbp &from, const NdSbp &to) const;
  /// Returns the cost of the change along `axis` alone.
  int64_t costAlong(int64_t axis, int tensor, const NdSbp &from, const NdSbp &to);
  /// Returns the signature that the demand wants of a tensor with signature `seen`.
  int wantedBy(int demand, int seen);

  /// Returns the signature that uses see when the row makes the result in `made`.
  int seenAs(int op, int result, int made);
  /// Returns the score of the row itself: of its pinned results and unsplit ones.
  Score ownScore(int op, const RowIds &row);

  /// Returns the signatures of all tensors as uses see them.
  std::vector<int> seen(const std::vector<RowIds> &rows);
  Score score(const std::vector<RowIds> &rows);
  /// Returns the score of the boxings of the tensor for its uses and demands, which see it in `seen`.
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

/// Fills `rows` as `walk` chooses them. If an op has no row, returns that op and the axis.
std::optional<NoRow> walkRows(Tables &tables, std::vector<RowIds> &rows);

} // namespace splitcast::sbp::solver

#endif // SPLITCAST_DIALECTS_SBP_ALGEBRA_SOLVERTABLES_H
