//===- Scratch.h - Scratch memory of a thread ---------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_CALLS_SCRATCH_H
#define SPLITCAST_RUNTIME_HOST_CALLS_SCRATCH_H

#include <cstddef>
#include <cstdint>
#include <memory>

namespace splitcast::runtime {

/// Returns at least this many bytes with unknown contents, aligned to a cache line. They belong to the caller until
/// this thread asks again. The thread keeps the most that any call has asked for, so that the second step allocates
/// nothing.
inline std::byte *scratchOfThread(int64_t bytes) {
  constexpr int64_t kLine = 64;
  static thread_local std::unique_ptr<std::byte[]> memory;
  static thread_local int64_t size = 0;
  if (bytes > size) {
    memory.reset(); // first, so that both are never there at once
    memory.reset(new std::byte[bytes + kLine]);
    size = bytes;
  }
  const auto address = reinterpret_cast<uintptr_t>(memory.get());
  return memory.get() + (kLine - address % kLine) % kLine;
}

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_CALLS_SCRATCH_H
