//===- TransportChecks.h - What every transport refuses ---------------------===//
#ifndef SPLITCAST_RUNTIME_API_TRANSPORTCHECKS_H
#define SPLITCAST_RUNTIME_API_TRANSPORTCHECKS_H

#include "runtime/api/Transport.h"

namespace splitcast::runtime {

/// Returns InvalidArgument unless `peer` is another rank of the transport, and tag and bytes are within Transport.h's
/// bounds.
absl::Status checkMessage(const Transport &transport, int64_t peer, int tag, int64_t bytes);

/// Returns InvalidArgument unless these are ranks of the transport and the calling rank is among them.
absl::Status checkGroup(const Transport &transport, const std::vector<int64_t> &ranks);

/// Returns InvalidArgument for a message of `arrived` bytes where the receive expected `expected` bytes.
absl::Status wrongLength(int64_t arrived, int64_t expected);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_TRANSPORTCHECKS_H
