// Offsets for buffers that live for a while: the largest first, each at the lowest place where no buffer lies that is
// used at the same time.
//
//   A 192 bytes, used at ops 0 to 2      at 0
//   B 128 bytes, used at ops 3 to 4      at 0: A is not used any more
//   C  64 bytes, used at ops 2 to 3      at 192: below lie A (at 2) and B (at 3)
//
// The search looks at buffers in the order of their offsets. They are kept in blocks of up to 128 neighbours, of
// which most are passed by what they say as a whole: so thousands of buffers take far fewer steps than their square.
#include "passes/plan/ArenaPlanner.h"

#include "dialects/sbp/algebra/Sizes.h"

#include <algorithm>
#include <numeric>

namespace splitcast {

namespace {

/// Used at the points [begin, end], at the bytes [offset, endBytes).
struct Placed {
  int64_t begin, end, offset, endBytes;
};

/// The buffers that have a place, by offset, in blocks of neighbours. What a block says of all its buffers lets most
/// blocks be passed without a look into them: when none of them is in use, and when all are and leave no gap that
/// counts.
class PlacedBuffers {
public:
  /// The lowest offset from which on `bytes` are free at [begin, end].
  int64_t lowestPlace(int64_t begin, int64_t end, int64_t bytes) const {
    int64_t offset = 0;
    for (const Block &block : blocks) {
      if (block.lastEnd < begin || end < block.firstBegin)
        continue;
      const bool allInUse = block.firstEnd >= begin && block.lastBegin <= end;
      if (allInUse && block.widestGap < bytes) {
        if (offset + bytes <= block.buffers.front().offset)
          return offset;
        offset = std::max(offset, block.endBytes);
        continue;
      }
      for (const Placed &taken : block.buffers) {
        if (taken.end < begin || end < taken.begin)
          continue;
        if (offset + bytes <= taken.offset)
          return offset;
        offset = std::max(offset, taken.endBytes);
      }
    }
    return offset;
  }

  void insert(const Placed &buffer) {
    if (blocks.empty())
      blocks.emplace_back();
    auto lies = [](int64_t offset, const Placed &other) { return offset < other.offset; };
    auto block = std::upper_bound(blocks.begin() + 1, blocks.end(), buffer.offset,
                                  [&](int64_t offset, const Block &other) { return lies(offset, other.buffers[0]); });
    --block;
    std::vector<Placed> &buffers = block->buffers;
    buffers.insert(std::upper_bound(buffers.begin(), buffers.end(), buffer.offset, lies), buffer);
    if (buffers.size() == kMaxBlock) {
      Block half;
      half.buffers.assign(buffers.begin() + kMaxBlock / 2, buffers.end());
      buffers.resize(kMaxBlock / 2);
      half.summarize();
      block = std::prev(blocks.insert(block + 1, std::move(half)));
    }
    block->summarize();
  }

private:
  static constexpr size_t kMaxBlock = 128;

  struct Block {
    std::vector<Placed> buffers; ///< by offset
    int64_t firstBegin, lastBegin, firstEnd, lastEnd;
    int64_t endBytes;  ///< the highest
    int64_t widestGap; ///< between buffers, when all are in use

    void summarize() {
      const Placed &first = buffers.front();
      firstBegin = lastBegin = first.begin;
      firstEnd = lastEnd = first.end;
      endBytes = first.endBytes;
      widestGap = 0;
      for (const Placed &buffer : buffers) {
        firstBegin = std::min(firstBegin, buffer.begin);
        lastBegin = std::max(lastBegin, buffer.begin);
        firstEnd = std::min(firstEnd, buffer.end);
        lastEnd = std::max(lastEnd, buffer.end);
        widestGap = std::max(widestGap, buffer.offset - endBytes);
        endBytes = std::max(endBytes, buffer.endBytes);
      }
    }
  };
  std::vector<Block> blocks; ///< by offset
};

} // namespace

int64_t planArena(std::vector<ArenaBuffer> &buffers) {
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return buffers[a].bytes != buffers[b].bytes ? buffers[a].bytes > buffers[b].bytes : a < b;
  });
  PlacedBuffers placed;
  int64_t total = 0;
  for (size_t index : order) {
    ArenaBuffer &buffer = buffers[index];
    const int64_t bytes = sbp::alignUp(buffer.bytes, sbp::kAlignmentBytes);
    buffer.offset = placed.lowestPlace(buffer.begin, buffer.end, bytes);
    placed.insert({buffer.begin, buffer.end, buffer.offset, buffer.offset + bytes});
    total = std::max(total, buffer.offset + bytes);
  }
  return total;
}

} // namespace splitcast
