#include "dialects/ccl/algebra/Collective.h"

#include <numeric>
#include <string>

namespace splitcast::ccl {

namespace {

int64_t sum(const std::vector<int64_t> &values, size_t count) {
  return std::accumulate(values.begin(), values.begin() + count, int64_t{0});
}

int64_t none(const CollectiveCall &) { return 0; }

/// By CollectiveKind.
constexpr CollectiveRule kRules[kNumCollectiveKinds] = {
    {"all_gather", Part::OwnBlock, Part::AllBlocks, Memory::InResult, /*adds=*/false,
     [](const CollectiveCall &call) { return sbp::allGatherTraffic(call.blockBytes(), call.index); }, none},
    {"reduce_scatter", Part::AllBlocks, Part::OwnBlock, Memory::InOperand, /*adds=*/true,
     [](const CollectiveCall &call) { return sbp::reduceScatterTraffic(call.blockBytes(), call.index); },
     [](const CollectiveCall &call) { return sbp::reduceScatterWorkspace(call.blockBytes(), call.index); }},
    {"all_reduce", Part::AllBlocks, Part::AllBlocks, Memory::InBoth, /*adds=*/true,
     [](const CollectiveCall &call) {
       return sbp::allReduceTraffic(call.elements(Part::AllBlocks), call.elementBytes, call.blocks.size(), call.index);
     },
     [](const CollectiveCall &call) {
       return sbp::allReduceWorkspace(call.elements(Part::AllBlocks), call.elementBytes, call.blocks.size(),
                                      call.index);
     }},
    {"all_to_all", Part::AllBlocks, Part::Received, Memory::Apart, /*adds=*/false,
     [](const CollectiveCall &call) { return sbp::allToAllTraffic(call.blockBytes(), call.index); }, none},
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
    return blocks[index];
  case Part::AllBlocks:
    return sum(blocks, blocks.size());
  case Part::Received:
    return sum(received, received.size());
  }
  return 0;
}

int64_t CollectiveCall::bytesBefore() const { return sum(blocks, index) * elementBytes; }

std::vector<int64_t> CollectiveCall::blockBytes() const {
  std::vector<int64_t> bytes;
  for (int64_t block : blocks)
    bytes.push_back(block * elementBytes);
  return bytes;
}

} // namespace splitcast::ccl
