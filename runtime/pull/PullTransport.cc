#include "runtime/pull/PullTransport.h"

#include "runtime/api/TransportChecks.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace splitcast::runtime {
namespace {

constexpr int kTags = 32768;

/// Where a message lies, and the tag of the answer that it was read.
struct Offer {
  uint64_t address = 0;
  int64_t bytes = 0;
  int64_t answerTag = 0;
  char end = 0;
};

/// Odd, as no tensor is long: who waits for a short tensor, where the sender has a long one, gets an error.
constexpr int64_t kOfferBytes = offsetof(Offer, end) + 1;

std::byte *bytesOf(Offer &offer) { return reinterpret_cast<std::byte *>(&offer); }

class Offered final : public Message {
public:
  static absl::StatusOr<std::unique_ptr<Message>> make(Transport &messages, Transport &answers, int64_t to, int tag,
                                                       const Offer &offer) {
    auto made = std::make_unique<Offered>();
    made->offer = offer;
    auto answer = answers.receive(to, static_cast<int>(offer.answerTag), nullptr, 0);
    if (!answer.ok())
      return answer.status();
    made->answer = *std::move(answer);
    auto sent = messages.send(to, tag, bytesOf(made->offer), kOfferBytes);
    if (!sent.ok())
      return sent.status();
    made->sent = *std::move(sent);
    return made;
  }

  absl::StatusOr<bool> test() override {
    if (!isSent) {
      absl::StatusOr<bool> done = sent->test();
      if (!done.ok() || !*done)
        return done;
      isSent = true;
    }
    return answer->test();
  }

private:
  Offer offer;
  std::unique_ptr<Message> sent, answer;
  bool isSent = false;
};

class Pulled final : public Message {
public:
  /// `rank` is the sender's number in `memory`, `from` in the transports.
  static absl::StatusOr<std::unique_ptr<Message>> make(Transport &messages, Transport &answers,
                                                       const PeerMemory &memory, int64_t rank, int64_t from, int tag,
                                                       Buffer to) {
    auto made = std::make_unique<Pulled>(answers, memory, rank, from, to);
    auto received = messages.receive(from, tag, bytesOf(made->offer), kOfferBytes);
    if (!received.ok())
      return received.status();
    made->received = *std::move(received);
    return made;
  }

  Pulled(Transport &answers, const PeerMemory &memory, int64_t rank, int64_t from, Buffer to)
      : answers(answers), memory(memory), rank(rank), from(from), to(to) {}

  absl::StatusOr<bool> test() override {
    if (answer)
      return answer->test();
    if (!isOffered) {
      absl::StatusOr<bool> done = received->test();
      if (absl::IsInvalidArgument(done.status()))
        return absl::InvalidArgumentError(
            absl::StrCat("a message of another length arrived where ", to.bytes, " bytes were expected"));
      if (!done.ok() || !*done)
        return done;
      isOffered = true;
    }
    absl::Status status = offer.bytes == to.bytes ? memory.read(rank, to.data, offer.address, to.bytes)
                                                  : wrongLength(offer.bytes, to.bytes);
    if (absl::IsUnavailable(status) && !hasWaitedForOthers())
      return false;
    // Also where nothing was read: the sender is done with it, as with a message that nobody wanted.
    auto sent = answers.send(from, static_cast<int>(offer.answerTag), nullptr, 0);
    status.Update(sent.status());
    if (!status.ok())
      return status;
    answer = *std::move(sent);
    return answer->test();
  }

private:
  /// A rank whose memory is gone may have ended since it missed a third, which is then to be named: the launcher, or
  /// the other transport, knows of that within seconds.
  bool hasWaitedForOthers() {
    constexpr absl::Duration kGrace = absl::Seconds(3);
    failedAt = std::min(failedAt, absl::Now());
    return absl::Now() - failedAt >= kGrace;
  }

  Transport &answers;
  const PeerMemory &memory;
  int64_t rank, from;
  Buffer to;
  Offer offer;
  bool isOffered = false;
  absl::Time failedAt = absl::InfiniteFuture(); ///< the first time
  std::unique_ptr<Message> received, answer;
};

/// A message that may turn out to be an offer, of which the other transport only knows the length.
class Expected final : public Message {
public:
  Expected(std::unique_ptr<Message> received, int64_t bytes) : received(std::move(received)), bytes(bytes) {}

  absl::StatusOr<bool> test() override {
    absl::StatusOr<bool> done = received->test();
    if (absl::IsInvalidArgument(done.status()))
      return absl::InvalidArgumentError(
          absl::StrCat("a message of another length arrived where ", bytes, " bytes were expected"));
    return done;
  }

private:
  std::unique_ptr<Message> received;
  int64_t bytes;
};

class PullTransport final : public Transport {
public:
  /// `members` are the ranks' numbers in `memory`.
  PullTransport(std::unique_ptr<Transport> messages, std::unique_ptr<Transport> answers,
                std::shared_ptr<const PeerMemory> memory, std::vector<int64_t> members)
      : messages(std::move(messages)), answers(std::move(answers)), memory(std::move(memory)),
        members(std::move(members)) {}

  int64_t rank() const override { return messages->rank(); }
  int64_t size() const override { return messages->size(); }
  absl::Status health() override { return messages->health(); }

  absl::StatusOr<std::unique_ptr<Message>> send(int64_t to, int tag, const std::byte *data, int64_t bytes) override {
    if (bytes < kPulledBytes || !isPeer(to) || !memory->isReadBy(members[to]))
      return messages->send(to, tag, data, bytes);
    if (absl::Status status = checkMessage(*this, to, tag, bytes); !status.ok())
      return status;
    const Offer offer{reinterpret_cast<uintptr_t>(data), bytes, nextAnswer++ % kTags};
    return Offered::make(*messages, *answers, to, tag, offer);
  }

  absl::StatusOr<std::unique_ptr<Message>> receive(int64_t from, int tag, std::byte *data, int64_t bytes) override {
    if (!isPeer(from) || !memory->reads(members[from]))
      return messages->receive(from, tag, data, bytes);
    if (bytes < kPulledBytes) {
      auto received = messages->receive(from, tag, data, bytes);
      if (!received.ok())
        return received.status();
      return std::make_unique<Expected>(*std::move(received), bytes);
    }
    if (absl::Status status = checkMessage(*this, from, tag, bytes); !status.ok())
      return status;
    return Pulled::make(*messages, *answers, *memory, members[from], from, tag, {data, bytes});
  }

  absl::StatusOr<std::unique_ptr<Transport>> split(const std::vector<int64_t> &ranks) override {
    auto ofMessages = messages->split(ranks);
    if (!ofMessages.ok())
      return ofMessages.status();
    auto ofAnswers = answers->split(ranks);
    if (!ofAnswers.ok())
      return ofAnswers.status();
    std::vector<int64_t> numbers;
    for (int64_t rank : ranks)
      numbers.push_back(members[rank]);
    return std::make_unique<PullTransport>(*std::move(ofMessages), *std::move(ofAnswers), memory, std::move(numbers));
  }

private:
  bool isPeer(int64_t number) const { return number >= 0 && number < size(); }

  std::unique_ptr<Transport> messages, answers;
  std::shared_ptr<const PeerMemory> memory;
  std::vector<int64_t> members;
  int64_t nextAnswer = 0;
};

} // namespace

std::unique_ptr<Transport> createPullTransport(std::unique_ptr<Transport> messages, std::unique_ptr<Transport> answers,
                                               std::shared_ptr<const PeerMemory> memory) {
  std::vector<int64_t> members(messages->size());
  std::iota(members.begin(), members.end(), 0);
  return std::make_unique<PullTransport>(std::move(messages), std::move(answers), std::move(memory),
                                         std::move(members));
}

} // namespace splitcast::runtime
