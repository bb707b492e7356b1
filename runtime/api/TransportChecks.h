//===- TransportChecks.h - What every transport refuses ---------------------===//
#ifndef SPLITCAST_RUNTIME_API_TRANSPORTCHECKS_H
#define SPLITCAST_RUNTIME_API_TRANSPORTCHECKS_H

#include "runtime/api/Transport.h"

namespace splitcast::runtime {

/// InvalidArgument unless `peer` is another rank of the transport, and tag and bytes are in Transport.h's bounds.
absl::Status checkMessage(const Transport &transport, int64_t peer, int tag, int64_t bytes);

/// InvalidArgument unless these are ranks of the transport, among them the one that asks.
absl::Status checkGroup(const Transport &transport, const std::vector<int64_t> &ranks);

/// InvalidArgument for a message of another length than the receive's.
absl::Status wrongLength(int64_t arrived, int64_t expected);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_TRANSPORTCHECKS_H
