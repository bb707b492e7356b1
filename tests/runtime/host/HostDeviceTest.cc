#include "runtime/host/HostDevice.h"

#include "tests/runtime/host/KernelFixture.h"

#include "gmock/gmock.h"

#include <cstring>

namespace splitcast::runtime {
namespace {

using testing::HasSubstr;

class HostDeviceTest : public KernelFixture {};

TEST_F(HostDeviceTest, AllocatesAlignedMemory) {
  for (int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{4097}, int64_t{2} << 20, (int64_t{5} << 20) + 3}) {
    auto buffer = device->allocate(bytes);
    ASSERT_TRUE(buffer.ok()) << buffer.status();
    EXPECT_EQ(buffer->bytes, bytes);
    int64_t alignment = bytes >= 2 << 20 ? 2 << 20 : 4096;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data) % alignment, 0u) << bytes;
    std::memset(buffer->data, 0x5A, bytes);
    device->release(*buffer);
  }
}

// Lazily touched: a terabyte-sized reservation may or may not be granted, an address space never is.
TEST_F(HostDeviceTest, NamesTheBytesItCouldNotGet) {
  auto buffer = device->allocate(int64_t{1} << 62);
  EXPECT_EQ(buffer.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(buffer.status().message()), HasSubstr("4611686018427387904 bytes"));
  auto space = device->allocate((int64_t{1} << 47) - 1);
  EXPECT_EQ(space.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(space.status().message()), HasSubstr("140737488355327 bytes"));
  EXPECT_EQ(device->allocate(-1).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(device->allocateHost(-1).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(HostDeviceTest, CopiesClearsUploadsAndDownloads) {
  auto a = *device->allocate(16), b = *device->allocate(16);
  char text[17] = "0123456789abcdef", back[17] = {};
  ASSERT_EQ(device->upload(a, text), absl::OkStatus());
  ASSERT_EQ(device->copy(b, a, *stream), absl::OkStatus());
  ASSERT_EQ(device->clear(b.slice(4, 4), *stream), absl::OkStatus());
  ASSERT_EQ(device->download(back, b), absl::OkStatus());
  EXPECT_EQ(std::memcmp(back, "0123\0\0\0\089abcdef", 16), 0);
  EXPECT_EQ(device->copy(b.slice(0, 8), a, *stream).code(), absl::StatusCode::kInvalidArgument);
  device->release(a);
  device->release(b);
}

struct FailedEvent : EventState {
  absl::Status wait() override { return absl::DeadlineExceededError("rank 3 is late"); }
};

TEST_F(HostDeviceTest, EventsHaveFiredWhenRecorded) {
  auto event = stream->record();
  ASSERT_TRUE(event.ok());
  EXPECT_EQ((*event)->wait(), absl::OkStatus());
  auto other = *device->createStream("comm");
  EXPECT_EQ(other->waitFor(*event), absl::OkStatus());
  EXPECT_EQ(other->synchronize(), absl::OkStatus());
  EXPECT_EQ(other->waitFor(nullptr).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(HostDeviceTest, AFailedEventStaysTheStreamsFirstError) {
  auto failed = std::make_shared<FailedEvent>();
  EXPECT_EQ(stream->waitFor(failed), absl::DeadlineExceededError("rank 3 is late"));
  EXPECT_EQ(stream->waitFor(*(*device->createStream("x"))->record()), absl::OkStatus());
  EXPECT_EQ(stream->synchronize(), absl::DeadlineExceededError("rank 3 is late"));
  EXPECT_EQ((*stream->record())->wait(), absl::DeadlineExceededError("rank 3 is late"));
}

class GuardedDeviceTest : public KernelFixture {
protected:
  GuardedDeviceTest() { device = createHostDevice({1, "", /*guardPages=*/true}); }
};

TEST_F(GuardedDeviceTest, AllocationsEndAtTheGuard) {
  for (int64_t bytes : {int64_t{0}, int64_t{12}, int64_t{4096}, int64_t{3} << 20}) {
    auto buffer = device->allocate(bytes);
    ASSERT_TRUE(buffer.ok());
    std::memset(buffer->data, 1, bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data + bytes) % 4096, 0u);
    device->release(*buffer);
  }
}

using GuardedDeviceDeathTest = GuardedDeviceTest;

TEST_F(GuardedDeviceDeathTest, AKernelThatRunsPastItsBufferDies) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto good = loadKernel(elementwise(37, "f32", "f32", "%y = arith.addf %x, %x : f32"), "k");
  ASSERT_TRUE(good.ok());
  Buffer in = *device->allocate(37 * 4), out = *device->allocate(37 * 4);
  ASSERT_EQ((*good)->launch({in, out}, *stream), absl::OkStatus());
  Buffer claimed{out.data, 38 * 4};
  auto bad = loadKernel(elementwise(38, "f32", "f32", "%y = arith.addf %x, %x : f32"), "k");
  ASSERT_TRUE(bad.ok());
  EXPECT_DEATH((void)(*bad)->launch({Buffer{in.data, 38 * 4}, claimed}, *stream), "");
}

} // namespace
} // namespace splitcast::runtime
