// Memory that other processes of the machine may map, and what one holds of another's.
#include "runtime/host/communicator/HostCommunicator.h"
#include "runtime/host/communicator/ThreadTransport.h"
#include "runtime/process/ViewedMemory.h"
#include "runtime/pull/PullTransport.h"
#include "runtime/pull/StreamingCopy.h"
#include "tests/runtime/conformance/NullStream.h"
#include "tests/runtime/pull/TwoRanks.h"

#include <cstddef>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <limits>
#include <sstream>
#include <sys/resource.h>
#include <thread>

namespace splitcast::runtime {
namespace {

constexpr int64_t kMegabyte = 1 << 20;

HostMemoryOptions shared() {
  HostMemoryOptions options;
  options.isShared = true;
  return options;
}

TEST(HostMemory, FindsWhatLiesInSharedMemory) {
  HostMemory memory(shared());
  const Buffer one = *memory.allocate(3 * kMegabyte + 5), other = *memory.allocate(100);
  const auto place = memory.find(one.data + 7, 3 * kMegabyte - 2);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->offset, 7);
  EXPECT_GE(place->fileBytes, one.bytes);
  ASSERT_TRUE(memory.find(other.data, 100));
  EXPECT_NE(memory.find(other.data, 100)->identity, place->identity);
  // To the end of its last page, and no further.
  EXPECT_TRUE(memory.find(one.data, 3 * kMegabyte + 4096));
  EXPECT_FALSE(memory.find(one.data, 3 * kMegabyte + 4097));
  EXPECT_FALSE(memory.find(one.data - 1, 1));
  const int local = 0;
  EXPECT_FALSE(memory.find(reinterpret_cast<const std::byte *>(&local), 4));
  memory.release(one);
  EXPECT_FALSE(memory.find(one.data, 1));
}

TEST(HostMemory, IsAlignedAndZeroAtFirst) {
  HostMemory memory(shared());
  for (int64_t bytes : {int64_t{0}, int64_t{1}, kMegabyte, 2 * kMegabyte, 5 * kMegabyte + 1}) {
    const Buffer buffer = *memory.allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data) % (bytes < 2 * kMegabyte ? 4096 : 2 * kMegabyte), 0u) << bytes;
    for (int64_t i = 0; i < bytes; ++i)
      ASSERT_EQ(buffer.data[i], std::byte{0}) << i << " of " << bytes;
    std::memset(buffer.data, 1, bytes);
  }
}

TEST(HostMemory, PopulatingKeepsWhatIsThere) {
  for (const HostMemoryOptions &options : {HostMemoryOptions(), shared()}) {
    HostMemory memory(options);
    const Buffer buffer = *memory.allocate(5 * kMegabyte + 1);
    for (int64_t at = 0; at < buffer.bytes; at += kMegabyte)
      buffer.data[at] = std::byte(at / kMegabyte + 1);
    ASSERT_EQ(memory.populate(buffer), absl::OkStatus());
    for (int64_t at = 0; at < buffer.bytes; ++at)
      ASSERT_EQ(buffer.data[at], at % kMegabyte ? std::byte{0} : std::byte(at / kMegabyte + 1)) << at;
  }
}

TEST(HostMemory, PrivateMemoryIsNotFound) {
  HostMemoryOptions guarded = shared();
  guarded.guardPages = true;
  for (const HostMemoryOptions &options : {HostMemoryOptions(), guarded}) {
    HostMemory memory(options);
    const Buffer buffer = *memory.allocate(4 * kMegabyte);
    EXPECT_FALSE(memory.find(buffer.data, 1));
  }
}

// A process that writes a file longer than it may is ended by the system.
TEST(HostMemory, IsPrivateWhereFilesMayNotBeSoLong) {
  rlimit was{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &was), 0);
  rlimit narrow = was;
  narrow.rlim_cur = kMegabyte;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &narrow), 0);
  HostMemory memory(shared());
  const Buffer large = *memory.allocate(4 * kMegabyte), small = *memory.allocate(kMegabyte);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &was), 0);
  std::memset(large.data, 1, large.bytes);
  EXPECT_FALSE(memory.find(large.data, 1));
  EXPECT_TRUE(memory.find(small.data, 1));
}

TEST(HostMemory, MoreThanThereIsIsRefused) {
  HostMemory memory(shared());
  const absl::Status status = memory.allocate((int64_t{1} << 47) - 1).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_NE(status.message().find("140737488355327 bytes"), absl::string_view::npos) << status;
}

TEST(HostMemory, TellsOfReleases) {
  HostMemory memory(shared());
  int releases = 0;
  memory.onRelease([&] { ++releases; });
  const Buffer buffer = *memory.allocate(100);
  memory.release({buffer.data + 1, 1}); // nothing that it gave out
  EXPECT_EQ(releases, 0);
  memory.release(buffer);
  EXPECT_EQ(releases, 1);
}

/// Bytes of files without a name that this process has mapped and resident.
int64_t mappedBytes() {
  std::ifstream maps("/proc/self/smaps");
  bool isFile = false;
  int64_t kilobytes = 0;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string first;
    int64_t number = 0;
    words >> first;
    if (first.find('-') != std::string::npos)
      isFile = line.find("memfd:splitcast") != std::string::npos;
    else if (isFile && first == "Rss:" && words >> number)
      kilobytes += number;
  }
  return kilobytes * 1024;
}

TEST_F(TwoRanks, PagesCountWhileTheyAreViewed) {
  const Buffer buffer = *ranks[1]->memory()->allocate(64 * kMegabyte);
  ASSERT_EQ(ranks[1]->memory()->populate(buffer), absl::OkStatus());
  std::memset(buffer.data, 3, buffer.bytes);
  const int64_t own = mappedBytes();
  int64_t most = 0;
  for (int64_t at = 0; at < buffer.bytes; at += kMegabyte) {
    auto view = ranks[0]->view(1, *ranks[1]->memory()->find(buffer.data + at, kMegabyte), kMegabyte);
    ASSERT_TRUE(view.ok()) << view.status();
    for (int64_t i = 0; i < kMegabyte; i += 1000)
      ASSERT_EQ((*view)->data()[i], std::byte{3});
    most = std::max(most, mappedBytes() - own);
    EXPECT_GE(viewedMemory().read.bytes, mappedBytes() - own);
  }
  EXPECT_GE(most, kMegabyte);
  EXPECT_LE(most, 4 * kMegabyte);
  EXPECT_LE(viewedMemory().read.most, 4 * kMegabyte);
  EXPECT_LE(mappedBytes() - own, 2 * kMegabyte);
}

// What is viewed stays until the view ends, and what another rank has released takes no memory once this one releases.
TEST_F(TwoRanks, ReleasedMemoryGoes) {
  HostMemory &theirs = *ranks[1]->memory();
  Buffer buffer = *theirs.allocate(8 * kMegabyte), own = *ranks[0]->memory()->allocate(100);
  std::memset(buffer.data, 5, buffer.bytes);
  const SharedPlace place = *theirs.find(buffer.data, buffer.bytes);
  auto view = *ranks[0]->view(1, place, buffer.bytes);
  theirs.release(buffer);
  ranks[0]->memory()->release(own);
  EXPECT_EQ(view->data()[8 * kMegabyte - 1], std::byte{5});
  view.reset();
  EXPECT_EQ(mappedBytes(), 0);
  const absl::Status status = ranks[0]->view(1, place, buffer.bytes).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  // Other memory of that length, under the descriptor's number.
  const Buffer next = *theirs.allocate(buffer.bytes);
  ASSERT_EQ(theirs.find(next.data, next.bytes)->file, place.file);
  const absl::Status other = ranks[0]->view(1, place, buffer.bytes).status();
  EXPECT_TRUE(absl::IsUnavailable(other)) << other;
  EXPECT_NE(other.message().find("it is a different file by now"), absl::string_view::npos) << other;
}

// One copy of what a rank creates and others join: zeroed, seen by both, gone with the last.
TEST_F(TwoRanks, JoinedMemoryIsOneCopy) {
  std::string place;
  auto created = ranks[1]->create(5 * kMegabyte + 1, place);
  ASSERT_TRUE(created.ok() && *created) << created.status();
  auto joined = ranks[0]->join(1, place, 5 * kMegabyte + 1);
  ASSERT_TRUE(joined.ok()) << joined.status();
  const Buffer theirs = (*created)->buffer(), mine = (*joined)->buffer();
  ASSERT_EQ(theirs.bytes, 5 * kMegabyte + 1);
  ASSERT_EQ(mine.bytes, theirs.bytes);
  ASSERT_NE(mine.data, theirs.data);
  EXPECT_LT(mappedBytes(), 5 * kMegabyte);
  EXPECT_EQ((*created)->populate(), absl::OkStatus());
  EXPECT_EQ((*joined)->populate(), absl::OkStatus());
  EXPECT_EQ(mappedBytes(), 2 * (5 * kMegabyte + 4096)); // its pages are there
  for (int64_t at = 0; at < mine.bytes; ++at)
    ASSERT_EQ(mine.data[at], std::byte{0}) << at;
  for (int64_t at : {int64_t{0}, 2 * kMegabyte - 1, 5 * kMegabyte}) {
    mine.data[at] = std::byte{3};
    EXPECT_EQ(theirs.data[at], std::byte{3}) << at;
    theirs.data[at] = std::byte{4};
    EXPECT_EQ(mine.data[at], std::byte{4}) << at;
  }
  created->reset();
  EXPECT_EQ(mine.data[5 * kMegabyte], std::byte{4}); // as long as one has it
  EXPECT_TRUE(absl::IsUnavailable(ranks[0]->join(1, place, 5 * kMegabyte + 1).status()));
  joined->reset();
  EXPECT_EQ(mappedBytes(), 0);
}

TEST_F(TwoRanks, OnlyWhatWasCreatedIsJoined) {
  std::string place;
  auto created = *ranks[1]->create(1000, place);
  for (const std::string &wrong : {std::string(), std::string("1 2"), place + " 1", std::string("x 1 2")}) {
    const absl::Status status = ranks[0]->join(1, wrong, 1000).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << wrong << ": " << status;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(ranks[0]->join(1, place, 4097).status())); // it has a page
  EXPECT_TRUE(ranks[0]->join(1, place, 1000).ok());
}

// An offer names bytes of one allocation, however large its numbers are.
TEST_F(TwoRanks, OnlyWhatWasAllocatedIsViewed) {
  const Buffer data = *ranks[1]->memory()->allocate(kMegabyte);
  const SharedPlace whole = *ranks[1]->memory()->find(data.data, kMegabyte);
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  for (const auto &[offset, bytes] : {std::pair<int64_t, int64_t>{0, kMegabyte + 1},
                                      {1, kMegabyte},
                                      {kMegabyte, 1},
                                      {-1, 10},
                                      {-kLargest, kLargest},
                                      {kLargest, kLargest},
                                      {10, -5},
                                      {0, kLargest}}) {
    SharedPlace place = whole;
    place.offset = offset;
    const absl::Status status = ranks[0]->view(1, place, bytes).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << offset << " " << bytes << ": " << status;
    // The owner's size is that of the file, whatever the offer says of it.
    place.fileBytes = kLargest;
    EXPECT_FALSE(ranks[0]->view(1, place, bytes).ok()) << offset << " " << bytes;
  }
  EXPECT_TRUE(ranks[0]->view(1, whole, kMegabyte).ok());
}

/// With a transport for each rank, which one thread drives in turns.
class TwoTransports : public TwoRanks {
protected:
  void SetUp() override {
    TwoRanks::SetUp();
    if (IsSkipped())
      return;
    auto messages = createThreadTransports(2), answers = createThreadTransports(2);
    for (int rank = 0; rank < 2; ++rank)
      transports[rank] = createPullTransport(std::move(messages[rank]), std::move(answers[rank]), ranks[rank]);
    shared = *ranks[1]->memory()->allocate(kMegabyte);
    std::memset(shared.data, 9, kMegabyte);
  }

  std::unique_ptr<Transport> transports[2];
  Buffer shared; ///< of rank 1
  std::vector<std::byte> room = std::vector<std::byte>(kMegabyte),
                         heap = std::vector<std::byte>(kMegabyte, std::byte{4});
};

TEST_F(TwoTransports, ReadsWhereItLiesAndSaysSo) {
  auto sent = *transports[1]->send(0, 5, shared.data, kMegabyte);
  auto reading = *transports[0]->read(1, 5, room.data(), kMegabyte);
  ASSERT_EQ(*reading->test(), true);
  EXPECT_EQ(reading->data()[kMegabyte - 1], std::byte{9});
  shared.data[7] = std::byte{8};
  EXPECT_EQ(reading->data()[7], std::byte{8});
  EXPECT_EQ(*sent->test(), false);
  reading->release();
  EXPECT_EQ(*reading->test(), true);
  EXPECT_EQ(*sent->test(), true);
  EXPECT_EQ(room, std::vector<std::byte>(kMegabyte));
}

TEST_F(TwoTransports, WhatLiesElsewhereFollows) {
  auto sent = *transports[1]->send(0, 5, heap.data(), kMegabyte);
  auto reading = *transports[0]->read(1, 5, room.data(), kMegabyte);
  ASSERT_EQ(*reading->test(), true);
  EXPECT_EQ(reading->data(), room.data());
  EXPECT_EQ(room, heap);
  EXPECT_EQ(*sent->test(), true);
  reading->release();
  EXPECT_EQ(*reading->test(), true);
}

TEST_F(TwoTransports, ReceiveBringsIt) {
  auto sent = *transports[1]->send(0, 5, shared.data, kMegabyte);
  auto other = *transports[1]->send(0, 5, heap.data(), kMegabyte);
  for (std::byte expected : {std::byte{9}, std::byte{4}}) {
    auto received = *transports[0]->receive(1, 5, room.data(), kMegabyte);
    ASSERT_EQ(*received->test(), true);
    EXPECT_EQ(room, std::vector<std::byte>(kMegabyte, expected));
  }
  EXPECT_EQ(*sent->test(), true);
  EXPECT_EQ(*other->test(), true);
}

// Of another length than is expected; the sender is done with it.
TEST_F(TwoTransports, AnErrorStays) {
  for (const std::byte *data : {shared.data, heap.data()}) {
    auto sent = *transports[1]->send(0, 5, data, kMegabyte);
    auto received = *transports[0]->receive(1, 5, room.data(), kMegabyte / 2);
    for (int time = 0; time < 2; ++time)
      EXPECT_EQ(received->test().status().code(), absl::StatusCode::kInvalidArgument) << time;
    EXPECT_EQ(*sent->test(), true);
  }
}

// An offer whose numbers no rank makes is an error, before memory or a tag is made of them.
TEST_F(TwoRanks, OffersAreChecked) {
  auto messages = createThreadTransports(2), answers = createThreadTransports(2);
  const auto receiver = createPullTransport(std::move(messages[0]), std::move(answers[0]), ranks[0]);
  std::vector<std::byte> room(kMegabyte);
  struct Offer {
    SharedPlace place;
    int64_t bytes, number;
    char end = 0;
  };
  for (const auto &[bytes, number] :
       {std::pair<int64_t, int64_t>{-1, 0}, {0, 0}, {int64_t{1} << 40, 0}, {kMegabyte, -1}, {kMegabyte, 1 << 20}}) {
    const Offer offer{{}, bytes, number};
    auto sent = *messages[1]->send(0, 5, reinterpret_cast<const std::byte *>(&offer), offsetof(Offer, end) + 1);
    auto received = *receiver->receive(1, 5, room.data(), kMegabyte);
    for (int time = 0; time < 2; ++time)
      EXPECT_TRUE(absl::IsInvalidArgument(received->test().status())) << bytes << " " << number;
  }
}

/// What it lets read lies elsewhere, and is gone once it is released.
class FleetingTransport final : public Transport {
public:
  explicit FleetingTransport(std::unique_ptr<Transport> messages) : messages(std::move(messages)) {}
  int64_t rank() const override { return messages->rank(); }
  int64_t size() const override { return messages->size(); }
  absl::Status health() override { return messages->health(); }
  absl::StatusOr<std::unique_ptr<Message>> send(int64_t to, int tag, const std::byte *data, int64_t bytes,
                                                const Frame &frame) override {
    return messages->send(to, tag, data, bytes, frame);
  }
  absl::StatusOr<std::unique_ptr<Message>> receive(int64_t from, int tag, std::byte *data, int64_t bytes,
                                                   const Frame &frame) override {
    return messages->receive(from, tag, data, bytes, frame);
  }
  absl::StatusOr<std::unique_ptr<Reading>> read(int64_t from, int tag, std::byte *, int64_t bytes,
                                                const Frame &frame) override {
    auto reading = std::make_unique<Fleeting>(bytes);
    reading->received = *messages->receive(from, tag, reading->contents.data(), bytes, frame);
    return reading;
  }
  absl::StatusOr<std::unique_ptr<Transport>> split(const std::vector<int64_t> &ranks) override {
    return absl::UnimplementedError("not here");
  }

private:
  struct Fleeting final : Reading {
    explicit Fleeting(int64_t bytes) : contents(bytes) {}
    absl::StatusOr<bool> test() override { return received->test(); }
    const std::byte *data() const override { return contents.data(); }
    void release() override { std::fill(contents.begin(), contents.end(), std::byte{0xFF}); }
    std::unique_ptr<Message> received;
    std::vector<std::byte> contents;
  };
  std::unique_ptr<Transport> messages;
};

// Of several chunks; the workspace, where addends would else lie, stays as it was.
TEST(Reductions, AddWhatLiesElsewhereBeforeTheyReleaseIt) {
  constexpr int64_t kRanks = 3, kElements = 700'000;
  auto transports = createThreadTransports(kRanks);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([&, rank] {
      auto communicator = createHostCommunicator(std::make_unique<FleetingTransport>(std::move(transports[rank])), {});
      std::vector<float> data(kElements * kRanks), workspace(8 << 20, 7.0f);
      for (size_t i = 0; i < data.size(); ++i)
        data[i] = static_cast<float>(i % 1000 + rank);
      NullStream stream;
      auto bufferOf = [](std::vector<float> &of) {
        return Buffer{reinterpret_cast<std::byte *>(of.data()), static_cast<int64_t>(of.size() * sizeof(float))};
      };
      const Buffer all = bufferOf(data), own = all.slice(rank * kElements * 4, kElements * 4);
      auto event = communicator->reduceScatter(all, std::vector<int64_t>(kRanks, kElements), ElementType::F32, own,
                                               bufferOf(workspace), stream, {"sum"});
      ASSERT_TRUE(event.ok()) << event.status();
      ASSERT_EQ((*event)->wait(), absl::OkStatus());
      for (int64_t i = rank * kElements; i < (rank + 1) * kElements; ++i)
        ASSERT_EQ(data[i], static_cast<float>(3 * (i % 1000) + 3)) << i;
      EXPECT_EQ(workspace, std::vector<float>(8 << 20, 7.0f));
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(StreamingCopy, CopiesFromAnywhereToAnywhere) {
  constexpr int64_t kMost = 300'000;
  std::vector<std::byte> from(kMost + 200), to(kMost + 200);
  for (int64_t i = 0; i < static_cast<int64_t>(from.size()); ++i)
    from[i] = std::byte(i * 7 + i / 251);
  for (int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{5000}, int64_t{256 << 10}, int64_t{(256 << 10) + 1}, kMost})
    for (int64_t source : {0, 3, 64})
      for (int64_t target : {0, 1, 63, 64, 65}) {
        std::fill(to.begin(), to.end(), std::byte{0xA5});
        streamingCopy(to.data() + target, from.data() + source, bytes);
        ASSERT_EQ(std::memcmp(to.data() + target, from.data() + source, bytes), 0) << bytes << " to " << target;
        for (int64_t i = 0; i < static_cast<int64_t>(to.size()); ++i)
          if (i < target || i >= target + bytes)
            ASSERT_EQ(to[i], std::byte{0xA5}) << i << ", " << bytes << " to " << target;
      }
}

} // namespace
} // namespace splitcast::runtime
