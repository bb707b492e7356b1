//===- CollectiveChecks.h - What every communicator refuses -----------------===//
//
// Each check looks at a call on this rank alone, before anything is sent, and returns InvalidArgument with the
// collective's name if the call is wrong. Communicator.h gives the conditions for each collective.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_API_COLLECTIVECHECKS_H
#define SPLITCAST_RUNTIME_API_COLLECTIVECHECKS_H

#include "runtime/api/Communicator.h"

namespace splitcast::runtime {

absl::Status checkAllGather(const Communicator &ranks, Buffer data, absl::Span<const int64_t> bytesPerRank,
                            const CallSite &site);
absl::Status checkReduceScatter(const Communicator &ranks, Buffer data, absl::Span<const int64_t> elementsPerRank,
                                ElementType type, Buffer output, Buffer workspace, const CallSite &site);
absl::Status checkAllReduce(const Communicator &ranks, Buffer data, int64_t elements, ElementType type,
                            Buffer workspace, const CallSite &site);
absl::Status checkAllToAll(const Communicator &ranks, Buffer input, absl::Span<const int64_t> inputBytesPerRank,
                           Buffer output, absl::Span<const int64_t> outputBytesPerRank, const CallSite &site);

/// Returns InvalidArgument, whose message is the collective's name, then `found`.
absl::Status invalidCall(const CallSite &site, absl::string_view found);

/// Returns how many elements of an all-reduced tensor each rank adds up. If `elements` is negative, every block is, and
/// checkAllReduce refuses it.
std::vector<int64_t> allReduceBlocks(const Communicator &ranks, int64_t elements);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_COLLECTIVECHECKS_H
