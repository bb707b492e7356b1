//===- OffersFuzzTest.cc - Offers and notices that no rank sends --------------===//
//
// Damaged offers of memory (PullTransport.h) and notices of errors, drawn as tests/runtime/tcp/Strangers.h says. An
// offer gives the receiver nothing but bytes of memory that its sender has registered.
//
//===----------------------------------------------------------------------===//
#include "runtime/host/communicator/HostCommunicator.h"
#include "runtime/host/communicator/HostCommunicatorNotices.h"
#include "runtime/host/communicator/ThreadTransport.h"
#include "runtime/pull/PullTransport.h"
#include "tests/runtime/pull/TwoRanks.h"
#include "tests/runtime/tcp/Strangers.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

namespace splitcast::runtime {
namespace {

constexpr int64_t kBytes = int64_t{64} << 10;
constexpr int kTag = 5;

/// An offer as it travels, but for its last byte.
struct Offer {
  SharedPlace place;
  int64_t bytes, number;
  std::string text() const { return std::string(reinterpret_cast<const char *>(this), sizeof(*this)) + '\0'; }
};
static_assert(sizeof(Offer) == 48, "without padding");

const std::byte *bytesOf(const std::string &text) { return reinterpret_cast<const std::byte *>(text.data()); }

class OffersFuzz : public TwoRanks {
protected:
  void SetUp() override {
    TwoRanks::SetUp();
    if (IsSkipped())
      return;
    shared = *ranks[1]->memory()->allocate(kBytes);
    std::memset(shared.data, 9, kBytes);
    place = *ranks[1]->memory()->find(shared.data, kBytes);
    ASSERT_EQ(pipe(ends), 0);
  }
  ~OffersFuzz() override {
    for (int end : ends)
      close(end);
  }

  /// Returns an offer, mostly of the shared memory, with some numbers as strangers like them.
  Offer drawOffer(Draw &draw) const {
    Offer offer{place, kBytes / 2, draw.below(16384)};
    offer.place.offset = draw.below(kBytes / 2);
    if (draw.once(6))
      offer.place.file = draw.once(2) ? ends[draw.below(2)] : draw.number();
    if (draw.once(6))
      offer.place.identity = draw.word();
    if (draw.once(6))
      offer.place.fileBytes = draw.number();
    if (draw.once(6))
      offer.place.offset = draw.number();
    if (draw.once(6))
      offer.bytes = draw.once(2) ? draw.number() : draw.below(2 * kBytes);
    if (draw.once(6))
      offer.number = draw.number();
    return offer;
  }
  /// Returns whether it names bytes of the shared memory, as many as are expected. Which file that is, its identity
  /// says; the descriptor is not looked at any more once the file is mapped.
  bool isOfRank(const Offer &offer) const {
    return offer.place.file >= 0 && offer.place.identity == place.identity && offer.place.offset >= 0 &&
           offer.place.offset <= kBytes - offer.bytes && offer.bytes == kBytes / 2 && offer.number >= 0 &&
           offer.number < 16384;
  }

  Buffer shared; ///< of rank 1
  SharedPlace place;
  int ends[2] = {-1, -1}; ///< of a pipe: nothing that may be mapped or waited for
};

TEST_F(OffersFuzz, OnlyRegisteredBytesAreRead) {
  int64_t taken = 0, refused = 0;
  forEachMessage([&](Draw &draw) {
    auto messages = createThreadTransports(2), answers = createThreadTransports(2);
    const auto receiver = createPullTransport(std::move(messages[0]), std::move(answers[0]), ranks[0]);
    const Offer offer = drawOffer(draw);
    const std::string whole = offer.text();
    std::string sent = whole;
    if (draw.once(4))
      damage(sent, draw);
    std::vector<std::byte> room(kBytes / 2, std::byte{1});
    auto received = *receiver->receive(1, kTag, room.data(), kBytes / 2);
    auto message = *messages[1]->send(0, kTag, bytesOf(sent), static_cast<int64_t>(sent.size()));
    absl::StatusOr<bool> done = false;
    for (int time = 0; time < 3 && done.ok() && !*done; ++time)
      done = received->test();
    const bool isTaken = done.ok() && *done;
    const bool isWhole = offer.place.file == place.file && offer.place.fileBytes == place.fileBytes;
    if (sent == whole && (isWhole || !isOfRank(offer)))
      EXPECT_EQ(isTaken, isOfRank(offer)) << done.status();
    const std::byte expected{isTaken ? uint8_t{9} : uint8_t{1}};
    EXPECT_EQ(std::count(room.begin(), room.end(), expected), kBytes / 2) << "bytes of nothing that rank 1 has";
    ++(isTaken ? taken : refused);
  });
  EXPECT_GT(taken, 0);
  EXPECT_GT(refused, 0);
}

/// A notice as it travels.
struct Wire {
  int64_t from = 1, with = 2;
  char call[Notice::kTextBytes], clause[Notice::kTextBytes];
};

// Any bytes are numbers and two texts, which end where they have room; a message of another length is none, and a
// notice of another rank arrives all the same.
TEST(NoticesFuzz, TextsEnd) {
  forEachMessage([](Draw &draw) {
    auto transports = createThreadTransports(3);
    Notices receiver, other;
    EXPECT_FALSE(receiver.receive(*transports[0]));
    Wire wire;
    wire.from = draw.number();
    wire.with = draw.number();
    const std::string texts =
        draw.once(2) ? std::string(2 * Notice::kTextBytes, 'x') : draw.bytes(2 * Notice::kTextBytes);
    std::memcpy(wire.call, texts.data(), sizeof(wire.call));
    std::memcpy(wire.clause, texts.data() + sizeof(wire.call), sizeof(wire.clause));
    std::string sent(reinterpret_cast<const char *>(&wire), sizeof(wire));
    if (draw.once(2))
      damage(sent, draw);
    const bool hasLength = sent.size() == sizeof(wire);
    std::memcpy(&wire, sent.data(), std::min(sent.size(), sizeof(wire)));
    auto message = *transports[1]->send(0, kNoticeTag, bytesOf(sent), static_cast<int64_t>(sent.size()));
    const bool isOfTwo = hasLength && wire.with != Notice::kNobody;
    const std::optional<Notice> notice = receiver.receive(*transports[0]);
    ASSERT_EQ(notice.has_value(), isOfTwo);
    if (notice) {
      EXPECT_EQ(notice->from, wire.from);
      EXPECT_EQ(notice->with, wire.with);
      EXPECT_EQ(notice->call, std::string(wire.call, strnlen(wire.call, sizeof(wire.call))));
      EXPECT_EQ(notice->clause, std::string(wire.clause, strnlen(wire.clause, sizeof(wire.clause))));
    }
    EXPECT_EQ(receiver.wordsOf(wire.from).has_value(), hasLength);
    other.send(*transports[2], {2, 0, "a call", "a clause"});
    const std::optional<Notice> next = receiver.receive(*transports[0]);
    ASSERT_TRUE(next.has_value());
    EXPECT_EQ(next->clause, "a clause");
  });
}

} // namespace
} // namespace splitcast::runtime
