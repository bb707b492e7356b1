//===- CollectiveChecks.h - What every communicator refuses -----------------===//
//
// What is wrong with a call on this rank alone, before anything is sent: InvalidArgument, with the collective's name.
// The conditions are those that Communicator.h gives for each collective.
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

/// InvalidArgument: the collective, then what was found.
absl::Status invalidCall(const CallSite &site, absl::string_view found);

/// How many elements of an all-reduced tensor each rank adds; an all-reduce of a negative size has such blocks.
std::vector<int64_t> allReduceBlocks(const Communicator &ranks, int64_t elements);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_COLLECTIVECHECKS_H
