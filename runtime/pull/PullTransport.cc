#include "runtime/pull/PullTransport.h"

#include "runtime/api/StatusMacros.h"
#include "runtime/api/TransportChecks.h"
#include "runtime/process/Patience.h"
#include "runtime/pull/StreamingCopy.h"

#include "absl/strings/str_cat.h"

#include <cstddef>
#include <numeric>
#include <optional>

namespace splitcast::runtime {
namespace {

/// This many offers may be pending at once. Each has two tags, one for its
/// answer and one for its contents, which must not mix.
constexpr int64_t kOffers = 16384;

/// Tells the receiver where a message lies and how to answer.
struct Offer {
  SharedPlace place; ///< if it has no file, the contents follow as a message
  int64_t bytes = 0;
  int64_t number = 0;
  char end = 0;

  int answerTag() const { return static_cast<int>(2 * number); }
  int contentsTag() const { return static_cast<int>(2 * number + 1); }
};

/// No tensor has this odd length. So a receiver that expects a short tensor,
/// where the sender has a long one, gets an error.
constexpr int64_t kOfferBytes = offsetof(Offer, end) + 1;

/// Checks what an offer says of its message before memory is asked for, or a
/// tag is made of it. PeerMemory checks the place.
absl::Status checkOffer(const Offer &offer) {
  if (offer.bytes < kPulledBytes || offer.bytes > kMaxMessageBytes || offer.number < 0 || offer.number >= kOffers)
    return absl::InvalidArgumentError(absl::StrCat("an offer of ", offer.bytes, " bytes with the number ", offer.number,
                                                   " arrived; an offer has ", kPulledBytes, " to ", kMaxMessageBytes,
                                                   " bytes and a number below ", kOffers));
  return absl::OkStatus();
}

std::byte *bytesOf(Offer &offer) { return reinterpret_cast<std::byte *>(&offer); }

/// The sender's side of an offer. It is done once the receiver has read the
/// contents or, if they follow as a message, once that is sent.
class Offered final : public Message {
public:
  /// `data` lies at the offer's place, if that has a file.
  static absl::StatusOr<std::unique_ptr<Message>> make(Transport &messages, Transport &answers, int64_t to, int tag,
                                                       const Offer &offer, const std::byte *data, const Frame &frame) {
    auto made = std::make_unique<Offered>();
    made->offer = offer;
    SPLITCAST_ASSIGN_OR_RETURN(made->rest, offer.place.file < 0
                                               ? answers.send(to, offer.contentsTag(), data, offer.bytes)
                                               : answers.receive(to, offer.answerTag(), nullptr, 0));
    SPLITCAST_ASSIGN_OR_RETURN(made->sent, messages.send(to, tag, bytesOf(made->offer), kOfferBytes, frame));
    return made;
  }

  absl::StatusOr<bool> test() override {
    if (!isSent) {
      absl::StatusOr<bool> done = sent->test();
      if (!done.ok() || !*done)
        return done;
      isSent = true;
    }
    return rest->test();
  }

private:
  Offer offer;
  std::unique_ptr<Message> sent;
  std::unique_ptr<Message> rest; ///< the contents, if they are sent, or else the receiver's answer
  bool isSent = false;
};

/// The receiver's side of an offer. It waits for the offer, then for the
/// contents, and answers once it is released.
class Pulled final : public Reading {
public:
  /// `rank` is the sender's number in `memory`, and `from` its rank in the
  /// transports.
  static absl::StatusOr<std::unique_ptr<Pulled>> make(Transport &messages, Transport &answers, PeerMemory &memory,
                                                      int64_t rank, int64_t from, int tag, Buffer room,
                                                      const Frame &frame) {
    auto made = std::make_unique<Pulled>(answers, memory, rank, from, room);
    SPLITCAST_ASSIGN_OR_RETURN(made->underWay, messages.receive(from, tag, bytesOf(made->offer), kOfferBytes, frame));
    return made;
  }

  Pulled(Transport &answers, PeerMemory &memory, int64_t rank, int64_t from, Buffer room)
      : answers(answers), memory(memory), rank(rank), from(from), room(room) {}

  absl::StatusOr<bool> test() override {
    SPLITCAST_RETURN_IF_ERROR(failure);
    State was;
    do {
      was = state;
      absl::StatusOr<bool> done = advance();
      failure = done.status();
      if (!done.ok() || !*done)
        return done;
    } while (state != was);
    return true;
  }

  const std::byte *data() const override { return lying ? lying->data() : room.data; }

  void release() override {
    state = State::Done;
    if (lying)
      answer();
    lying.reset();
  }

private:
  enum class State {
    Expected,  ///< waiting for the offer
    Following, ///< waiting for the contents, which follow as a message
    Lying,     ///< the contents lie where the offer says, and are not mapped yet
    Here,      ///< data() has the contents
    Done
  };

  /// Makes one step. Returns false if it has to wait, and true if the state is
  /// new or final.
  absl::StatusOr<bool> advance() {
    switch (state) {
    case State::Expected:
      return expect();
    case State::Following:
      return follow();
    case State::Lying:
      return look();
    case State::Here:
      return true;
    case State::Done:
      return underWay ? underWay->test() : answerFailure.ok() ? absl::StatusOr<bool>(true) : answerFailure;
    }
    return true;
  }

  absl::StatusOr<bool> expect() {
    absl::StatusOr<bool> done = underWay->test();
    if (absl::IsInvalidArgument(done.status()))
      return absl::InvalidArgumentError(
          absl::StrCat("a message of a different length arrived where ", room.bytes, " bytes were expected"));
    if (!done.ok() || !*done)
      return done;
    underWay.reset();
    SPLITCAST_RETURN_IF_ERROR(checkOffer(offer));
    state = State::Lying;
    if (offer.place.file >= 0)
      return true;
    state = State::Following;
    // Contents of a wrong length are received, too: their sender waits until
    // they are sent.
    std::byte *to = room.data;
    if (offer.bytes != room.bytes) {
      unwanted.resize(offer.bytes);
      to = unwanted.data();
    }
    SPLITCAST_ASSIGN_OR_RETURN(underWay, answers.receive(from, offer.contentsTag(), to, offer.bytes));
    return true;
  }

  absl::StatusOr<bool> follow() {
    absl::StatusOr<bool> done = underWay->test();
    if (!done.ok() || !*done)
      return done;
    underWay.reset();
    state = State::Here;
    if (offer.bytes != room.bytes)
      return wrongLength(offer.bytes, room.bytes);
    return true;
  }

  absl::StatusOr<bool> look() {
    absl::Status status;
    if (offer.bytes != room.bytes) {
      status = wrongLength(offer.bytes, room.bytes);
    } else if (auto view = memory.view(rank, offer.place, offer.bytes); view.ok()) {
      lying = *std::move(view);
    } else {
      status = view.status();
      if (absl::IsUnavailable(status) && !hasWaitedForOthers())
        return false;
    }
    state = State::Here;
    if (status.ok())
      return true;
    answer();
    return status;
  }

  void answer() {
    auto sent = answers.send(from, offer.answerTag(), nullptr, 0);
    answerFailure = sent.status();
    if (sent.ok())
      underWay = *std::move(sent);
  }

  /// If the sender's memory is gone, the sender may have ended because it lost
  /// a third rank, and the error should name that one. The launcher or the
  /// wrapped transport reports it within seconds, so wait that long.
  bool hasWaitedForOthers() {
    if (!grace.has_value())
      grace.emplace(absl::Seconds(3));
    return grace->isOver();
  }

  Transport &answers;
  PeerMemory &memory;
  int64_t rank, from;
  Buffer room;
  Offer offer;
  State state = State::Expected;
  std::optional<Patience> grace;     ///< begins when the memory is first found to be gone
  std::unique_ptr<Message> underWay; ///< the offer, the contents or the answer
  std::vector<std::byte> unwanted;
  std::unique_ptr<PeerMemory::View> lying; ///< the contents in the sender's memory; null if they are in `room`
  absl::Status answerFailure;
  absl::Status failure; ///< the error that test() has returned
};

/// Copies what was pulled to where the receiver wants it.
class Copied final : public Message {
public:
  Copied(std::unique_ptr<Pulled> pulled, Buffer to) : pulled(std::move(pulled)), to(to) {}

  absl::StatusOr<bool> test() override {
    absl::StatusOr<bool> done = pulled->test();
    if (isCopied || !done.ok() || !*done)
      return done;
    if (pulled->data() != to.data)
      streamingCopy(to.data, pulled->data(), to.bytes);
    isCopied = true;
    pulled->release();
    return pulled->test();
  }

private:
  std::unique_ptr<Pulled> pulled;
  Buffer to;
  bool isCopied = false;
};

/// A short receive, for which a long message's offer may arrive. The wrapped
/// transport then reports the offer's length, which would mislead.
class Expected final : public Message {
public:
  Expected(std::unique_ptr<Message> received, int64_t bytes) : received(std::move(received)), bytes(bytes) {}

  absl::StatusOr<bool> test() override {
    absl::StatusOr<bool> done = received->test();
    if (absl::IsInvalidArgument(done.status()))
      return absl::InvalidArgumentError(
          absl::StrCat("a message of a different length arrived where ", bytes, " bytes were expected"));
    return done;
  }

private:
  std::unique_ptr<Message> received;
  int64_t bytes;
};

class PullTransport final : public Transport {
public:
  /// `members` has the number in `memory` of each rank.
  PullTransport(std::unique_ptr<Transport> messages, std::unique_ptr<Transport> answers,
                std::shared_ptr<PeerMemory> memory, std::vector<int64_t> members)
      : messages(std::move(messages)), answers(std::move(answers)), memory(std::move(memory)),
        members(std::move(members)) {}

  int64_t rank() const override { return messages->rank(); }
  int64_t size() const override { return messages->size(); }
  absl::Status health() override { return messages->health(); }
  int64_t fanOut() const override { return messages->fanOut(); }
  void idle(absl::Duration waited, absl::Duration longest) override { messages->idle(waited, longest); }

  absl::StatusOr<std::unique_ptr<Message>> send(int64_t to, int tag, const std::byte *data, int64_t bytes,
                                                const Frame &frame) override {
    if (bytes < kPulledBytes || !isPeer(to) || !memory->isReadBy(members[to]))
      return messages->send(to, tag, data, bytes, frame);
    SPLITCAST_RETURN_IF_ERROR(checkMessage(*this, to, tag, bytes));
    const Offer offer{memory->memory()->find(data, bytes).value_or(SharedPlace()), bytes, nextOffer++ % kOffers};
    return Offered::make(*messages, *answers, to, tag, offer, data, frame);
  }

  absl::StatusOr<std::unique_ptr<Message>> receive(int64_t from, int tag, std::byte *data, int64_t bytes,
                                                   const Frame &frame) override {
    if (!isPeer(from) || !memory->reads(members[from]))
      return messages->receive(from, tag, data, bytes, frame);
    if (bytes < kPulledBytes) {
      SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Message> received, messages->receive(from, tag, data, bytes, frame));
      return std::make_unique<Expected>(std::move(received), bytes);
    }
    SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Pulled> pulled, pull(from, tag, {data, bytes}, frame));
    return std::make_unique<Copied>(std::move(pulled), Buffer{data, bytes});
  }

  absl::StatusOr<std::unique_ptr<Reading>> read(int64_t from, int tag, std::byte *room, int64_t bytes,
                                                const Frame &frame) override {
    if (bytes < kPulledBytes || !isPeer(from) || !memory->reads(members[from]))
      return Transport::read(from, tag, room, bytes, frame);
    return pull(from, tag, {room, bytes}, frame);
  }

  absl::StatusOr<std::unique_ptr<SharedMemory>> createShared(int64_t bytes, std::string &place) override {
    if (size() == 1)
      return nullptr;
    for (int64_t peer = 0; peer < size(); ++peer)
      if (peer != rank() && !memory->isReadBy(members[peer]))
        return nullptr;
    return memory->create(bytes, place);
  }

  absl::StatusOr<std::unique_ptr<SharedMemory>> joinShared(int64_t owner, const std::string &place,
                                                           int64_t bytes) override {
    if (!isPeer(owner) || !memory->reads(members[owner]))
      return Transport::joinShared(owner, place, bytes);
    return memory->join(members[owner], place, bytes);
  }

  absl::StatusOr<std::unique_ptr<Transport>> split(const std::vector<int64_t> &ranks) override {
    SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Transport> ofMessages, messages->split(ranks));
    SPLITCAST_ASSIGN_OR_RETURN(std::unique_ptr<Transport> ofAnswers, answers->split(ranks));
    std::vector<int64_t> numbers;
    for (int64_t rank : ranks)
      numbers.push_back(members[rank]);
    return std::make_unique<PullTransport>(std::move(ofMessages), std::move(ofAnswers), memory, std::move(numbers));
  }

private:
  absl::StatusOr<std::unique_ptr<Pulled>> pull(int64_t from, int tag, Buffer room, const Frame &frame) {
    SPLITCAST_RETURN_IF_ERROR(checkMessage(*this, from, tag, room.bytes));
    return Pulled::make(*messages, *answers, *memory, members[from], from, tag, room, frame);
  }

  bool isPeer(int64_t number) const { return number >= 0 && number < size(); }

  std::unique_ptr<Transport> messages, answers;
  std::shared_ptr<PeerMemory> memory;
  std::vector<int64_t> members;
  int64_t nextOffer = 0;
};

} // namespace

std::unique_ptr<Transport> createPullTransport(std::unique_ptr<Transport> messages, std::unique_ptr<Transport> answers,
                                               std::shared_ptr<PeerMemory> memory) {
  std::vector<int64_t> members(messages->size());
  std::iota(members.begin(), members.end(), 0);
  return std::make_unique<PullTransport>(std::move(messages), std::move(answers), std::move(memory),
                                         std::move(members));
}

} // namespace splitcast::runtime
