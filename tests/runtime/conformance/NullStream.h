//===- NullStream.h - A stream without pending work ------------------------===//
#ifndef SPLITCAST_TESTS_RUNTIME_CONFORMANCE_NULLSTREAM_H
#define SPLITCAST_TESTS_RUNTIME_CONFORMANCE_NULLSTREAM_H

#include "runtime/api/Device.h"

namespace splitcast::runtime {

/// A stream on which nothing is ever pending, like a stream of the host when a collective is started.
class NullStream final : public Stream {
public:
  absl::Status waitFor(const Event &event) override { return event->wait(); }
  absl::StatusOr<Event> record() override { return absl::UnimplementedError("nothing to record"); }
  absl::Status synchronize() override { return absl::OkStatus(); }
};

} // namespace splitcast::runtime

#endif // SPLITCAST_TESTS_RUNTIME_CONFORMANCE_NULLSTREAM_H
