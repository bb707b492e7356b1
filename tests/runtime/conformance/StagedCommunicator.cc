#include "tests/runtime/conformance/StagedCommunicator.h"

#include "runtime/api/ForwardingCommunicator.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace splitcast::runtime::conformance {
namespace {

constexpr int64_t kAlignment = 64, kGuardBytes = 64;
constexpr std::byte kGuard{0x5A};

/// Memory of the device in place of a buffer of the host, between guards that nobody may touch.
class Mirror {
public:
  Mirror(Device &device, Buffer host) : device(device), host(host) {
    if (!host.data || host.bytes <= 0)
      return;
    const int64_t within = reinterpret_cast<uintptr_t>(host.data) % kAlignment;
    absl::StatusOr<Buffer> allocated = device.allocate(host.bytes + within + 2 * kGuardBytes);
    status = allocated.status();
    if (!status.ok())
      return;
    memory = *allocated;
    begin = kGuardBytes + within;
    std::vector<std::byte> content(memory->bytes, kGuard);
    std::copy_n(host.data, host.bytes, content.begin() + begin);
    status = device.upload(*memory, content.data());
  }
  ~Mirror() {
    if (memory)
      device.release(*memory);
  }
  Mirror(const Mirror &) = delete;
  Mirror &operator=(const Mirror &) = delete;

  /// As wrong as the buffer of the host, where that has no bytes or no address.
  Buffer buffer() const { return memory ? memory->slice(begin, host.bytes) : host; }
  bool contains(Buffer part) const {
    return host.data && part.data >= host.data && part.data + part.bytes <= host.data + host.bytes;
  }
  Buffer bufferOf(Buffer part) const { return {buffer().data + (part.data - host.data), part.bytes}; }
  absl::Status fetch() const {
    if (!memory)
      return absl::OkStatus();
    std::vector<std::byte> content(memory->bytes);
    absl::Status fetched = device.download(content.data(), *memory);
    auto isGuard = [](std::byte value) { return value == kGuard; };
    const auto first = content.begin() + begin, last = first + host.bytes;
    if (!std::all_of(content.begin(), first, isGuard) || !std::all_of(last, content.end(), isGuard))
      fetched.Update(absl::DataLossError("memory of the device beside a buffer was written"));
    std::copy(first, last, host.data);
    return fetched;
  }

  absl::Status status;

private:
  Device &device;
  Buffer host;
  int64_t begin = 0;
  std::optional<Buffer> memory;
};

using Mirrors = std::vector<std::unique_ptr<Mirror>>;

/// Fetches what the collective has written, once.
class StagedEvent final : public EventState {
public:
  StagedEvent(Event inner, Mirrors mirrors, std::shared_ptr<Stream> stream)
      : inner(std::move(inner)), mirrors(std::move(mirrors)), stream(std::move(stream)) {}
  absl::Status wait() override {
    absl::Status status = inner->wait();
    for (const auto &mirror : mirrors)
      if (status.ok())
        status = mirror->fetch();
    if (status.ok())
      mirrors.clear();
    return status;
  }

private:
  Event inner;
  Mirrors mirrors;
  std::shared_ptr<Stream> stream;
};

class StagedCommunicator final : public ForwardingCommunicator {
public:
  StagedCommunicator(std::unique_ptr<Communicator> inner, Device &device, std::shared_ptr<Stream> stream)
      : ForwardingCommunicator(std::move(inner)), device(device), stream(std::move(stream)) {}

  absl::StatusOr<std::unique_ptr<Communicator>> split(absl::Span<const int64_t> ranks, const CallSite &site) override {
    absl::StatusOr<std::unique_ptr<Communicator>> group = inner.split(ranks, site);
    return group.ok() ? createStagedCommunicator(*std::move(group), device) : group.status();
  }

private:
  /// A buffer that lies within one before it has its place there, and no mirror of its own.
  absl::StatusOr<Event> forward(Buffers buffers, Stream &, const Start &start) override {
    Mirrors mirrors;
    std::vector<Buffer> mirrored;
    for (Buffer buffer : buffers) {
      auto whole = std::find_if(mirrors.begin(), mirrors.end(), [&](const auto &m) { return m->contains(buffer); });
      if (whole != mirrors.end()) {
        mirrored.push_back((*whole)->bufferOf(buffer));
        continue;
      }
      mirrors.push_back(std::make_unique<Mirror>(device, buffer));
      if (!mirrors.back()->status.ok())
        return mirrors.back()->status;
      mirrored.push_back(mirrors.back()->buffer());
    }
    absl::StatusOr<Event> event = start(mirrored, *stream);
    return event.ok() ? Event(std::make_shared<StagedEvent>(*event, std::move(mirrors), stream)) : event;
  }

  Device &device;
  std::shared_ptr<Stream> stream;
};

} // namespace

absl::StatusOr<std::unique_ptr<Communicator>> createStagedCommunicator(std::unique_ptr<Communicator> inner,
                                                                       Device &device) {
  absl::StatusOr<std::unique_ptr<Stream>> stream = device.createStream("conformance");
  if (!stream.ok())
    return stream.status();
  return std::unique_ptr<Communicator>(
      std::make_unique<StagedCommunicator>(std::move(inner), device, *std::move(stream)));
}

} // namespace splitcast::runtime::conformance
