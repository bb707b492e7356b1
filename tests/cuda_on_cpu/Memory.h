//===- Memory.h - The memory of the emulated GPU ----------------------------------------------------------===//
//
// All bytes that the device reads or writes must belong to live allocations while it does so. New memory is filled with
// a pattern. The device can also access page-locked memory of the host.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_CUDA_ON_CPU_MEMORY_H
#define SPLITCAST_TESTS_CUDA_ON_CPU_MEMORY_H

#include "tests/cuda_on_cpu/ptx/Ptx.h"

#include <map>
#include <mutex>

namespace splitcast::cuda_on_cpu {

enum class MemoryKind { Device, PageLocked };

/// The allocations of this process. It is thread-safe.
class Memory : public GlobalMemory {
public:
  static Memory &get();

  /// Allocates memory, aligned to `alignment` bytes. Returns null if there is not enough left;
  /// SPLITCAST_CUDA_ON_CPU_BYTES limits device memory.
  void *allocate(size_t bytes, size_t alignment, MemoryKind kind);
  /// Releases an allocation. Returns false if `data` is not one of this kind. Null is allowed.
  bool release(void *data, MemoryKind kind);

  Range rangeOf(uint64_t address) const override;
  /// Checks that all bytes belong to one allocation; with 0 bytes it always succeeds.
  ///   Errors  InvalidArgument, with `what` in the message.
  absl::Status check(const void *data, size_t bytes, absl::string_view what) const;

  /// The bytes of device memory that are allocated now, and the most that were allocated at a time.
  int64_t deviceBytes() const;
  int64_t mostDeviceBytes() const;

private:
  struct Allocation {
    size_t bytes;
    MemoryKind kind;
  };

  mutable std::mutex mutex;
  std::map<uint64_t, Allocation> allocations;
  int64_t now = 0, most = 0;
};

} // namespace splitcast::cuda_on_cpu

#endif // SPLITCAST_TESTS_CUDA_ON_CPU_MEMORY_H
