#include "dialects/ccl/algebra/Collective.h"

#include "dialects/sbp/algebra/Sizes.h"

#include <algorithm>
#include <numeric>

namespace splitcast::ccl {

namespace {

/// Returns the sum of the blocks of the first `ranks` ranks.
int64_t sum(const Blocks &blocks, int64_t ranks) {
  return blocks.size() == 1 ? blocks.front() * ranks
                            : std::accumulate(blocks.begin(), blocks.begin() + ranks, int64_t{0});
}

std::vector<int64_t> byRank(const Blocks &blocks, int64_t ranks) {
  return blocks.size() == 1 ? std::vector<int64_t>(ranks, blocks.front()) : blocks;
}

int64_t none(const CollectiveCall &) { return 0; }

/// Indexed by CollectiveKind.
constexpr CollectiveRule kRules[kNumCollectiveKinds] = {
    {"all_gather", Part::OwnBlock, Part::AllBlocks, Memory::InResult, /*adds=*/false,
     [](const CollectiveCall &call) { return allGatherTraffic(call.blockBytes(), call.index, call.chunkBytes); }, none},
    {"reduce_scatter", Part::AllBlocks, Part::OwnBlock, Memory::InOperand, /*adds=*/true,
     [](const CollectiveCall &call) { return reduceScatterTraffic(call.blockBytes(), call.index, call.chunkBytes); },
     [](const CollectiveCall &call) { return reduceScatterWorkspace(call.blockBytes(), call.index, call.chunkBytes); }},
    {"all_reduce", Part::OwnBlock, Part::OwnBlock, Memory::InBoth, /*adds=*/true,
     [](const CollectiveCall &call) {
       return allReduceTraffic(call.elements(Part::OwnBlock), call.elementBytes, call.ranks, call.index,
                               kSmallAllReduceBytes, call.chunkBytes);
     },
     [](const CollectiveCall &call) {
       return allReduceWorkspace(call.elements(Part::OwnBlock), call.elementBytes, call.ranks, call.index,
                                 call.chunkBytes);
     }},
    {"all_to_all", Part::AllBlocks, Part::Received, Memory::Apart, /*adds=*/false,
     [](const CollectiveCall &call) { return allToAllTraffic(call.blockBytes(), call.index, call.chunkBytes); }, none},
};

} // namespace

const CollectiveRule &ruleOf(CollectiveKind kind) { return kRules[static_cast<int>(kind)]; }

std::optional<CollectiveKind> collectiveNamed(std::string_view name) {
  for (int kind = 0; kind < kNumCollectiveKinds; ++kind)
    if (name == kRules[kind].name)
      return static_cast<CollectiveKind>(kind);
  return std::nullopt;
}

const char *allCollectiveNames() {
  static const std::string names = [] {
    std::string text;
    for (const CollectiveRule &rule : kRules)
      text += (text.empty() ? "" : ", ") + std::string(rule.name);
    return text;
  }();
  return names.c_str();
}

int64_t CollectiveCall::elements(Part part) const {
  switch (part) {
  case Part::OwnBlock:
    return blocks.size() == 1 ? blocks.front() : blocks[index];
  case Part::AllBlocks:
    return sum(blocks, ranks);
  case Part::Received:
    return sum(received, ranks);
  }
  return 0;
}

int64_t CollectiveCall::bytesBefore() const { return sum(blocks, index) * elementBytes; }

std::vector<int64_t> CollectiveCall::blocksByRank() const { return byRank(blocks, ranks); }

std::vector<int64_t> CollectiveCall::receivedByRank() const { return byRank(received, ranks); }

std::vector<int64_t> CollectiveCall::blockBytes() const {
  std::vector<int64_t> bytes = blocksByRank();
  for (int64_t &block : bytes)
    block *= elementBytes;
  return bytes;
}

Blocks asBlocks(const std::vector<int64_t> &byRank) {
  const bool areEqual = std::all_of(byRank.begin(), byRank.end(), [&](int64_t b) { return b == byRank.front(); });
  return areEqual && !byRank.empty() ? Blocks{byRank.front()} : byRank;
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

namespace {

/// Returns what is wrong with the blocks, or nothing. `verb` is what the rank
/// does with them: "has" or "receives".
std::string faultOfBlocks(const std::string &verb, const Blocks &blocks, int64_t ranks, int64_t elementBytes) {
  if (blocks.size() != 1 && static_cast<int64_t>(blocks.size()) != ranks)
    return verb + " " + std::to_string(blocks.size()) + " blocks among " + std::to_string(ranks) +
           " ranks; give one per rank, or one number that is every rank's";
  for (int64_t block : blocks)
    if (block < 0)
      return verb + " a block of " + std::to_string(block) + " elements; it must be at least 0";
  std::optional<int64_t> elements = blocks.size() == 1 ? sbp::checkedProduct(blocks.front(), ranks) : 0;
  for (size_t i = 0; elements && blocks.size() != 1 && i < blocks.size(); ++i)
    elements = sbp::checkedSum(*elements, blocks[i]);
  if (!elements || !sbp::checkedProduct(*elements, elementBytes))
    return verb + " blocks of more than " + sbp::kMostBytesText + " in all; make them smaller";
  return "";
}

} // namespace

std::string CollectiveCall::fault() const {
  if (std::string fault = faultOfBlocks("has", blocks, ranks, elementBytes); !fault.empty())
    return fault;
  if (rule().memory == Memory::InBoth && blocks.size() != 1)
    return "has " + std::to_string(blocks.size()) + " blocks; every rank gives a whole tensor, so give one number";
  if (rule().result != Part::Received)
    return received.empty() ? "" : "says what it receives; that follows from its blocks, so leave it out";
  return received.empty() ? "does not say what it receives; give one block per rank"
                          : faultOfBlocks("receives", received, ranks, elementBytes);
}

std::string faultOfGroup(const std::vector<int64_t> &ranks, int64_t index) {
  const int64_t size = ranks.size();
  if (index < 0 || index >= size)
    return "has index " + std::to_string(index) + " among " + std::to_string(size) +
           " ranks; it is this rank's place, counted from 0";
  std::vector<int64_t> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front() < 0)
    return "has rank " + std::to_string(sorted.front()) + "; ranks are counted from 0";
  auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  return twice == sorted.end() ? "" : "has rank " + std::to_string(*twice) + " twice; a group names each once";
}

} // namespace splitcast::ccl
