//===- RangeIndex.h - An index of ranges, to find those that overlap one ------------------------------------------===//
#ifndef SPLITCAST_PASSES_PLAN_RANGEINDEX_H
#define SPLITCAST_PASSES_PLAN_RANGEINDEX_H

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace splitcast {

/// Entries with ranges [begin, end) of integers; an empty range counts as one of length 1. Entries that overlap a range
/// are found without looking at all others: ranges of similar length, up to twice the shortest, are sorted by their
/// begins, so that only few of those that are looked at end too early.
template <typename Entry> class RangeIndex {
public:
  void add(int64_t begin, int64_t end, Entry entry) {
    end = std::max(end, begin + 1);
    byLength[llvm::Log2_64(end - begin)].emplace(begin, std::pair(end, std::move(entry)));
  }

  /// Whether `test` holds for an entry that overlaps [begin, end).
  template <typename Test> bool any(int64_t begin, int64_t end, Test test) const {
    end = std::max(end, begin + 1);
    for (const auto &[log, entries] : byLength)
      for (auto at = entries.upper_bound(begin - (int64_t{2} << log)); at != entries.end() && at->first < end; ++at)
        if (at->second.first > begin && test(at->second.second))
          return true;
    return false;
  }

private:
  std::map<unsigned, std::multimap<int64_t, std::pair<int64_t, Entry>>> byLength; ///< by its logarithm, then begin
};

} // namespace splitcast

#endif // SPLITCAST_PASSES_PLAN_RANGEINDEX_H
