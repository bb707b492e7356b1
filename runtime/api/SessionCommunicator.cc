#include "runtime/api/SessionCommunicator.h"

#include "runtime/api/ForwardingCommunicator.h"
#include "runtime/api/StatusMacros.h"

namespace splitcast::runtime {
namespace {

class SessionCommunicator final : public ForwardingCommunicator {
public:
  SessionCommunicator(Communicator &inner, std::shared_ptr<const Activity> session)
      : ForwardingCommunicator(inner), session(std::move(session)) {}
  SessionCommunicator(std::unique_ptr<Communicator> group, std::shared_ptr<const Activity> session)
      : ForwardingCommunicator(std::move(group)), session(std::move(session)) {}

  absl::StatusOr<Event> start(const PreparedCollective &collective, Stream &stream, const CallSite &site) override {
    return inner.start(collective, stream, siteOf(site));
  }
  absl::StatusOr<std::unique_ptr<Registration>> registerMemory(Buffer memory, const std::string &layout,
                                                               const CallSite &site) override {
    return inner.registerMemory(memory, layout, siteOf(site));
  }
  absl::StatusOr<std::unique_ptr<SharedMemory>> shareMemory(int64_t bytes, const CallSite &site) override {
    return inner.shareMemory(bytes, siteOf(site));
  }
  absl::StatusOr<std::unique_ptr<Communicator>> split(absl::Span<const int64_t> ranks, const CallSite &site) override {
    SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> group, inner.split(ranks, siteOf(site)));
    return std::make_unique<SessionCommunicator>(std::move(group), session);
  }

private:
  CallSite siteOf(const CallSite &site) const override {
    CallSite result = site;
    result.during = session;
    return result;
  }

  const std::shared_ptr<const Activity> session;
};

} // namespace

std::unique_ptr<Communicator> createSessionCommunicator(Communicator &ranks, std::shared_ptr<const Activity> session) {
  return std::make_unique<SessionCommunicator>(ranks, std::move(session));
}

} // namespace splitcast::runtime
