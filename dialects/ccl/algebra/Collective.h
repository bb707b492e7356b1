//===- Collective.h - The kinds of collectives, and one rank's call ---------===//
//
// The one table of what compiler, executor and communicators know about each kind; all else asks it:
//
//   kind             operand      result       memory      adds
//   all_gather       own block    all blocks   InResult    no
//   reduce_scatter   all blocks   own block    InOperand   yes
//   all_reduce       own block    own block    InBoth      yes
//   all_to_all       all blocks   received     Apart       no
//
// What each sends is said in Traffic.h. The blocks of an all_reduce are whole tensors. A new kind is an enumerator, a
// row of this table, an op of `ccl`, and a method of runtime::Communicator.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_DIALECTS_CCL_ALGEBRA_COLLECTIVE_H
#define SPLITCAST_DIALECTS_CCL_ALGEBRA_COLLECTIVE_H

#include "dialects/ccl/algebra/Traffic.h"

#include <optional>
#include <string>
#include <string_view>

namespace splitcast::ccl {

enum class CollectiveKind { AllGather, ReduceScatter, AllReduce, AllToAll };
inline constexpr int kNumCollectiveKinds = 4;

/// Which elements a rank gives or gets.
enum class Part {
  OwnBlock,  ///< the block of this rank
  AllBlocks, ///< the blocks of all ranks, one after the other
  Received,  ///< the blocks that the ranks have for this one, one after the other
};

/// In which memory a collective works, and what its operand may share with its result.
enum class Memory {
  InResult,  ///< its result's; the operand is this rank's block in it
  InOperand, ///< its operand's, which holds no meaning after; the result lies elsewhere
  InBoth,    ///< operand and result are the same bytes
  Apart,     ///< it reads its operand until it has ended; the result lies elsewhere
};

struct CollectiveCall;

struct CollectiveRule {
  const char *name; ///< "all_gather"
  Part operand, result;
  Memory memory;
  bool adds; ///< the result is a sum over the ranks: of floats, and with scratch memory for the addends
  Traffic (*traffic)(const CollectiveCall &call);
  int64_t (*workspaceBytes)(const CollectiveCall &call);
};

const CollectiveRule &ruleOf(CollectiveKind kind);
inline const char *nameOf(CollectiveKind kind) { return ruleOf(kind).name; }
std::optional<CollectiveKind> collectiveNamed(std::string_view name);

/// Numbers of elements by rank, or one number that is every rank's.
using Blocks = std::vector<int64_t>;

/// The shorter form of a list of numbers by rank.
Blocks asBlocks(const std::vector<int64_t> &byRank);

/// What one rank does in a collective.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::AllGather;
  int64_t ranks = 0;    ///< of the group
  int64_t index = 0;    ///< of this rank among them
  Blocks blocks;        ///< of each rank
  Blocks received = {}; ///< from each rank, where the kind's result is these; else empty
  int64_t elementBytes = 1;

  const CollectiveRule &rule() const { return ruleOf(kind); }
  /// What is wrong with the blocks, as the predicate of a sentence; empty: nothing.
  std::string fault() const;
  int64_t elements(Part part) const;
  int64_t bytes(Part part) const { return elements(part) * elementBytes; }
  /// Of the blocks before this rank's.
  int64_t bytesBefore() const;
  /// Of each rank's block, in elements and in bytes.
  std::vector<int64_t> blocksByRank() const;
  std::vector<int64_t> blockBytes() const;
  std::vector<int64_t> receivedByRank() const;
  /// What this rank sends.
  Traffic traffic() const { return rule().traffic(*this); }
  int64_t workspaceBytes() const { return rule().workspaceBytes(*this); }
};

/// "all_gather, reduce_scatter, ...", for messages.
const char *allCollectiveNames();

/// What is wrong with a group in which this rank is the one at `index`, as the predicate of a sentence; empty: nothing.
std::string faultOfGroup(const std::vector<int64_t> &ranks, int64_t index);

} // namespace splitcast::ccl

#endif // SPLITCAST_DIALECTS_CCL_ALGEBRA_COLLECTIVE_H
