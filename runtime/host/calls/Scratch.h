//===- Scratch.h - Memory that a thread lends to the call that runs on it -----------===//
#ifndef SPLITCAST_RUNTIME_HOST_CALLS_SCRATCH_H
#define SPLITCAST_RUNTIME_HOST_CALLS_SCRATCH_H

#include <cstddef>
#include <cstdint>
#include <memory>

namespace splitcast::runtime {

/// At least so many bytes, of unknown contents, aligned to a line of the cache, until this thread asks again. It keeps
/// as much as any call has asked for: no call of a second step allocates.
inline std::byte *scratchOfThread(int64_t bytes) {
  constexpr int64_t kLine = 64;
  static thread_local std::unique_ptr<std::byte[]> memory;
  static thread_local int64_t size = 0;
  if (bytes > size) {
    memory.reset(); // before the larger one is there
    memory.reset(new std::byte[bytes + kLine]);
    size = bytes;
  }
  const auto address = reinterpret_cast<uintptr_t>(memory.get());
  return memory.get() + (kLine - address % kLine) % kLine;
}

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_CALLS_SCRATCH_H
