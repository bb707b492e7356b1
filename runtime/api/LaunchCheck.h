//===- LaunchCheck.h - Checks the buffers of a launch ------------------------===//
#ifndef SPLITCAST_RUNTIME_API_LAUNCHCHECK_H
#define SPLITCAST_RUNTIME_API_LAUNCHCHECK_H

#include "runtime/api/Device.h"

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <string>

namespace splitcast::runtime {

/// Checks that there is one buffer per argument, and that buffer i has at least argumentBytes[i] bytes.
///   Errors  InvalidArgument; the message begins with `what` ("kernel @gelu").
absl::Status checkBuffers(const std::string &what, absl::Span<const int64_t> argumentBytes,
                          absl::Span<const Buffer> buffers);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_LAUNCHCHECK_H
