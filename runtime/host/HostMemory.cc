#include "runtime/host/HostMemory.h"

#include "absl/strings/str_cat.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace splitcast::runtime {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kHugePageBytes = 2 << 20;
/// The size of an address space; no system gives more, and sums with it do not overflow.
constexpr int64_t kMaxBytes = int64_t{1} << 47;

size_t roundUp(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

absl::Status exhausted(int64_t bytes, const char *reason) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the system gave no ", bytes, " bytes of host memory (", reason, ")"));
}

/// Gives the bytes before and after [begin, end) back, so that the rest begins at a huge page.
void trim(std::byte *mapped, size_t mappedBytes, std::byte *begin, size_t bytes) {
  size_t before = begin - mapped;
  size_t after = mappedBytes - before - bytes;
  if (before)
    munmap(mapped, before);
  if (after)
    munmap(begin + bytes, after);
}

} // namespace

HostMemory::~HostMemory() {
  for (const auto &[data, mapping] : mappings)
    munmap(mapping.address, mapping.bytes);
}

absl::StatusOr<Buffer> HostMemory::allocate(int64_t bytes) {
  if (bytes < 0)
    return absl::InvalidArgumentError(absl::StrCat("cannot allocate ", bytes, " bytes"));
  if (bytes >= kMaxBytes)
    return exhausted(bytes, "more than an address space");

  bool huge = !guardPages && bytes >= static_cast<int64_t>(kHugePageBytes);
  size_t usedBytes = roundUp(bytes ? bytes : 1, kPageBytes);
  size_t mappedBytes = usedBytes + (guardPages ? kPageBytes : 0) + (huge ? kHugePageBytes : 0);
  void *address = mmap(nullptr, mappedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    return exhausted(bytes, std::strerror(errno));

  std::byte *data = static_cast<std::byte *>(address);
  Mapping mapping{address, mappedBytes};
  if (huge) {
    data = reinterpret_cast<std::byte *>(roundUp(reinterpret_cast<uintptr_t>(data), kHugePageBytes));
    trim(static_cast<std::byte *>(address), mappedBytes, data, usedBytes);
    mapping = {data, usedBytes};
    madvise(data, usedBytes, MADV_HUGEPAGE); // Only faster: without it every promise still holds.
  }
  if (guardPages) {
    if (mprotect(data + usedBytes, kPageBytes, PROT_NONE) != 0) {
      int error = errno;
      munmap(address, mappedBytes);
      return exhausted(bytes, std::strerror(error));
    }
    data += usedBytes - bytes;
  }
  std::lock_guard<std::mutex> lock(mutex);
  mappings[data] = mapping;
  return Buffer{data, bytes};
}

void HostMemory::release(Buffer buffer) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = mappings.find(buffer.data);
  if (found == mappings.end())
    return;
  munmap(found->second.address, found->second.bytes);
  mappings.erase(found);
}

} // namespace splitcast::runtime
