#include "runtime/host/HostMemory.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

// Linux has these since 5.14, 6.1 and 6.3, but the headers may be older.
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

namespace splitcast::runtime {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kHugePageBytes = 2 << 20;
/// The size of the address space. Sizes below it can be added without overflow.
constexpr int64_t kMaxBytes = int64_t{1} << 47;

size_t roundUp(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

absl::Status exhausted(int64_t bytes, const char *reason) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the system could not allocate ", bytes, " bytes of host memory (", reason, ")"));
}

/// Reserves addresses for `bytes`, aligned to 2 MiB from that size on. Returns
/// null if there are none.
std::byte *reserve(size_t bytes, int protection) {
  const size_t spare = bytes >= kHugePageBytes ? kHugePageBytes : 0;
  void *address = mmap(nullptr, bytes + spare, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    return nullptr;
  std::byte *mapped = static_cast<std::byte *>(address);
  if (!spare)
    return mapped;
  std::byte *begin = reinterpret_cast<std::byte *>(roundUp(reinterpret_cast<uintptr_t>(mapped), kHugePageBytes));
  const size_t before = begin - mapped, after = spare - before;
  if (before)
    munmap(mapped, before);
  if (after)
    munmap(begin + bytes, after);
  return begin;
}

/// Returns whether the limit of file sizes (ulimit -f) allows this size. Beyond
/// it, a signal would end the process.
bool mayBeSoLong(size_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

/// Makes the pages of shared memory present, as huge pages where a part fills
/// one. Systems seldom use huge pages for shared memory by themselves, but do
/// on request (MADV_COLLAPSE) for pages that are present. If there are none,
/// small pages are only slower. Returns false if the system does not have that
/// much memory; otherwise a signal would end the process once it writes there.
bool getPages(std::byte *data, size_t bytes) {
  madvise(data, bytes, MADV_HUGEPAGE);
  auto isGiven = [](std::byte *from, size_t count) {
    return madvise(from, count, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
  };
  for (size_t at = 0; at < bytes; at += kHugePageBytes) {
    const size_t part = std::min(kHugePageBytes, bytes - at);
    if (!isGiven(data + at, kPageBytes))
      return false;
    volatile std::byte &first = data[at]; // makes the page present on systems without MADV_POPULATE_WRITE
    first = first;
    if (part == kHugePageBytes)
      madvise(data + at, part, MADV_COLLAPSE);
    if (!isGiven(data + at, part))
      return false;
  }
  return true;
}

/// Returns the size of the system's memory and swap, whether free or not.
size_t memoryBytes() {
  struct sysinfo info{};
  return sysinfo(&info) == 0 ? (info.totalram + info.totalswap) * info.mem_unit : 0;
}

/// Opens a file of this size that has no name. Returns -1 if the system cannot
/// make it.
int createFile(size_t bytes) {
  if (!mayBeSoLong(bytes) || bytes > memoryBytes())
    return -1;
  // Some systems insist on this flag, which forbids to execute the file; older
  // ones do not know it.
  int file = memfd_create("splitcast", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
  if (file < 0 && errno == EINVAL)
    file = memfd_create("splitcast", MFD_CLOEXEC);
  // Its mode is 0777 otherwise. Other ranks map it only if nobody else may write to it (runtime/io/OwnDirectory.h).
  if (file >= 0)
    (void)fchmod(file, S_IRUSR | S_IWUSR);
  if (file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    close(file);
    return -1;
  }
  return file;
}

} // namespace

bool populateFile(void *data, size_t bytes) { return getPages(static_cast<std::byte *>(data), bytes); }

void *mapFile(int file, size_t bytes, int protection) {
  std::byte *address = reserve(bytes, protection);
  if (!address)
    return nullptr;
  if (mmap(address, bytes, protection, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED)
    return address;
  munmap(address, bytes);
  return nullptr;
}

void HostMemory::unmap(const Mapping &mapping) {
  munmap(mapping.address, mapping.bytes);
  if (mapping.file >= 0)
    close(mapping.file);
}

HostMemory::~HostMemory() {
  for (const auto &[data, mapping] : mappings)
    unmap(mapping);
}

std::optional<HostMemory::Mapping> HostMemory::map(size_t bytes) const {
  const int file = options.isShared ? createFile(bytes) : -1;
  if (file >= 0) {
    struct stat found{};
    std::byte *data =
        fstat(file, &found) == 0 ? static_cast<std::byte *>(mapFile(file, bytes, PROT_READ | PROT_WRITE)) : nullptr;
    if (data)
      return Mapping{data, bytes, file, found.st_ino};
    close(file);
  }
  std::byte *data = reserve(bytes, PROT_READ | PROT_WRITE);
  if (!data)
    return std::nullopt;
  if (bytes >= kHugePageBytes)
    madvise(data, bytes, MADV_HUGEPAGE); // huge pages are only faster, so errors do not matter
  return Mapping{data, bytes};
}

absl::StatusOr<Buffer> HostMemory::allocateGuarded(int64_t bytes) {
  const size_t usedBytes = roundUp(bytes ? bytes : 1, kPageBytes);
  void *address = mmap(nullptr, usedBytes + kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    return exhausted(bytes, std::strerror(errno));
  const Mapping mapping{static_cast<std::byte *>(address), usedBytes + kPageBytes};
  if (mprotect(mapping.address + usedBytes, kPageBytes, PROT_NONE) != 0) {
    const int error = errno;
    unmap(mapping);
    return exhausted(bytes, std::strerror(error));
  }
  std::byte *data = mapping.address + usedBytes - bytes;
  std::lock_guard<std::mutex> lock(mutex);
  mappings[data] = mapping;
  return Buffer{data, bytes};
}

absl::StatusOr<Buffer> HostMemory::allocate(int64_t bytes) {
  if (bytes < 0)
    return absl::InvalidArgumentError(absl::StrCat("cannot allocate ", bytes, " bytes"));
  if (bytes >= kMaxBytes)
    return exhausted(bytes, "more than an address space");
  if (options.guardPages)
    return allocateGuarded(bytes);
  const std::optional<Mapping> mapping = map(roundUp(bytes ? bytes : 1, kPageBytes));
  if (!mapping)
    return exhausted(bytes, std::strerror(errno));
  std::lock_guard<std::mutex> lock(mutex);
  mappings[mapping->address] = *mapping;
  return Buffer{mapping->address, bytes};
}

absl::Status HostMemory::populate(Buffer buffer) {
  size_t bytes = 0;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = mappings.find(buffer.data);
    if (found == mappings.end() || found->second.file < 0)
      return absl::OkStatus();
    bytes = found->second.bytes;
  }
  return getPages(buffer.data, bytes) ? absl::OkStatus() : exhausted(buffer.bytes, std::strerror(errno));
}

void HostMemory::release(Buffer buffer) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = mappings.find(buffer.data);
    if (found == mappings.end())
      return;
    unmap(found->second);
    mappings.erase(found);
  }
  if (released)
    released();
}

std::optional<SharedPlace> HostMemory::find(const std::byte *data, int64_t bytes) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto after = mappings.upper_bound(data);
  if (after == mappings.begin())
    return std::nullopt;
  const auto &[begin, mapping] = *std::prev(after);
  const int64_t offset = data - begin, fileBytes = static_cast<int64_t>(mapping.bytes);
  if (mapping.file < 0 || offset + bytes > fileBytes)
    return std::nullopt;
  return SharedPlace{mapping.file, mapping.identity, fileBytes, offset};
}

} // namespace splitcast::runtime
