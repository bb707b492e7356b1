//===- TransportChecks.h - What every transport refuses ---------------------===//
#ifndef SPLITCAST_RUNTIME_API_TRANSPORTCHECKS_H
#define SPLITCAST_RUNTIME_API_TRANSPORTCHECKS_H

#include "runtime/api/Transport.h"

namespace splitcast::runtime {

inline constexpr int64_t kMaxMessageBytes = int64_t{1} << 30;
inline constexpr int kMaxTag = 32767; ///< the largest tag that every MPI allows

/// Returns InvalidArgument unless `peer` is another rank of the transport, and tag and bytes are within Transport.h's
/// bounds.
absl::Status checkMessage(const Transport &transport, int64_t peer, int tag, int64_t bytes);

/// Returns InvalidArgument unless these are ranks of the transport and the calling rank is among them.
absl::Status checkGroup(const Transport &transport, const std::vector<int64_t> &ranks);

/// Returns InvalidArgument for a message of `arrived` bytes where the receive expected `expected` bytes.
absl::Status wrongLength(int64_t arrived, int64_t expected);

/// Returns FailedPrecondition for a message with another frame than the receive expected, with what the two ranks do:
/// "do not run the same collective (...)" or "give different values to inputs of which both have the same part".
absl::Status unlikeFrame(const Frame &arrived, const Frame &expected);

/// Returns which session a frame belongs to, as "run 3 of session 1".
std::string placeOf(const Frame &frame);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_TRANSPORTCHECKS_H
