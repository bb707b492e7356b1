#include "runtime/api/WithoutCollectives.h"

namespace splitcast::runtime {
namespace {

/// Forwards everything but start(), which starts nothing.
class WithoutCollectives final : public Communicator {
public:
  explicit WithoutCollectives(std::unique_ptr<Communicator> ranks) : ranks(std::move(ranks)) {}

  absl::StatusOr<Event> start(const PreparedCollective &collective, Stream &stream, const CallSite &site) override {
    return stream.record();
  }

  absl::StatusOr<std::unique_ptr<Communicator>> split(absl::Span<const int64_t> group, const CallSite &site) override {
    absl::StatusOr<std::unique_ptr<Communicator>> part = ranks->split(group, site);
    return part.ok() ? withoutCollectives(*std::move(part)) : std::move(part);
  }

  int64_t rank() const override { return ranks->rank(); }
  int64_t size() const override { return ranks->size(); }
  absl::StatusOr<Event> allGather(Buffer data, absl::Span<const int64_t> bytesPerRank, Stream &stream,
                                  const CallSite &site) override {
    return ranks->allGather(data, bytesPerRank, stream, site);
  }
  absl::StatusOr<Event> reduceScatter(Buffer data, absl::Span<const int64_t> elementsPerRank, ElementType type,
                                      Buffer output, Buffer workspace, Stream &stream, const CallSite &site) override {
    return ranks->reduceScatter(data, elementsPerRank, type, output, workspace, stream, site);
  }
  absl::StatusOr<Event> allReduce(Buffer data, int64_t elements, ElementType type, Buffer workspace, Stream &stream,
                                  const CallSite &site) override {
    return ranks->allReduce(data, elements, type, workspace, stream, site);
  }
  absl::StatusOr<Event> allToAll(Buffer input, absl::Span<const int64_t> inputBytesPerRank, Buffer output,
                                 absl::Span<const int64_t> outputBytesPerRank, Stream &stream,
                                 const CallSite &site) override {
    return ranks->allToAll(input, inputBytesPerRank, output, outputBytesPerRank, stream, site);
  }
  absl::StatusOr<std::unique_ptr<Registration>> registerMemory(Buffer memory, const std::string &layout,
                                                               const CallSite &site) override {
    return ranks->registerMemory(memory, layout, site);
  }
  absl::StatusOr<std::unique_ptr<SharedMemory>> shareMemory(int64_t bytes, const CallSite &site) override {
    return ranks->shareMemory(bytes, site);
  }
  absl::Status barrier(const CallSite &site) override { return ranks->barrier(site); }
  absl::StatusOr<std::vector<std::string>> exchange(const std::string &mine, const CallSite &site) override {
    return ranks->exchange(mine, site);
  }

private:
  std::unique_ptr<Communicator> ranks;
};

} // namespace

std::unique_ptr<Communicator> withoutCollectives(std::unique_ptr<Communicator> ranks) {
  return std::make_unique<WithoutCollectives>(std::move(ranks));
}

} // namespace splitcast::runtime
