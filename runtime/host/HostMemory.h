//===- HostMemory.h - Large, page-aligned allocations ------------------------===//
//
// Memory that other processes of the machine read lies in files that exist only as open descriptors (memfd_create).
// Nothing of them is left once the processes have ended, however they ended; no file system needs room for them; and
// their pages count as their owner's.
//
//===----------------------------------------------------------------------===//
#ifndef SPLITCAST_RUNTIME_HOST_HOSTMEMORY_H
#define SPLITCAST_RUNTIME_HOST_HOSTMEMORY_H

#include "runtime/api/Device.h"

#include <functional>
#include <map>
#include <mutex>
#include <optional>

namespace splitcast::runtime {

struct HostMemoryOptions {
  /// Whether an inaccessible page follows the last byte of each allocation, so that a kernel that runs past its buffer
  /// crashes there. The end is then aligned to a page, and the beginning only as far as the size allows. Such memory is
  /// never shared.
  bool guardPages = false;
  /// Whether other processes of this user may map what is allocated. If the system gives no such memory, it is private.
  bool isShared = false;
};

/// Tells another process of the machine where bytes lie.
struct SharedPlace {
  int64_t file = -1;     ///< the file's descriptor in the owner's process
  uint64_t identity = 0; ///< the file's inode, which no other file has while this one exists
  int64_t fileBytes = 0;
  int64_t offset = 0; ///< bytes from the file's beginning
};

/// Maps memory from the system. Pages appear when they are first touched, or for shared memory at populate(). Several
/// threads may use it.
class HostMemory {
public:
  explicit HostMemory(const HostMemoryOptions &options) : options(options) {}
  ~HostMemory();
  HostMemory(const HostMemory &) = delete;
  HostMemory &operator=(const HostMemory &) = delete;

  /// Returns memory aligned to 4096 bytes; from 2 MiB on it is aligned to 2 MiB, and in huge pages where the system has
  /// them. A size of 0 bytes is legal.
  ///   Ownership  This object owns the memory, until release() or its own end.
  ///   Errors     InvalidArgument: the size is negative. ResourceExhausted: the message names the bytes asked for.
  absl::StatusOr<Buffer> allocate(int64_t bytes);
  /// Makes the pages of shared memory that allocate() returned present, as huge pages where the system has them.
  /// Without this the memory would get small pages when it is touched. Other memory is left as it is.
  ///   Errors  ResourceExhausted: the system does not have that much memory. Without this call, the system would kill
  ///           the process once it wrote there.
  absl::Status populate(Buffer buffer);
  void release(Buffer buffer);

  /// Returns where these bytes lie, or nothing if not all of them lie in one shared allocation of this object.
  std::optional<SharedPlace> find(const std::byte *data, int64_t bytes) const;

  /// Makes each release call `listener` afterwards, with no lock held. Set it before the first release.
  void onRelease(std::function<void()> listener) { released = std::move(listener); }

private:
  struct Mapping {
    std::byte *address;
    size_t bytes;
    int file = -1;
    uint64_t identity = 0;
  };

  std::optional<Mapping> map(size_t bytes) const;
  absl::StatusOr<Buffer> allocateGuarded(int64_t bytes);
  static void unmap(const Mapping &mapping);

  const HostMemoryOptions options;
  std::function<void()> released;
  mutable std::mutex mutex;
  std::map<const std::byte *, Mapping> mappings; ///< by the address that was given out
};

/// Makes the pages of memory that mapFile mapped for writing present, as HostMemory::populate does. Returns false if
/// the system does not have that much memory.
bool populateFile(void *data, size_t bytes);

/// Maps a file from its beginning, at an address at which huge pages fit. Returns null if the system gives no room.
void *mapFile(int file, size_t bytes, int protection);

} // namespace splitcast::runtime

#endif // SPLITCAST_RUNTIME_HOST_HOSTMEMORY_H
