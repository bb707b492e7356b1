// Offsets for buffers that live for a while: in some order, each at the lowest place where no buffer lies that is used
// at the same time.
//
//   A 192 bytes, used at ops 0 to 2      at 0
//   B 128 bytes, used at ops 3 to 4      at 0: A is not used any more
//   C  64 bytes, used at ops 2 to 3      at 192: below lie A (at 2) and B (at 3)
//
// No order is the best of all, so several are tried: by size, by size times life, by life; and after each try the
// buffer that ends highest goes before half of those that were placed before it, or now and then to another place, so
// that the tries do not repeat. The first that needs no more than what is live at once is taken, else the best of so
// many tries that a program of any length takes linear time. (Of 411 plans of random graphs with sizes up to megabytes,
// the order by size needs more than 1% over that bound in 94, and up to 28%; a third of these tries in 7, and up to
// 3%.)
//
// The search for a place looks at buffers in the order of their offsets. They are kept in blocks of up to 128
// neighbours, of which most are passed by what they say as a whole: so thousands of buffers take far fewer steps than
// their square.
#include "passes/plan/ArenaPlanner.h"

#include "dialects/sbp/algebra/Sizes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

namespace splitcast {

int64_t liveBytes(const std::vector<ArenaBuffer> &buffers) {
  std::map<int64_t, int64_t> changes;
  for (const ArenaBuffer &buffer : buffers)
    if (buffer.begin <= buffer.end) {
      changes[buffer.begin] += sbp::alignUp(buffer.bytes, sbp::kAlignmentBytes);
      changes[buffer.end + 1] -= sbp::alignUp(buffer.bytes, sbp::kAlignmentBytes);
    }
  int64_t live = 0, most = 0;
  for (auto [point, change] : changes)
    most = std::max(most, live += change);
  return most;
}

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

/// Offsets of all buffers, as some order gives them.
struct Layout {
  int64_t bytes = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> offsets;
  size_t highest = 0; ///< the place in the order of the buffer that ends at `bytes`
};

Layout layOut(const std::vector<ArenaBuffer> &buffers, const std::vector<size_t> &order) {
  Layout layout{0, std::vector<int64_t>(buffers.size())};
  PlacedBuffers placed;
  for (size_t i = 0; i < order.size(); ++i) {
    const ArenaBuffer &buffer = buffers[order[i]];
    const int64_t bytes = sbp::alignUp(buffer.bytes, sbp::kAlignmentBytes);
    const int64_t offset = placed.lowestPlace(buffer.begin, buffer.end, bytes);
    placed.insert({buffer.begin, buffer.end, offset, offset + bytes});
    layout.offsets[order[i]] = offset;
    if (offset + bytes > layout.bytes) {
      layout.bytes = offset + bytes;
      layout.highest = i;
    }
  }
  return layout;
}

/// The buffer at this place of the order goes before half of those that came before it; every fourth time elsewhere
/// among them.
void advance(std::vector<size_t> &order, size_t place, int64_t attempt) {
  const size_t to = attempt % 4 == 0 ? (attempt * 7919 + 13) % place : place / 2;
  std::rotate(order.begin() + to, order.begin() + place, order.begin() + place + 1);
}

/// What a buffer is sorted by, the largest first.
using Weight = double (*)(const ArenaBuffer &buffer);
double points(const ArenaBuffer &buffer) { return static_cast<double>(buffer.end - buffer.begin + 1); }
constexpr Weight kWeights[] = {
    [](const ArenaBuffer &buffer) { return static_cast<double>(buffer.bytes); },
    [](const ArenaBuffer &buffer) { return static_cast<double>(buffer.bytes) * points(buffer); },
    [](const ArenaBuffer &buffer) { return points(buffer); },
};
/// Of all tries of a plan together: some 20 of one with 1,000 buffers, 2 of one with 10,000. Among few buffers a place
/// is found sooner, and there are thirty times as many tries.
constexpr int64_t kMostPlaced = 20000, kFew = 200, kMostPlacedOfFew = 30 * kMostPlaced;

std::vector<size_t> orderBy(Weight weight, const std::vector<ArenaBuffer> &buffers) {
  std::vector<double> weights;
  for (const ArenaBuffer &buffer : buffers)
    weights.push_back(weight(buffer));
  std::vector<size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return weights[a] != weights[b] ? weights[a] > weights[b] : a < b; });
  return order;
}

Layout bestLayout(const std::vector<ArenaBuffer> &buffers) {
  const int64_t least = liveBytes(buffers), count = static_cast<int64_t>(buffers.size());
  const int64_t tries = (count <= kFew ? kMostPlacedOfFew : kMostPlaced) / (count + 1);
  Layout best;
  for (Weight weight : kWeights) {
    std::vector<size_t> order = orderBy(weight, buffers);
    for (int64_t attempt = 0; attempt * static_cast<int64_t>(std::size(kWeights)) <= tries; ++attempt) {
      Layout layout = layOut(buffers, order);
      const size_t highest = layout.highest;
      if (layout.bytes < best.bytes)
        best = std::move(layout);
      if (best.bytes <= least || tries == 0) // it has more buffers than are placed in all
        return best;
      if (highest == 0)
        break;
      advance(order, highest, attempt);
    }
  }
  return best;
}

} // namespace

int64_t planArena(std::vector<ArenaBuffer> &buffers) {
  const Layout layout = bestLayout(buffers);
  for (size_t i = 0; i < buffers.size(); ++i)
    buffers[i].offset = layout.offsets[i];
  return layout.bytes;
}

} // namespace splitcast
