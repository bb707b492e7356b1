//===- ForwardingCommunicator.h - A communicator that stands before another -===//
//
// Every kind of collective goes through one function, forward. So a class that changes where, when or whether another
// communicator's collectives run says it once, and a new kind needs no line in it.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_API_FORWARDINGCOMMUNICATOR_H
#define SPLITCAST_RUNTIME_API_FORWARDINGCOMMUNICATOR_H

#include "runtime/api/Communicator.h"

#include <functional>

namespace splitcast::runtime {

/// Does what another communicator of the same ranks does, with the site that siteOf() makes of the call's. It shares
/// and registers no memory, and what a split makes is left to the class that is derived from it.
class ForwardingCommunicator : public Communicator {
public:
  /// `inner` lives longer than this.
  explicit ForwardingCommunicator(Communicator &inner) : inner(inner) {}
  explicit ForwardingCommunicator(std::unique_ptr<Communicator> owned) : inner(*owned), owned(std::move(owned)) {}

  int64_t rank() const override { return inner.rank(); }
  int64_t size() const override { return inner.size(); }
  int64_t numberOf(int64_t rank) const override { return inner.numberOf(rank); }
  uint32_t nextSession() override { return inner.nextSession(); }
  absl::Status agreeOnRun(const CallSite &site) override { return inner.agreeOnRun(siteOf(site)); }
  int64_t chunkBytes() const override { return inner.chunkBytes(); }
  absl::StatusOr<Event> allGather(Buffer data, absl::Span<const int64_t> bytesPerRank, Stream &stream,
                                  const CallSite &site) override {
    return forward({data}, stream, [this, blocks = copyOf(bytesPerRank), site = siteOf(site)](Buffers at, Stream &on) {
      return inner.allGather(at[0], blocks, on, site);
    });
  }
  absl::StatusOr<Event> reduceScatter(Buffer data, absl::Span<const int64_t> elementsPerRank, ElementType type,
                                      Buffer output, Buffer workspace, Stream &stream, const CallSite &site) override {
    return forward({data, output, workspace}, stream,
                   [this, blocks = copyOf(elementsPerRank), type, site = siteOf(site)](Buffers at, Stream &on) {
                     return inner.reduceScatter(at[0], blocks, type, at[1], at[2], on, site);
                   });
  }
  absl::StatusOr<Event> allReduce(Buffer data, int64_t elements, ElementType type, Buffer workspace, Stream &stream,
                                  const CallSite &site) override {
    return forward({data, workspace}, stream, [this, elements, type, site = siteOf(site)](Buffers at, Stream &on) {
      return inner.allReduce(at[0], elements, type, at[1], on, site);
    });
  }
  absl::StatusOr<Event> allToAll(Buffer input, absl::Span<const int64_t> inputBytesPerRank, Buffer output,
                                 absl::Span<const int64_t> outputBytesPerRank, Stream &stream,
                                 const CallSite &site) override {
    return forward({input, output}, stream,
                   [this, sends = copyOf(inputBytesPerRank), receives = copyOf(outputBytesPerRank),
                    site = siteOf(site)](Buffers at, Stream &on) {
                     return inner.allToAll(at[0], sends, at[1], receives, on, site);
                   });
  }
  absl::Status barrier(const CallSite &site) override { return inner.barrier(siteOf(site)); }
  absl::StatusOr<std::vector<std::string>> exchange(const std::string &mine, const CallSite &site) override {
    return inner.exchange(mine, siteOf(site));
  }

protected:
  virtual CallSite siteOf(const CallSite &site) const { return site; }

  using Buffers = absl::Span<const Buffer>;
  /// Starts a collective of `inner` in these buffers, on this stream. It may be called after the call that it is for
  /// has returned: of that one's other arguments it has copies.
  using Start = std::function<absl::StatusOr<Event>(Buffers buffers, Stream &stream)>;
  /// Does a collective. `buffers` are those of the call, in the order of its parameters.
  virtual absl::StatusOr<Event> forward(Buffers buffers, Stream &stream, const Start &start) {
    return start(buffers, stream);
  }

  Communicator &inner;

private:
  static std::vector<int64_t> copyOf(absl::Span<const int64_t> numbers) { return {numbers.begin(), numbers.end()}; }

  std::unique_ptr<Communicator> owned; ///< null if `inner` is somebody else's
};

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_API_FORWARDINGCOMMUNICATOR_H
