//===- Memory.h - Allocations that stand for a GPU's memory -----------------------------------------------===//
//
// Every byte that work of the device reads or writes must lie in one of them while the work runs. New memory holds a
// pattern. Page-locked memory of the host counts as visible to the device.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_TESTS_CUDA_ON_CPU_MEMORY_H
#define SPLITCAST_TESTS_CUDA_ON_CPU_MEMORY_H

#include "tests/cuda_on_cpu/ptx/Ptx.h"

#include <map>
#include <mutex>

namespace splitcast::cuda_on_cpu {

enum class MemoryKind { Device, PageLocked };

/// Of this process. Thread-safe.
class Memory : public GlobalMemory {
public:
  static Memory &get();

  /// Aligned to `alignment` bytes; null if there is none left (SPLITCAST_CUDA_ON_CPU_BYTES limits the device's).
  void *allocate(size_t bytes, size_t alignment, MemoryKind kind);
  /// Whether `data` was an allocation of this kind. Null is.
  bool release(void *data, MemoryKind kind);

  Range rangeOf(uint64_t address) const override;
  /// InvalidArgument, with `what` in its text, unless all bytes lie in one allocation. No bytes may lie anywhere.
  absl::Status check(const void *data, size_t bytes, absl::string_view what) const;

  /// Bytes of device memory: now, and the most there were.
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
