//===- LaunchCheck.h - Do the buffers of a launch fit? -----------------------===//
#ifndef SPLITCAST_RUNTIME_API_LAUNCHCHECK_H
#define SPLITCAST_RUNTIME_API_LAUNCHCHECK_H

#include "runtime/api/Device.h"

#include "absl/status/status.h"
#include "absl/types/span.h"

#include <string>

namespace splitcast::runtime {

/// Buffer i must have at least argumentBytes[i] bytes, and there must be as many of each.
///   Errors  InvalidArgument, beginning with `what` ("kernel @gelu").
absl::Status checkBuffers(const std::string &what, absl::Span<const int64_t> argumentBytes,
                          absl::Span<const Buffer> buffers);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_LAUNCHCHECK_H
