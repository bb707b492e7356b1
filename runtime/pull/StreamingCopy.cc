#include "runtime/pull/StreamingCopy.h"

#include <atomic>
#include <cstring>

namespace splitcast::runtime {
namespace {

/// Shorter copies go through the cache, since they are often read again soon.
constexpr int64_t kStreamedBytes = 256 << 10;

using Vector = float __attribute__((vector_size(16)));
constexpr int64_t kLineBytes = 64;
constexpr int64_t kVectorsOfLine = kLineBytes / static_cast<int64_t>(sizeof(Vector));

void copyLines(std::byte *to, const std::byte *from, int64_t lines) {
  for (; lines > 0; --lines, to += kLineBytes, from += kLineBytes) {
    Vector line[kVectorsOfLine];
    std::memcpy(line, from, kLineBytes);
    for (int64_t i = 0; i < kVectorsOfLine; ++i)
      __builtin_nontemporal_store(line[i], reinterpret_cast<Vector *>(to) + i);
  }
}

} // namespace

void streamingCopy(std::byte *to, const std::byte *from, int64_t bytes) {
  if (bytes < kStreamedBytes) {
    if (bytes > 0)
      std::memcpy(to, from, bytes);
    return;
  }
  const int64_t before = -reinterpret_cast<uintptr_t>(to) % kLineBytes;
  const int64_t lines = (bytes - before) / kLineBytes, middle = lines * kLineBytes;
  std::memcpy(to, from, before);
  copyLines(to + before, from + before, lines);
  std::memcpy(to + before + middle, from + before + middle, bytes - before - middle);
  // Nontemporal stores are not ordered with others until this fence. Whoever
  // learns that the copy is done may then read it.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

} // namespace splitcast::runtime
