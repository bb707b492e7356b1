#include "dialects/ccl/algebra/Traffic.h"

#include "dialects/sbp/algebra/Sizes.h"

#include <algorithm>

namespace splitcast::ccl {

namespace {

int64_t chunks(int64_t bytes, int64_t chunkBytes) { return (bytes + chunkBytes - 1) / chunkBytes; }

int64_t workspace(int64_t ranks, int64_t ownBytes, int64_t chunkBytes) {
  return (ranks - 1) * sbp::alignUp(addendBytes(ownBytes, chunkBytes), sbp::kAlignmentBytes);
}

} // namespace

int64_t deviceChunkBytes(int64_t ranks, int64_t roundBytes) {
  constexpr int64_t kPage = 4096;
  const int64_t share = roundBytes / std::max<int64_t>(1, ranks - 1);
  return std::max({kPage, std::min(kChunkBytes, roundBytes), share}) / kPage * kPage;
}

Traffic allGatherTraffic(const std::vector<int64_t> &blocks, int64_t rank, int64_t chunkBytes) {
  int64_t others = blocks.size() - 1;
  return {others * blocks[rank], others * chunks(blocks[rank], chunkBytes)};
}

Traffic reduceScatterTraffic(const std::vector<int64_t> &blocks, int64_t rank, int64_t chunkBytes) {
  Traffic traffic;
  for (size_t r = 0; r < blocks.size(); ++r)
    if (static_cast<int64_t>(r) != rank)
      traffic += {blocks[r], chunks(blocks[r], chunkBytes)};
  return traffic;
}

Traffic allToAllTraffic(const std::vector<int64_t> &sends, int64_t rank, int64_t chunkBytes) {
  return reduceScatterTraffic(sends, rank, chunkBytes);
}

Traffic allReduceTraffic(int64_t elements, int64_t elementBytes, int64_t ranks, int64_t rank, int64_t smallBytes,
                         int64_t chunkBytes) {
  int64_t bytes = elements * elementBytes;
  if (bytes <= smallBytes)
    return {(ranks - 1) * bytes, bytes > 0 ? ranks - 1 : 0};
  // A reduce-scatter sends every block but the own one, an all-gather the own one to every other rank. The blocks have
  // two sizes: the first elements % ranks have one element more.
  int64_t own = sbp::pieceOf(elements, ranks, rank).count * elementBytes;
  int64_t longer = elements % ranks, shortBytes = elements / ranks * elementBytes;
  const auto messagesOf = [&](int64_t block) { return chunks(block, chunkBytes); };
  int64_t messages = longer * messagesOf(shortBytes + elementBytes) + (ranks - longer) * messagesOf(shortBytes);
  return {bytes - own + (ranks - 1) * own, messages - messagesOf(own) + (ranks - 1) * messagesOf(own)};
}

int64_t addendBytes(int64_t ownBytes, int64_t chunkBytes) { return std::min(ownBytes, 2 * chunkBytes); }

int64_t reduceScatterWorkspace(const std::vector<int64_t> &blocks, int64_t rank, int64_t chunkBytes) {
  return workspace(blocks.size(), blocks[rank], chunkBytes);
}

int64_t allReduceWorkspace(int64_t elements, int64_t elementBytes, int64_t ranks, int64_t rank, int64_t chunkBytes) {
  int64_t bytes = elements * elementBytes;
  if (bytes <= kSmallAllReduceBytes)
    return (ranks - 1) * sbp::alignUp(bytes, sbp::kAlignmentBytes);
  return workspace(ranks, sbp::pieceOf(elements, ranks, rank).count * elementBytes, chunkBytes);
}

} // namespace splitcast::ccl
