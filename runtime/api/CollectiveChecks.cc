#include "runtime/api/CollectiveChecks.h"

#include "dialects/ccl/algebra/Traffic.h"
#include "dialects/sbp/algebra/Signature.h"
#include "runtime/api/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace splitcast::runtime {
namespace {

bool isAligned(Buffer data, int64_t alignment) { return reinterpret_cast<uintptr_t>(data.data) % alignment == 0; }

/// Checks that `data` has room for the blocks of all ranks, in order.
absl::Status checkBlocks(const Communicator &ranks, const CallSite &site, const char *name, Buffer data,
                         absl::Span<const int64_t> elements, int64_t elementBytes) {
  if (static_cast<int64_t>(elements.size()) != ranks.size())
    return invalidCall(site, absl::StrCat(name, " has ", elements.size(),
                                          " blocks; give one per rank, of which there are ", ranks.size()));
  int64_t left = data.bytes / elementBytes;
  for (int64_t block : elements) {
    if (block < 0)
      return invalidCall(site, absl::StrCat(name, " has a block of ", block, " elements; the least is 0"));
    if (block > left)
      return invalidCall(site, absl::StrCat(name, " has ", data.bytes, " bytes, less than its blocks of ",
                                            absl::StrJoin(elements, ", "), " elements of ", elementBytes, " bytes"));
    left -= block;
  }
  if (!data.data && data.bytes / elementBytes > left)
    return invalidCall(site, absl::StrCat(name, " has no address, but some of its blocks are not empty"));
  if (!isAligned(data, elementBytes))
    return invalidCall(site, absl::StrCat(name, " is not aligned to its elements of ", elementBytes, " bytes"));
  return absl::OkStatus();
}

absl::Status checkAddends(const Communicator &ranks, const CallSite &site, Buffer data,
                          absl::Span<const int64_t> blocks, ElementType type) {
  if (!isFloat(type))
    return invalidCall(site, absl::StrCat("only floats can be summed, not ", nameOf(type), "; cast before and after"));
  return checkBlocks(ranks, site, "data", data, blocks, bytesOf(type));
}

absl::Status checkWorkspace(const Communicator &ranks, const CallSite &site, Buffer workspace, int64_t needed,
                            int64_t elementBytes) {
  if (workspace.bytes < needed)
    return invalidCall(site, absl::StrCat("the workspace has ", workspace.bytes, " bytes, but rank ", ranks.rank(),
                                          " of ", ranks.size(), " needs ", needed));
  if (needed > 0 && (!workspace.data || !isAligned(workspace, elementBytes)))
    return invalidCall(site, absl::StrCat("the workspace is not aligned to elements of ", elementBytes, " bytes"));
  return absl::OkStatus();
}

} // namespace

absl::Status invalidCall(const CallSite &site, absl::string_view found) {
  return absl::InvalidArgumentError(absl::StrCat(site.what, ": ", found));
}

std::vector<int64_t> allReduceBlocks(const Communicator &ranks, int64_t elements) {
  std::vector<int64_t> blocks;
  for (int64_t rank = 0; rank < ranks.size(); ++rank)
    blocks.push_back(elements < 0 ? elements : sbp::pieceOf(elements, ranks.size(), rank).count);
  return blocks;
}

absl::Status checkAllGather(const Communicator &ranks, Buffer data, absl::Span<const int64_t> bytesPerRank,
                            const CallSite &site) {
  return checkBlocks(ranks, site, "data", data, bytesPerRank, 1);
}

absl::Status checkReduceScatter(const Communicator &ranks, Buffer data, absl::Span<const int64_t> elementsPerRank,
                                ElementType type, Buffer output, Buffer workspace, const CallSite &site) {
  SPLITCAST_RETURN_IF_ERROR(checkAddends(ranks, site, data, elementsPerRank, type));
  const int64_t own = elementsPerRank[ranks.rank()] * bytesOf(type);
  if (output.bytes < own || (own > 0 && !isAligned(output, bytesOf(type))))
    return invalidCall(site, absl::StrCat("the output has ", output.bytes, " bytes at ",
                                          absl::Hex(reinterpret_cast<uintptr_t>(output.data)), "; it needs ", own,
                                          ", aligned to its elements"));
  std::vector<int64_t> blockBytes;
  for (int64_t elements : elementsPerRank)
    blockBytes.push_back(elements * bytesOf(type));
  const int64_t needed = ccl::reduceScatterWorkspace(blockBytes, ranks.rank(), ranks.chunkBytes());
  return checkWorkspace(ranks, site, workspace, needed, bytesOf(type));
}

absl::Status checkAllReduce(const Communicator &ranks, Buffer data, int64_t elements, ElementType type,
                            Buffer workspace, const CallSite &site) {
  SPLITCAST_RETURN_IF_ERROR(checkAddends(ranks, site, data, allReduceBlocks(ranks, elements), type));
  const int64_t needed =
      ccl::allReduceWorkspace(elements, bytesOf(type), ranks.size(), ranks.rank(), ranks.chunkBytes());
  return checkWorkspace(ranks, site, workspace, needed, bytesOf(type));
}

absl::Status checkAllToAll(const Communicator &ranks, Buffer input, absl::Span<const int64_t> inputBytesPerRank,
                           Buffer output, absl::Span<const int64_t> outputBytesPerRank, const CallSite &site) {
  SPLITCAST_RETURN_IF_ERROR(checkBlocks(ranks, site, "input", input, inputBytesPerRank, 1));
  SPLITCAST_RETURN_IF_ERROR(checkBlocks(ranks, site, "output", output, outputBytesPerRank, 1));
  const int64_t own = ranks.rank(), from = inputBytesPerRank[own], to = outputBytesPerRank[own];
  if (from != to)
    return invalidCall(
        site, absl::StrCat("rank ", own, " has ", from, " bytes for itself, but expects ", to, " bytes from itself"));
  return absl::OkStatus();
}

} // namespace splitcast::runtime
