#include "compiler/launch/AlikeInputs.h"

#include "runtime/api/Frame.h"

#include <map>

namespace splitcast {

AlikeInputs::AlikeInputs(int64_t ranks, const std::vector<std::vector<int64_t>> &haveInCommon)
    : shared(haveInCommon.size()) {
  std::vector<std::vector<size_t>> inputsOf(ranks);
  for (size_t input = 0; input < haveInCommon.size(); ++input)
    for (int64_t rank : haveInCommon[input]) {
      inputsOf[rank].push_back(input);
      shared[input] = true;
    }
  std::map<std::vector<size_t>, size_t> known;
  for (const std::vector<size_t> &inputs : inputsOf) {
    const auto [set, isNew] = known.try_emplace(inputs, sets.size());
    if (isNew)
      sets.push_back(inputs);
    setOf.push_back(set->second);
  }
}

std::vector<uint64_t> AlikeInputs::digests(absl::Span<const absl::Span<const std::byte>> pieces) const {
  std::vector<uint64_t> ofInput(shared.size()), ofSet, result;
  for (size_t input = 0; input < shared.size(); ++input)
    if (shared[input])
      ofInput[input] = runtime::digestOf({reinterpret_cast<const char *>(pieces[input].data()), pieces[input].size()});
  for (const std::vector<size_t> &inputs : sets) {
    uint64_t digest = 0;
    for (size_t input : inputs)
      digest = runtime::mixed(digest, ofInput[input]);
    ofSet.push_back(digest);
  }
  result.reserve(setOf.size());
  for (size_t set : setOf)
    result.push_back(ofSet[set]);
  return result;
}

} // namespace splitcast
