//===- LateDeviceTest.cc - What a device whose streams run late or early shows ---===//
#include "tests/gpu/LateDevice.h"

#include "runtime/host/HostDevice.h"

#include <gtest/gtest.h>

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

} // namespace
} // namespace splitcast::gpu_tests
