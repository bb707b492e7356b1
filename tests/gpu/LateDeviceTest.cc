//===- LateDeviceTest.cc - What a device whose streams run late or early shows ---===//
#include "tests/gpu/LateDevice.h"

#include "runtime/host/HostDevice.h"

#include <functional>
#include <gtest/gtest.h>
#include <vector>

namespace splitcast::gpu_tests {
namespace {

using runtime::Buffer;
using runtime::Event;
using runtime::Stream;

/// A byte that a stream "compute" clears and another stream then copies; with an event between them, or without.
struct ClearThenCopy {
  ClearThenCopy(Early early, bool isOrdered)
      : host(runtime::createHostDevice({})), device(createLateDevice(*host, early)) {
    for (Buffer *buffer : {&source, &target})
      *buffer = *device->allocate(64);
    const std::byte one[64] = {std::byte(1)};
    EXPECT_TRUE(device->upload(source, one).ok() && device->upload(target, one).ok());
    compute = *device->createStream("compute");
    other = *device->createStream("other");
    EXPECT_TRUE(device->clear(source, *compute).ok());
    if (isOrdered)
      EXPECT_TRUE(other->waitFor(*compute->record()).ok());
    EXPECT_TRUE(device->copy(target, source, *other).ok());
  }
  ~ClearThenCopy() {
    device->release(source);
    device->release(target);
  }
  /// What was copied, once both are done.
  int copied() {
    EXPECT_TRUE(other->synchronize().ok() && compute->synchronize().ok());
    std::byte values[64];
    EXPECT_TRUE(device->download(values, target).ok());
    return static_cast<int>(values[0]);
  }

  std::unique_ptr<runtime::Device> host, device;
  Buffer source, target;
  std::unique_ptr<Stream> compute, other;
};

TEST(LateDevice, WhatIsOrderedIsTheSameInEveryMode) {
  for (Early early : {Early::None, Early::Compute, Early::OtherStreams})
    EXPECT_EQ(ClearThenCopy(early, true).copied(), 0);
}

TEST(LateDevice, WhatIsNotOrderedShows) {
  EXPECT_EQ(ClearThenCopy(Early::OtherStreams, false).copied(), 1);
  EXPECT_EQ(ClearThenCopy(Early::None, false).copied(), 1); // the first that is waited for runs first
  EXPECT_EQ(ClearThenCopy(Early::Compute, false).copied(), 0);
}

TEST(LateDevice, TheHostMayNotCopyWhileWorkIsPending) {
  ClearThenCopy late(Early::None, true);
  std::byte values[64] = {};
  EXPECT_EQ(late.device->upload(late.source, values).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(late.device->download(values, late.target).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(late.copied(), 0);
}

/// `other` copies what `compute` cleared, as often as it is replayed; waited for at the end, or not.
struct CapturedCopy {
  CapturedCopy(Early early, bool isJoined) : late(early, true) {
    EXPECT_EQ(late.copied(), 0);
    auto captured = late.device->capture(*late.compute, [&] {
      absl::Status status = late.device->clear(late.source, *late.compute);
      status.Update(late.other->waitFor(*late.compute->record()));
      status.Update(late.device->copy(late.target, late.source, *late.other));
      if (isJoined)
        status.Update(late.compute->waitFor(*late.other->record()));
      return status;
    });
    status = captured.status();
    if (captured.ok())
      work = *std::move(captured);
  }
  void fillSource() {
    const std::byte one[64] = {std::byte(1)};
    EXPECT_TRUE(late.device->upload(late.source, one).ok() && late.device->upload(late.target, one).ok());
  }

  ClearThenCopy late;
  absl::Status status;
  std::unique_ptr<runtime::CapturedWork> work;
};

TEST(LateDevice, CapturedWorkIsDoneWhenItIsReplayed) {
  for (Early early : {Early::None, Early::Compute, Early::OtherStreams}) {
    CapturedCopy captured(early, true);
    ASSERT_TRUE(captured.status.ok()) << captured.status;
    for (int run = 0; run < 2; ++run) {
      captured.fillSource();
      EXPECT_EQ(captured.late.copied(), 1); // nothing was done yet
      ASSERT_TRUE(captured.work->replay(*captured.late.compute).ok());
      EXPECT_EQ(captured.late.copied(), 0);
    }
  }
}

TEST(LateDevice, AStreamThatWasCapturedMustBeWaitedFor) {
  EXPECT_EQ(CapturedCopy(Early::None, false).status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST(LateDevice, NothingWaitsForWorkThatIsCaptured) {
  ClearThenCopy late(Early::None, true);
  EXPECT_EQ(late.copied(), 0);
  const Event before = *late.compute->record();
  for (const std::function<absl::Status()> &wait : std::vector<std::function<absl::Status()>>{
           [&] { return late.compute->synchronize(); }, [&] { return late.compute->waitFor(before); },
           [&] { return (*late.compute->record())->wait(); }})
    EXPECT_EQ(late.device->capture(*late.compute, wait).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(late.compute->synchronize().ok()); // the stream is as before
}

} // namespace
} // namespace splitcast::gpu_tests
