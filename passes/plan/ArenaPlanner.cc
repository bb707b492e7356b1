#include "passes/plan/ArenaPlanner.h"

#include "dialects/sbp/algebra/Boxing.h"

#include <algorithm>
#include <numeric>

namespace splitcast {

int64_t planArena(std::vector<ArenaBuffer> &buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return buffers[a].bytes != buffers[b].bytes ? buffers[a].bytes > buffers[b].bytes : a < b;
  });
  std::vector<size_t> placed; // by offset
  int64_t total = 0;
  for (size_t index : order) {
    ArenaBuffer &buffer = buffers[index];
    int64_t bytes = sbp::alignUp(buffer.bytes, sbp::kAlignmentBytes), offset = 0;
    for (size_t other : placed) {
      const ArenaBuffer &taken = buffers[other];
      if (taken.end < buffer.begin || buffer.end < taken.begin)
        continue;
      if (offset + bytes <= taken.offset)
        break;
      offset = std::max(offset, taken.offset + sbp::alignUp(taken.bytes, sbp::kAlignmentBytes));
    }
    buffer.offset = offset;
    total = std::max(total, offset + bytes);
    auto at = std::upper_bound(placed.begin(), placed.end(), index,
                               [&](size_t a, size_t b) { return buffers[a].offset < buffers[b].offset; });
    placed.insert(at, index);
  }
  return total;
}

} // namespace splitcast
