//===- Collective.h - The kinds of collectives, and one rank's call ---------===//
//
// This table has all that compiler, executor and communicators know about each kind; all other code reads it:
//
//   kind             operand      result       memory      adds
//   all_gather       own block    all blocks   InResult    no
//   reduce_scatter   all blocks   own block    InOperand   yes
//   all_reduce       own block    own block    InBoth      yes
//   all_to_all       all blocks   received     Apart       no
//
// Traffic.h says what each kind sends. Blocks that are InBoth are whole tensors. A new kind needs an enumerator, a row
// of this table, an op of `ccl`, and a method of runtime::Communicator.
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

/// The elements that a rank gives or gets.
enum class Part {
  OwnBlock,  ///< the block of this rank
  AllBlocks, ///< the blocks of all ranks, one after the other
  Received,  ///< the blocks that the ranks have for this one, one after the other
};

/// The memory in which a collective works, and the memory that its operand and result share.
enum class Memory {
  InResult,  ///< that of the result; the operand is this rank's block in it
  InOperand, ///< that of the operand, whose value is undefined afterwards; the result is in other memory
  InBoth,    ///< operand and result are the same bytes
  Apart,     ///< the operand is read until the collective has ended; the result is in other memory
};

struct CollectiveCall;

struct CollectiveRule {
  const char *name; ///< "all_gather"
  Part operand, result;
  Memory memory;
  bool adds; ///< the result is a sum of floats over the ranks, which needs scratch memory for the addends
  Traffic (*traffic)(const CollectiveCall &call);
  int64_t (*workspaceBytes)(const CollectiveCall &call);
};

const CollectiveRule &ruleOf(CollectiveKind kind);
inline const char *nameOf(CollectiveKind kind) { return ruleOf(kind).name; }
std::optional<CollectiveKind> collectiveNamed(std::string_view name);

/// Numbers of elements per rank, or one number for every rank.
using Blocks = std::vector<int64_t>;

/// Returns the shorter form of a list of numbers per rank.
Blocks asBlocks(const std::vector<int64_t> &byRank);

/// One rank's call of a collective.
struct CollectiveCall {
  CollectiveKind kind = CollectiveKind::AllGather;
  int64_t ranks = 0;    ///< the size of the group
  int64_t index = 0;    ///< the position of this rank in the group
  Blocks blocks;        ///< the block of each rank
  Blocks received = {}; ///< the elements from each rank, where these are the kind's result; else empty
  int64_t elementBytes = 1;
  int64_t chunkBytes = kChunkBytes; ///< in which the rank's device sends addends (Traffic.h)

  const CollectiveRule &rule() const { return ruleOf(kind); }
  /// Returns what is wrong with the blocks, as the predicate of a sentence; empty if nothing is.
  std::string fault() const;
  int64_t elements(Part part) const;
  int64_t bytes(Part part) const { return elements(part) * elementBytes; }
  /// Returns the bytes of the blocks before this rank's.
  int64_t bytesBefore() const;
  /// Return the size of each rank's block, in elements and in bytes.
  std::vector<int64_t> blocksByRank() const;
  std::vector<int64_t> blockBytes() const;
  std::vector<int64_t> receivedByRank() const;
  /// Returns the traffic that this rank sends.
  Traffic traffic() const { return rule().traffic(*this); }
  int64_t workspaceBytes() const { return rule().workspaceBytes(*this); }
};

/// Returns "all_gather, reduce_scatter, ...", for messages.
const char *allCollectiveNames();

/// Returns what is wrong with a group in which this rank is the one at `index`, as the predicate of a sentence; empty
/// if nothing is.
std::string faultOfGroup(const std::vector<int64_t> &ranks, int64_t index);

} // namespace splitcast::ccl

#endif // SPLITCAST_DIALECTS_CCL_ALGEBRA_COLLECTIVE_H
