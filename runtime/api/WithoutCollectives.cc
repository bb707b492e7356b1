#include "runtime/api/WithoutCollectives.h"

#include "runtime/api/ForwardingCommunicator.h"

namespace splitcast::runtime {
namespace {

/// Forwards everything but start(), which starts nothing.
class WithoutCollectives final : public ForwardingCommunicator {
public:
  using ForwardingCommunicator::ForwardingCommunicator;

  absl::StatusOr<Event> start(const PreparedCollective &collective, Stream &stream, const CallSite &site) override {
    return stream.record();
  }

  absl::StatusOr<std::unique_ptr<Communicator>> split(absl::Span<const int64_t> group, const CallSite &site) override {
    absl::StatusOr<std::unique_ptr<Communicator>> part = inner.split(group, site);
    return part.ok() ? withoutCollectives(*std::move(part)) : std::move(part);
  }

  absl::StatusOr<std::unique_ptr<Registration>> registerMemory(Buffer memory, const std::string &layout,
                                                               const CallSite &site) override {
    return inner.registerMemory(memory, layout, site);
  }
  absl::StatusOr<std::unique_ptr<SharedMemory>> shareMemory(int64_t bytes, const CallSite &site) override {
    return inner.shareMemory(bytes, site);
  }
};

} // namespace

std::unique_ptr<Communicator> withoutCollectives(std::unique_ptr<Communicator> ranks) {
  return std::make_unique<WithoutCollectives>(std::move(ranks));
}

} // namespace splitcast::runtime
